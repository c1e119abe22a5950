/* when.h - times as people write them, and how far away they are. */
#ifndef DUEPOST_CLI_WHEN_H
#define DUEPOST_CLI_WHEN_H

#include <stdbool.h>

#include "job/timestamp.h"

enum { WHEN_SPAN_SIZE = 64 };

/* RFC 3339 in UTC for "now", for a duration before ("-1h") or after ("+15m") now, and for RFC 3339 itself.
 * False: none of these. */
bool when_parse(const char *text, char time[TIMESTAMP_SIZE]);

/* "in 14 min 3 s", "2 h 5 min ago" or "now", by this host's clock. False: no RFC 3339. */
bool when_span(const char *time, char span[WHEN_SPAN_SIZE]);

#endif

/* when.h - times as people write them, and their distance from now. */
#ifndef DUEPOST_CLI_WHEN_H
#define DUEPOST_CLI_WHEN_H

#include <stdbool.h>

#include "base/timestamp.h"

enum { WHEN_SPAN_SIZE = 64 };

/* Writes a time as RFC 3339 in UTC. text: "now", a duration before ("-1h") or after ("+15m") now, or RFC
 * 3339. False: text is none of these. */
bool when_parse(const char *text, char time[TIMESTAMP_SIZE]);

/* Writes "in 14 min 3 s", "2 h 5 min ago" or "now", by this host's clock. False: time is not RFC 3339. */
bool when_span(const char *time, char span[WHEN_SPAN_SIZE]);

/* Writes how long ago a time was in its largest unit: "12m", by this host's clock; "0s" for a time to come.
 * False: time is not RFC 3339. */
bool when_age(const char *time, char age[WHEN_SPAN_SIZE]);

#endif

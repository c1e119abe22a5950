/* when.h - times as people write them, and their distance from now. */
#ifndef DUEPOST_CLI_WHEN_H
#define DUEPOST_CLI_WHEN_H

#include <stdbool.h>

#include "base/timestamp.h"

enum { WHEN_SPAN_SIZE = 64 };

/* Writes a time as RFC 3339 in UTC. text is "now", RFC 3339, or a duration: "-1h" is before now, "+15m" is
 * after now. Returns false if text has none of these forms. */
bool when_parse(const char *text, char time[TIMESTAMP_SIZE]);

/* Does the same for a time in the past, where a bare duration such as "1h" is before now. */
bool when_parse_past(const char *text, char time[TIMESTAMP_SIZE]);

/* Writes "in 14 min 3 s", "2 h 5 min ago" or "now", by this host's clock. Returns false if time is not RFC
 * 3339. */
bool when_span(const char *time, char span[WHEN_SPAN_SIZE]);

/* Writes how long ago a time was by this host's clock, in the largest unit that fits, such as "12m". Writes
 * "0s" for a time in the future. Returns false if time is not RFC 3339. */
bool when_age(const char *time, char age[WHEN_SPAN_SIZE]);

#endif

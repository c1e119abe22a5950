/* timestamp.h - RFC 3339, as the API speaks it. */
#ifndef DUEPOST_JOB_TIMESTAMP_H
#define DUEPOST_JOB_TIMESTAMP_H

#include "base/slice.h"

enum { TIMESTAMP_SIZE = 25 }; /* "2030-01-01T00:00:00.000Z" and its NUL */

/* Any offset; fractions finer than a millisecond are rounded up; year 1970 to
 * 9999 after the offset (earlier years give 0); a leap second is the next second. */
bool timestamp_parse(struct slice text, int64_t *ms);

/* ms: 0 to the end of year 9999. */
void timestamp_format(int64_t ms, char text[TIMESTAMP_SIZE]);

#endif

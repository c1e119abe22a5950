/* timestamp.h - RFC 3339, as the API speaks it. */
#ifndef DUEPOST_BASE_TIMESTAMP_H
#define DUEPOST_BASE_TIMESTAMP_H

#include "base/slice.h"

enum { TIMESTAMP_SIZE = 25 }; /* "2030-01-01T00:00:00.000Z" and its NUL */

#define TIMESTAMP_MAX_MS INT64_C(253402300799999) /* 9999-12-31T23:59:59.999Z */

/* Any offset; fractions finer than a millisecond are rounded up; year 1970 to
 * 9999 after the offset (earlier years give 0); a leap second is the next second. */
bool timestamp_parse(struct slice text, int64_t *ms);

/* ms: 0 to TIMESTAMP_MAX_MS; of times beyond, which only damaged data hold, the nearest of these. */
void timestamp_format(int64_t ms, char text[TIMESTAMP_SIZE]);

#endif

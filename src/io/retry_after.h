/* retry_after.h - parses the seconds of a Retry-After header (RFC 9110, 10.2.3). */
#ifndef DUEPOST_IO_RETRY_AFTER_H
#define DUEPOST_IO_RETRY_AFTER_H

#include "base/slice.h"

enum { RETRY_AFTER_MAX_S = 366 * 24 * 3600 };

/* Returns the seconds of a Retry-After value (delay-seconds) with any number of digits, at most
 * RETRY_AFTER_MAX_S. A line end may follow the digits. Returns -1 for any other value: a date, or an invalid
 * text. */
int64_t retry_after_seconds(struct slice value);

#endif

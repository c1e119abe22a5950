/* retry_after.h - a number of seconds in the header Retry-After (RFC 9110, 10.2.3). */
#ifndef DUEPOST_IO_RETRY_AFTER_H
#define DUEPOST_IO_RETRY_AFTER_H

#include "base/slice.h"

enum { RETRY_AFTER_MAX_S = 366 * 24 * 3600 };

/* delay-seconds of any length, at most RETRY_AFTER_MAX_S; value may have its line's end behind it.
 * -1: no digits only; a date, or nonsense. */
int64_t retry_after_seconds(struct slice value);

#endif

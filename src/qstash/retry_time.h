/* retry_time.h - parses the time in Retry-After and X-RateLimit-Reset, at which a receiver wants the next
 * attempt. */
#ifndef DUEPOST_QSTASH_RETRY_TIME_H
#define DUEPOST_QSTASH_RETRY_TIME_H

#include "base/slice.h"

#define RETRY_TIME_MAX_MS INT64_C(86400000) /* longer waits are ignored */

/* Parses seconds ("30", "1.5"), an HTTP date, or a duration ("6m5s", "2000ms"; units ns us ms s m h), and
 * sets *wait_ms to the wait from now_ms on. Returns false for any other text, and for more than a day. */
bool retry_time_parse(struct slice, int64_t now_ms, int64_t *wait_ms);

#endif

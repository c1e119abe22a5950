/* again.h - reads the header Duepost-Again, with which a receiver says "not yet": the attempt has not failed,
 * and the job must be sent again after a time. This begins the next round of the job. */
#ifndef DUEPOST_JOB_AGAIN_H
#define DUEPOST_JOB_AGAIN_H

#include <stdbool.h>

#include "base/slice.h"
#include "job/job.h"

#define AGAIN_MIN_MS INT64_C(1000)
#define AGAIN_MAX_MS JOB_WAIT_MAX_MS /* a year */

enum { AGAIN_DETAIL_SIZE = ATTEMPT_DETAIL_MAX + 1 };

/* Parses a value: seconds, a duration such as 5m or 1h30m, or an HTTP date (RFC 9110, 5.6.7). The wait for a
 * date is the time from now_ms to the date. Returns false if the value is unreadable or outside of
 * AGAIN_MIN_MS and AGAIN_MAX_MS; detail then says what was found and what was expected, in visible ASCII
 * without quotes and backslashes. */
bool again_parse(struct slice value, int64_t now_ms, int64_t *wait_ms, char detail[AGAIN_DETAIL_SIZE]);

#endif

/* retry_schedule.h - the waits between attempts. */
#ifndef DUEPOST_JOB_RETRY_SCHEDULE_H
#define DUEPOST_JOB_RETRY_SCHEDULE_H

#include "base/buffer.h"
#include "base/slice.h"
#include "base/status.h"

enum { RETRY_SCHEDULE_MAX = 100 };
#define JOB_WAIT_MAX_MS (INT64_C(31536000) * 1000) /* 1 year */

struct retry_schedule {
    size_t count;
    int64_t wait_ms[RETRY_SCHEDULE_MAX];
};

/* 15s 3m 10m 30m 30m 1h 2h 6h 15h */
extern const struct retry_schedule retry_schedule_default;

/* Parses durations separated by spaces or commas. An empty text is an empty schedule. */
enum status retry_schedule_parse(struct slice text, struct retry_schedule *, struct problem *) MUST_USE;

/* Returns the wait before retry n; the first retry is 1. If the schedule has fewer than n waits, returns the
 * last one. The schedule must not be empty. */
int64_t retry_schedule_wait_ms(const struct retry_schedule *, int n);

/* Writes a JSON array of seconds. */
void retry_schedule_write(const struct retry_schedule *, struct buffer *);

#endif

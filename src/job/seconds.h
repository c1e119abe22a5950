/* seconds.h - waits as the API spells them: JSON numbers, in seconds down to milliseconds. */
#ifndef DUEPOST_JOB_SECONDS_H
#define DUEPOST_JOB_SECONDS_H

#include "base/buffer.h"
#include "base/slice.h"

/* Exact; finer than a millisecond is rounded up. False: not a number, negative, over max_ms. */
bool seconds_parse(struct slice number, int64_t max_ms, int64_t *ms);

/* 1500 is 1.5, 2000 is 2; ms is not negative. */
void seconds_append(struct buffer *, int64_t ms);

#endif

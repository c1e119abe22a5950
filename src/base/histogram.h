/* histogram.h - a histogram of durations.
 *
 * One thread adds durations, and any thread may read at the same time. Each number that is read is exact, but
 * two numbers may be read at different moments. */
#ifndef DUEPOST_BASE_HISTOGRAM_H
#define DUEPOST_BASE_HISTOGRAM_H

#include <stddef.h>

#include "base/counter.h"

/* The upper limits of the buckets are 1 ms to 60 s, in microseconds. The last bucket has no limit. */
enum { HISTOGRAM_BUCKETS = 15 };
extern const int64_t histogram_bounds_us[HISTOGRAM_BUCKETS - 1];

struct histogram {
    _Atomic uint64_t counts[HISTOGRAM_BUCKETS]; /* durations in each bucket, not cumulative */
    _Atomic uint64_t sum_us;
};

/* Returns the bucket of a duration. Negative durations belong to the first bucket. */
size_t histogram_bucket_of(int64_t us);

/* Counts one duration. Negative durations count as 0. */
void histogram_observe(struct histogram *, int64_t us);

/* Adds the current counts and the sum of the histogram "from" to the histogram "to". */
void histogram_add(struct histogram *to, const struct histogram *from);

#endif

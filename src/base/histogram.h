/* histogram.h - how often something took how long.
 *
 * One thread observes, any thread may read meanwhile: each number is exact, the
 * numbers of one moment need not belong together. */
#ifndef DUEPOST_BASE_HISTOGRAM_H
#define DUEPOST_BASE_HISTOGRAM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Upper bounds, in microseconds: 1 ms to 60 s, and beyond. */
enum { HISTOGRAM_BUCKETS = 15 };
extern const int64_t histogram_bounds_us[HISTOGRAM_BUCKETS - 1];

struct histogram {
    _Atomic uint64_t counts[HISTOGRAM_BUCKETS]; /* not cumulated */
    _Atomic uint64_t sum_us;
};

/* Negative counts as 0. */
void histogram_observe(struct histogram *, int64_t us);

/* Adds what from holds at this moment. */
void histogram_add(struct histogram *to, const struct histogram *from);

#endif

#include "base/histogram.h"

const int64_t histogram_bounds_us[HISTOGRAM_BUCKETS - 1] = {
    1000,   2500,   5000,    10000,   25000,   50000,    100000,
    250000, 500000, 1000000, 2500000, 5000000, 15000000, 60000000,
};

size_t histogram_bucket_of(int64_t us)
{
    size_t bucket = 0;
    while (bucket < HISTOGRAM_BUCKETS - 1 && us > histogram_bounds_us[bucket])
        bucket++;
    return bucket;
}

void histogram_observe(struct histogram *histogram, int64_t us)
{
    counter_raise(&histogram->counts[histogram_bucket_of(us)], 1);
    counter_raise(&histogram->sum_us, us < 0 ? 0 : (uint64_t)us);
}

void histogram_add(struct histogram *to, const struct histogram *from)
{
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        counter_raise(&to->counts[i], atomic_load_explicit(&from->counts[i], memory_order_relaxed));
    counter_raise(&to->sum_us, atomic_load_explicit(&from->sum_us, memory_order_relaxed));
}

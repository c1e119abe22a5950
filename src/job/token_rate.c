#include "job/token_rate.h"

#define SECOND_NS INT64_C(1000000000)

static int64_t period_of(struct slice word)
{
    if (slice_equal(word, SLICE("s")))
        return SECOND_NS;
    if (slice_equal(word, SLICE("m")))
        return 60 * SECOND_NS;
    return slice_equal(word, SLICE("h")) ? 3600 * SECOND_NS : 0;
}

bool token_rate_parse(struct slice text, struct token_rate *rate)
{
    struct slice number, word;
    uint64_t count;
    *rate = (struct token_rate){.period_ns = 0};
    if (!slice_cut(text, '/', &number, &word) || !slice_to_number(number, TOKEN_RATE_MAX, &count) ||
        count == 0)
        return false;
    rate->period_ns = period_of(word);
    rate->step_ns = rate->period_ns / (int64_t)count;
    return rate->period_ns > 0;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

bool token_rate_take(struct token_rate *rate, int64_t now_ns, int64_t *wait_ns)
{
    if (rate->period_ns == 0)
        return true;
    int64_t full_ns = rate->full_ns, next_ns;
    do {
        next_ns = later(full_ns, now_ns) + rate->step_ns;
        *wait_ns = next_ns - now_ns - rate->period_ns;
        if (*wait_ns > 0)
            return false;
    } while (!atomic_compare_exchange_weak(&rate->full_ns, &full_ns, next_ns));
    return true;
}

void token_rate_charge(struct token_rate *rate, int64_t now_ns, size_t count)
{
    if (rate->period_ns == 0)
        return;
    int64_t full_ns = rate->full_ns, next_ns;
    do {
        next_ns = later(full_ns, now_ns) + rate->step_ns * (int64_t)count;
    } while (!atomic_compare_exchange_weak(&rate->full_ns, &full_ns, next_ns));
}

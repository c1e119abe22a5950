/* receiver_hold.c - for how long jobs are held whose receiver may not be gone to now. */
#include "base/clock.h"
#include "base/random.h"
#include "worker/receivers_private.h"

/* What a limit holds comes back one by one, at such distances, so that their number puts no load on Redis;
 * each as soon as attempts of 20 ms would have made room for it. */
#define RETURN_FIRST_US INT64_C(50000)
#define RETURN_EACH_US  INT64_C(20000) /* by the limit */

#define PROBED_SOON_US INT64_C(1000000) /* how soon others look whether a probe is over, at first */

/* While what is known may be outdated a job comes back soon: somebody may have closed the breaker and let it
 * run. That may be most of the time, where another receiver of the shard makes news: so no more jobs a
 * second. */
#define SOON_FIRST_US INT64_C(250000)
#define SOON_EACH_US  INT64_C(2000)
#define SOON_LAST_US  INT64_C(1000000)

static uint32_t some_random(void)
{
    uint32_t random;
    random_fill(&random, sizeof random);
    return random;
}

/* ---- the breaker ---- */

/* While a probe is under way the others look soon whether it is over, and the later, the longer it takes. */
static int64_t probe_left_us(const struct receiver *receiver, int64_t now_us)
{
    int64_t left_us = receiver->probe_us - now_us;
    int64_t soon_us = receiver->wait_ms * 1000 < PROBED_SOON_US ? receiver->wait_ms * 1000 : PROBED_SOON_US;
    int64_t taken_us = now_us - receiver->probed_us;
    if (receiver->probe == 0)
        return left_us;
    if (taken_us < soon_us)
        taken_us = soon_us;
    return taken_us < left_us ? taken_us : left_us;
}

/* Whether this job is the one that is to come back when the receiver may be probed. */
static bool is_first(struct receiver *receiver, int64_t left_us)
{
    bool is_awaited = receiver->awaited_ms == receiver->probe_ms;
    if (is_awaited || receiver->probe || left_us <= 0 || left_us >= RECEIVER_HOLD_MS * 1000)
        return false;
    receiver->awaited_ms = receiver->probe_ms;
    return true;
}

/* Whether this job comes back at soon_us, to hear more. */
static bool is_soon(struct receiver *receiver, int64_t left_us, int64_t now_us)
{
    int64_t next_us = receiver->soon_us + SOON_EACH_US;
    if (next_us < now_us + SOON_FIRST_US)
        next_us = now_us + SOON_FIRST_US;
    if (!receiver_is_outdated(receiver) || next_us - now_us > left_us || next_us - now_us > SOON_LAST_US)
        return false;
    receiver->soon_us = next_us;
    return true;
}

int64_t receiver_hold_by_breaker(struct receiver *receiver)
{
    int64_t now_us = clock_boot_us(), left_us = probe_left_us(receiver, now_us);
    metrics_count(receiver->receivers->metrics, METRICS_COUNTER_HELD_BY_BREAKER, 1);
    if (is_soon(receiver, left_us, now_us))
        return (receiver->soon_us - now_us) / 1000;
    uint32_t random = is_first(receiver, left_us) ? 0 : some_random();
    return receiver_hold_ms((left_us + 999) / 1000, receiver->wait_ms, random);
}

/* ---- the limit ---- */

int64_t receiver_hold_by_limit(struct receiver *receiver)
{
    int64_t now_us = clock_boot_us(), soonest_us = now_us + RETURN_FIRST_US;
    int64_t next_us = receiver->return_us + RETURN_EACH_US / receiver->limit;
    metrics_count(receiver->receivers->metrics, METRICS_COUNTER_HELD_BY_LIMIT, 1);
    receiver->return_us = next_us > soonest_us ? next_us : soonest_us;
    int64_t wait_ms = (receiver->return_us - now_us) / 1000;
    if (wait_ms <= RECEIVER_HOLD_MS)
        return wait_ms;
    receiver->return_us = now_us + RECEIVER_HOLD_MS * 1000;
    return receiver_hold_ms(RECEIVER_HOLD_MS, RECEIVER_HOLD_MS, some_random());
}

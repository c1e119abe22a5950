/* receiver_hold.c - for how long jobs are held whose receiver may not be gone to now. */
#include "base/clock.h"
#include "base/random.h"
#include "worker/receivers_private.h"

/* Held jobs come back in a row, at such distances at least, so that their number puts no load on Redis: each
 * time is a claim and a release. By the limit, each comes as soon as attempts of 20 ms would have made room
 * for it. */
#define ROW_EACH_US       INT64_C(2000)
#define ROW_FIRST_US      INT64_C(50000) /* by the limit */
#define ROW_EACH_LIMIT_US INT64_C(20000) /* divided by it */

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

/* ---- the row ---- */

void receiver_begin_row(struct receiver *receiver)
{
    receiver->row_us = 0;
}

/* For how long the next job is held that may come back first_us from now at the earliest. Where the row is as
 * long as it may be, those beyond come back at random before its end. */
static int64_t take_place(struct receiver *receiver, int64_t now_us, int64_t first_us, int64_t each_us)
{
    int64_t most_us = receiver_row_ms((now_us - receiver->since_us) / 1000) * 1000;
    int64_t hold_us = receiver->row_us + each_us - now_us;
    if (hold_us < first_us)
        hold_us = first_us;
    if (hold_us > most_us)
        return most_us - (int64_t)((double)most_us / 4 * some_random() / UINT32_MAX);
    receiver->row_us = now_us + hold_us;
    return hold_us;
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
    int64_t left_ms = (left_us + 999) / 1000;
    int64_t first_ms = receiver_hold_ms(left_ms, receiver->wait_ms, 0);
    if (is_first(receiver, left_us))
        return first_ms;
    int64_t row_ms = take_place(receiver, now_us, first_ms * 1000, ROW_EACH_US) / 1000;
    int64_t hold_ms = receiver_hold_ms(left_ms, receiver->wait_ms, some_random());
    return row_ms > hold_ms ? row_ms : hold_ms;
}

/* ---- the limit ---- */

int64_t receiver_hold_by_limit(struct receiver *receiver)
{
    int64_t each_us = ROW_EACH_LIMIT_US / receiver->limit;
    if (each_us < ROW_EACH_US)
        each_us = ROW_EACH_US;
    metrics_count(receiver->receivers->metrics, METRICS_COUNTER_HELD_BY_LIMIT, 1);
    return take_place(receiver, clock_boot_us(), ROW_FIRST_US, each_us) / 1000;
}

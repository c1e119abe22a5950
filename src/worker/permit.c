#include "worker/permit.h"

#include "base/clock.h"
#include "base/random.h"

/* What a limit holds comes back one by one, at such distances, so that their number puts no load on Redis;
 * each as soon as attempts of 20 ms would have made room for it. */
#define RETURN_FIRST_US INT64_C(50000)
#define RETURN_EACH_US  INT64_C(20000) /* by the limit */

/* Beside its timeout, for a probe's way to Redis and back: so long the right to probe is nobody else's. */
#define PROBE_SPARE_MS INT64_C(2000)

#define PROBED_SOON_US INT64_C(1000000) /* how soon others look whether a probe is over, at first */

static uint32_t some_random(void)
{
    uint32_t random;
    random_fill(&random, sizeof random);
    return random;
}

/* ---- answers ---- */

static enum permit_answer give(struct permit *permit, int64_t probe)
{
    permit->is_given = true;
    permit->probe = probe;
    permit->receiver->in_flight++;
    return PERMIT_GIVEN;
}

static enum permit_answer hold(struct permit *permit, int64_t wait_ms, enum metrics_counter counter)
{
    struct receiver *receiver = permit->receiver;
    metrics_count(receivers_metrics(receiver->receivers), counter, 1);
    permit->wait_ms = wait_ms;
    permit->receiver = NULL;
    receiver_settle(receiver);
    return PERMIT_HELD;
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

/* The first job to be held comes back when the receiver may be probed, the others behind it. */
static enum permit_answer hold_by_breaker(struct permit *permit)
{
    struct receiver *receiver = permit->receiver;
    int64_t left_us = probe_left_us(receiver, clock_boot_us());
    bool is_first =
        !receiver->is_awaited && receiver->probe == 0 && left_us > 0 && left_us < RECEIVER_HOLD_MS * 1000;
    receiver->is_awaited = receiver->is_awaited || is_first;
    int64_t wait_ms =
        receiver_hold_ms((left_us + 999) / 1000, receiver->wait_ms, is_first ? 0 : some_random());
    return hold(permit, wait_ms, METRICS_COUNTER_HELD_BY_BREAKER);
}

static enum permit_answer ask_breaker(struct permit *permit, int64_t timeout_ms)
{
    struct receiver *receiver = permit->receiver;
    if (receiver->probe_us > clock_boot_us() || receiver->is_asking)
        return hold_by_breaker(permit);
    receiver->asker = permit;
    receiver->is_asking = true;
    receiver->news.probe_ms = timeout_ms + PROBE_SPARE_MS;
    receiver_report(receiver);
    return PERMIT_ASKED;
}

void permit_give(struct permit *permit, int64_t probe)
{
    metrics_count(receivers_metrics(permit->receiver->receivers), METRICS_COUNTER_PROBES, probe != 0);
    give(permit, probe);
    permit->fn(permit->arg, -1);
}

void permit_hold(struct permit *permit)
{
    hold_by_breaker(permit);
    permit->fn(permit->arg, permit->wait_ms);
}

/* ---- the limit ---- */

static enum permit_answer hold_by_limit(struct permit *permit)
{
    struct receiver *receiver = permit->receiver;
    int64_t now_us = clock_boot_us(), soonest_us = now_us + RETURN_FIRST_US;
    int64_t next_us = receiver->return_us + RETURN_EACH_US / receiver->limit;
    receiver->return_us = next_us > soonest_us ? next_us : soonest_us;
    int64_t wait_ms = (receiver->return_us - now_us) / 1000;
    if (wait_ms > RECEIVER_HOLD_MS) {
        receiver->return_us = now_us + RECEIVER_HOLD_MS * 1000;
        wait_ms = receiver_hold_ms(RECEIVER_HOLD_MS, RECEIVER_HOLD_MS, some_random());
    }
    return hold(permit, wait_ms, METRICS_COUNTER_HELD_BY_LIMIT);
}

/* ---- its life ---- */

enum permit_answer permit_ask(struct permit *permit, struct receivers *receivers, const char *name,
                              int64_t timeout_ms, permit_fn *fn, void *arg)
{
    struct receiver *receiver = receivers_find(receivers, name);
    *permit = (struct permit){.receiver = receiver, .fn = fn, .arg = arg};
    if (receiver->is_open)
        return ask_breaker(permit, timeout_ms);
    if (receiver->limit > 0 && receiver->in_flight >= (size_t)receiver->limit)
        return hold_by_limit(permit);
    return give(permit, 0);
}

static void leave(struct permit *permit)
{
    struct receiver *receiver = permit->receiver;
    receiver->in_flight--;
    permit->receiver = NULL;
    permit->is_given = false;
    receiver_settle(receiver);
}

static bool is_of_interest(const struct receiver *receiver)
{
    return receiver->is_unwell || receiver->is_reporting || receiver->news.failures > 0;
}

void permit_end(struct permit *permit, const struct attempt_result *result)
{
    struct receiver *receiver = permit->receiver;
    if (!permit->is_given)
        return;
    struct receiver_news *news = &receiver->news;
    enum receiver_health health = receiver_health(result);
    bool is_overloaded = receiver_is_overloaded(result);
    bool is_news =
        health == RECEIVER_FAILS || is_overloaded || (health == RECEIVER_LIVES && is_of_interest(receiver));
    if (is_overloaded && news->crowd < (int64_t)receiver->in_flight)
        news->crowd = (int64_t)receiver->in_flight;
    if (is_news && health == RECEIVER_FAILS) {
        news->failures++;
        receiver_cause(result, news->cause);
    } else if (is_news) {
        news->lives = true;
        news->failures = 0;
        news->delivered += result->status / 100 == 2;
    }
    if (is_news && permit->probe)
        news->probe = permit->probe;
    if (is_news)
        receiver_report(receiver);
    leave(permit);
}

bool permit_is_awaited(const struct permit *permit)
{
    return permit->receiver && !permit->is_given;
}

void permit_drop(struct permit *permit)
{
    struct receiver *receiver = permit->receiver;
    if (permit_is_awaited(permit)) {
        receiver->asker = NULL; /* the right, should it come, is given back */
        permit->receiver = NULL;
    }
    if (!permit->receiver)
        return;
    if (permit->probe) {
        receiver->news.unsent_probe = permit->probe;
        receiver_report(receiver);
    }
    leave(permit);
}

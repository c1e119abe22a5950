#include "worker/consumer.h"

#include "base/clock.h"
#include "base/memory.h"
#include "worker/attempt.h"

#define RENEW_AFTER_US INT64_C(2000000)
#define RENEW_TICK_US  INT64_C(500000)
#define RETRY_CLAIM_US INT64_C(500000) /* after a claim that Redis refused */

enum { CLAIM_MAX = 64 }; /* fewer than slots, so that the consumers of a burst share it */

struct consumer {
    struct consumer_options options;
    struct attempt_context context;
    struct list attempts;   /* running or being recorded, the longest without a renewal first */
    struct list unrecorded; /* Redis did not take their outcome */
    size_t in_flight;       /* both */
    bool is_claiming;       /* a claim is under way */
    bool wants_claim;       /* there is, or may be, something to claim */
    bool is_waiting;        /* at the doorbell */
    bool is_draining;
    int64_t claim_us; /* CLOCK_BOOTTIME before the claim under way was sent */
    struct hook *decide;
    struct timer *renew;
    struct timer *retry;
    loop_fn *on_drained;
    void *drained_arg;
};

/* ---- attempts ---- */

static void tell_drained(struct consumer *consumer)
{
    if (consumer->is_draining && consumer->in_flight == 0 && !consumer->is_claiming && consumer->on_drained) {
        loop_fn *fn = consumer->on_drained;
        consumer->on_drained = NULL;
        fn(consumer->drained_arg);
    }
}

static void on_attempt_end(void *arg, struct attempt *attempt)
{
    struct consumer *consumer = arg;
    attempt_free(attempt);
    consumer->in_flight--;
    metrics_in_flight(consumer->options.metrics, consumer->in_flight);
    tell_drained(consumer);
}

static void on_attempt_unrecorded(void *arg, struct attempt *attempt)
{
    struct consumer *consumer = arg;
    list_remove(&attempt->link);
    list_append(&consumer->unrecorded, &attempt->link);
    if (!timer_is_running(consumer->retry))
        timer_start(consumer->retry, RETRY_CLAIM_US);
}

/* Redis is back: what it does not know yet goes to it before anything else. */
static void record_again(struct consumer *consumer)
{
    struct list again;
    list_move(&consumer->unrecorded, &again);
    for (struct list *link; (link = list_take(&again));) {
        struct attempt *attempt = LIST_ENTRY(link, struct attempt, link);
        list_append(&consumer->attempts, &attempt->link);
        attempt_record(attempt);
    }
}

static void on_up(void *arg)
{
    struct consumer *consumer = arg;
    timer_stop(consumer->retry);
    record_again(consumer);
    consumer->wants_claim = true;
}

static void on_renew_tick(void *arg)
{
    struct consumer *consumer = arg;
    int64_t before_us = clock_boot_us() - RENEW_AFTER_US;
    struct list renewed;
    list_init(&renewed);
    while (!list_is_empty(&consumer->attempts)) {
        struct attempt *attempt = LIST_ENTRY(consumer->attempts.next, struct attempt, link);
        int64_t last_us = attempt->is_renewing ? attempt->renewal_us : attempt->renewed_us;
        if (last_us > before_us)
            break;
        if (!attempt->is_renewing && !attempt->is_lease_lost)
            attempt_renew(attempt);
        list_remove(&attempt->link);
        list_append(&renewed, &attempt->link);
    }
    while (!list_is_empty(&renewed))
        list_append(&consumer->attempts, list_take(&renewed));
    if (consumer->in_flight > 0)
        timer_start(consumer->renew, RENEW_TICK_US);
}

/* ---- claiming ---- */

static void on_bell(void *arg, enum status status)
{
    struct consumer *consumer = arg;
    consumer->is_waiting = false;
    if (status == STATUS_OK)
        consumer->wants_claim = true;
    else if (!timer_is_running(consumer->retry))
        timer_start(consumer->retry, RETRY_CLAIM_US);
}

static void on_claimed(void *arg, enum status status, const struct nonce *nonce, int64_t now_ms,
                       const struct store_claimed *jobs, size_t count, size_t more)
{
    struct consumer *consumer = arg;
    consumer->is_claiming = false;
    for (size_t i = 0; i < count; i++) {
        struct attempt *attempt =
            attempt_start(&consumer->context, &jobs[i], nonce, consumer->claim_us, now_ms);
        list_append(&consumer->attempts, &attempt->link);
        consumer->in_flight++;
        metrics_lateness(consumer->options.metrics, (now_ms - jobs[i].due_ms) * 1000);
    }
    metrics_in_flight(consumer->options.metrics, consumer->in_flight);
    if (count > 0 && !timer_is_running(consumer->renew))
        timer_start(consumer->renew, RENEW_TICK_US);
    if (status == STATUS_OK && more > 0)
        consumer->wants_claim = true;
    if (status != STATUS_OK && !timer_is_running(consumer->retry))
        timer_start(consumer->retry, RETRY_CLAIM_US);
    tell_drained(consumer);
}

static void on_turn_end(void *arg)
{
    struct consumer *consumer = arg;
    if (consumer->is_draining || consumer->is_claiming ||
        consumer->in_flight >= consumer->options.max_in_flight)
        return;
    size_t slots = consumer->options.max_in_flight - consumer->in_flight;
    if (consumer->wants_claim) {
        consumer->wants_claim = false;
        consumer->is_claiming = true;
        consumer->claim_us = clock_boot_us();
        store_claim(consumer->options.store, slots < CLAIM_MAX ? slots : CLAIM_MAX, on_claimed, consumer);
    } else if (!consumer->is_waiting && !timer_is_running(consumer->retry)) {
        consumer->is_waiting = true;
        store_wait_bell(consumer->options.store, on_bell, consumer);
    }
}

void consumer_poke(struct consumer *consumer)
{
    consumer->wants_claim = true;
}

/* ---- life ---- */

struct consumer *consumer_new(struct loop *loop, const struct consumer_options *options)
{
    struct consumer *consumer = NEW(struct consumer);
    consumer->options = *options;
    consumer->context = (struct attempt_context){
        .store = options->store,
        .client = options->client,
        .targets = options->targets,
        .schedule = options->schedule,
        .metrics = options->metrics,
        .on_end = on_attempt_end,
        .on_unrecorded = on_attempt_unrecorded,
        .arg = consumer,
    };
    list_init(&consumer->attempts);
    list_init(&consumer->unrecorded);
    consumer->renew = timer_new(loop, on_renew_tick, consumer);
    consumer->retry = timer_new(loop, on_up, consumer);
    consumer->decide = hook_new(loop, LOOP_PHASE_DECIDE, on_turn_end, consumer);
    store_on_up(options->store, on_up, consumer);
    return consumer;
}

void consumer_reload(struct consumer *consumer, const struct target_policy *targets,
                     const struct retry_schedule *schedule, size_t max_in_flight)
{
    consumer->context.targets = targets;
    consumer->context.schedule = schedule;
    consumer->options.max_in_flight = max_in_flight;
}

void consumer_drain(struct consumer *consumer, loop_fn *on_drained, void *arg)
{
    consumer->is_draining = true;
    consumer->on_drained = on_drained;
    consumer->drained_arg = arg;
    tell_drained(consumer);
}

void consumer_cut(struct consumer *consumer)
{
    for (struct list *link = consumer->attempts.next; link != &consumer->attempts; link = link->next)
        attempt_cut(LIST_ENTRY(link, struct attempt, link));
}

size_t consumer_in_flight(const struct consumer *consumer)
{
    return consumer->in_flight;
}

static void free_all(struct list *attempts)
{
    while (!list_is_empty(attempts))
        attempt_free(LIST_ENTRY(attempts->next, struct attempt, link));
}

void consumer_free(struct consumer *consumer)
{
    if (!consumer)
        return;
    free_all(&consumer->attempts);
    free_all(&consumer->unrecorded);
    hook_free(consumer->decide);
    timer_free(consumer->renew);
    timer_free(consumer->retry);
    free(consumer);
}

#include "support/receiver_world.h"

#include <check.h>

#include "base/clock.h"
#include "base/metrics.h"
#include "store/shard.h"

/* ---- the clock and the loop ---- */

#define BEGIN_US INT64_C(1000000000)

static int64_t clock_us;

int64_t clock_boot_us(void)
{
    return clock_us;
}

int64_t clock_wall_ms(void)
{
    return clock_us / 1000;
}

static struct {
    loop_fn *fn;
    void *arg;
    int64_t at_us; /* of the timer; 0: it does not run */
} hook, timer;

struct hook *hook_new(struct loop *loop, enum loop_phase phase, loop_fn *fn, void *arg)
{
    (void)loop, (void)phase;
    hook.fn = fn, hook.arg = arg;
    return NULL;
}

void hook_free(struct hook *ignored)
{
    (void)ignored;
}

struct timer *timer_new(struct loop *loop, loop_fn *fn, void *arg)
{
    (void)loop;
    timer.fn = fn, timer.arg = arg, timer.at_us = 0;
    return NULL;
}

void timer_start(struct timer *ignored, int64_t after_us)
{
    (void)ignored;
    timer.at_us = clock_us + after_us;
}

bool timer_is_running(const struct timer *ignored)
{
    (void)ignored;
    return timer.at_us != 0;
}

void timer_free(struct timer *ignored)
{
    (void)ignored;
}

void world_pass(int64_t us)
{
    clock_us += us;
    if (timer.at_us && timer.at_us <= clock_us) {
        timer.at_us = 0;
        timer.fn(timer.arg);
    }
}

void world_end_turn(void)
{
    hook.fn(hook.arg);
}

/* ---- the metrics ---- */

void metrics_count(struct metrics *metrics, enum metrics_counter counter, uint64_t by)
{
    (void)metrics, (void)counter, (void)by;
}

void metrics_receivers(struct metrics *metrics, size_t open, size_t limited)
{
    (void)metrics, (void)open, (void)limited;
}

/* ---- the store: what was asked last, and its answers ---- */

static struct world_asked asked;

static struct world_reading reading;

size_t store_shards(const struct store *store)
{
    (void)store;
    return 1;
}

struct shard *store_shard(const struct store *store, size_t number)
{
    (void)store, (void)number;
    return NULL;
}

struct shard *store_shard_of(const struct store *store, struct slice id)
{
    (void)store, (void)id;
    return NULL;
}

size_t shard_number(const struct shard *shard)
{
    (void)shard;
    return 0;
}

void shard_on_receivers(struct shard *shard, loop_fn *fn, void *arg)
{
    (void)shard, (void)fn, (void)arg;
}

void store_report(struct store *store, const struct store_report *report, store_report_fn *fn, void *arg)
{
    (void)store;
    ck_assert(!asked.fn);
    asked.report = *report, asked.fn = fn, asked.arg = arg;
}

void store_news(struct store *store, size_t shard, int64_t version, store_news_fn *fn, void *arg)
{
    (void)store, (void)shard;
    ck_assert(!reading.fn);
    reading.version = version, reading.fn = fn, reading.arg = arg;
}

struct store_receiver world_closed(void)
{
    return (struct store_receiver){
        .name = slice_of(WORLD_RECEIVER), .cause = SLICE("503"), .now_us = clock_us};
}

struct store_receiver world_open(int64_t left_ms)
{
    struct store_receiver receiver = world_closed();
    receiver.failures = 20;
    receiver.opened_ms = BEGIN_US / 1000;
    receiver.wait_ms = 30000;
    receiver.probe_ms = clock_us / 1000 + left_ms;
    return receiver;
}

struct store_receiver world_limited(int64_t limit)
{
    struct store_receiver receiver = world_closed();
    receiver.limit = limit;
    return receiver;
}

void world_answer_report(enum status status, int64_t version, int64_t probe, struct store_receiver receiver)
{
    struct store_reported reported = {.probe = probe, .version = version, .receiver = &receiver};
    store_report_fn *fn = asked.fn;
    ck_assert(fn);
    asked.fn = NULL;
    fn(asked.arg, status, &reported);
}

void world_answer_reading(enum status status, int64_t version, struct store_receiver receiver)
{
    store_news_fn *fn = reading.fn;
    ck_assert(fn);
    reading.fn = NULL;
    fn(reading.arg, status, &receiver, status == STATUS_OK, version, version);
}

/* ---- for the tests ---- */

void world_begin(void)
{
    clock_us = BEGIN_US;
    asked = (struct world_asked){.fn = NULL};
    reading = (struct world_reading){.fn = NULL};
}

const struct world_asked *world_asked(void)
{
    return &asked;
}

const struct world_reading *world_reading(void)
{
    return &reading;
}

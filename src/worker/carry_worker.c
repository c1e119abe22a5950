#include "worker/carry_worker.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "worker/janitor.h"
#include "worker/recovery.h"

#define TICK_US      INT64_C(1000000)
#define STEP_US      INT64_C(1000000) /* a larger difference between the clocks is a step */
#define EARLY_US     INT64_C(200) /* a due timer aims this much behind the time, to hit it at the first try */
#define RECONNECT_US INT64_C(100000)

enum { NAME_BYTES = 16 };

struct carry_worker {
    struct carry_worker_options options;
    char me[2 * NAME_BYTES + 1];
    bool is_owner;
    bool is_stopping;
    bool is_carrying; /* a call is under way */
    bool wants_tick, wants_carry;
    int64_t sent_us; /* CLOCK_BOOTTIME before the call under way was sent */
    /* The last reply: Redis's clock beside ours. */
    bool has_clock;
    int64_t redis_us, boot_us;
    int64_t disturbed_us; /* when the clocks last stepped, or Redis came (back) */
    int64_t due_ms;       /* what the due timer waits for; -1: nothing */
    int64_t woken_ms;     /* earliest wake-up since the call under way was sent; -1: none */
    /* A lock that is another's, as last seen to change. */
    char owner[2 * NAME_BYTES + 1];
    int64_t beat, beat_seen_us;
    struct timer *tick, *due;
};

static void carry(struct carry_worker *worker, bool is_tick);

/* ---- clocks ---- */

static int64_t redis_now_us(const struct carry_worker *worker)
{
    return worker->redis_us + clock_boot_us() - worker->boot_us;
}

/* Redis's clock against ours: a step, and every silence, gives live consumers the time of
 * one lease to renew before any lease counts as lost. */
static void compare_clocks(struct carry_worker *worker, int64_t now_us)
{
    int64_t expected_us = worker->redis_us + worker->sent_us - worker->boot_us;
    int64_t step_us = now_us - expected_us;
    int64_t slack_us = STEP_US + clock_boot_us() - worker->sent_us;
    if (worker->has_clock && step_us < slack_us && step_us > -slack_us) {
        worker->redis_us = now_us;
        worker->boot_us = worker->sent_us;
        return;
    }
    if (worker->has_clock)
        log_warning("redis_clock_stepped", LOG_NUMBER("shard", shard_number(worker->options.shard)),
                    LOG_NUMBER("ms", step_us / 1000));
    worker->has_clock = true;
    worker->disturbed_us = clock_boot_us();
    worker->redis_us = now_us;
    worker->boot_us = worker->sent_us;
}

static bool is_quiet(const struct carry_worker *worker)
{
    return clock_boot_us() - worker->disturbed_us < STORE_LEASE_MS * INT64_C(1000);
}

/* -1 is never. */
static int64_t earlier(int64_t a_ms, int64_t b_ms)
{
    if (a_ms < 0 || b_ms < 0)
        return a_ms < 0 ? b_ms : a_ms;
    return a_ms < b_ms ? a_ms : b_ms;
}

static void arm_due(struct carry_worker *worker, int64_t due_ms)
{
    worker->due_ms = due_ms;
    if (due_ms < 0)
        timer_stop(worker->due);
    else
        timer_start(worker->due, due_ms * 1000 - redis_now_us(worker) + EARLY_US);
}

/* ---- the lock ---- */

static void become(struct carry_worker *worker, bool is_owner)
{
    if (worker->is_owner == is_owner)
        return;
    worker->is_owner = is_owner;
    log_info(is_owner ? "carry_lock_taken" : "carry_lock_lost",
             LOG_NUMBER("shard", shard_number(worker->options.shard)), LOG_TEXT("me", worker->me));
}

static void watch_owner(struct carry_worker *worker, const struct shard_carried *carried)
{
    bool is_same = slice_equal(slice_of(worker->owner), carried->owner) && worker->beat == carried->beat;
    if (is_same)
        return;
    snprintf(worker->owner, sizeof worker->owner, "%.*s", SLICE_ARG(carried->owner));
    worker->beat = carried->beat;
    worker->beat_seen_us = clock_boot_us();
    if (worker->options.is_alone)
        worker->wants_tick = true; /* whoever that was is gone: take it now */
}

static bool is_owner_stuck(const struct carry_worker *worker)
{
    if (worker->is_owner || !worker->owner[0])
        return false;
    return worker->options.is_alone || clock_boot_us() - worker->beat_seen_us >= CARRY_STUCK_US;
}

/* ---- carrying ---- */

static void own(struct carry_worker *worker, const struct shard_carried *carried)
{
    become(worker, true);
    worker->owner[0] = '\0';
    /* A wake-up comes on another connection: it may tell of what happened after this reply was made. */
    arm_due(worker, earlier(carried->next_due_ms, worker->woken_ms));
    if (carried->is_full)
        worker->wants_carry = true;
    if (carried->has_lost_leases && !is_quiet(worker))
        recovery_run(worker->options.recovery, redis_now_us(worker) / 1000);
}

static void carry_what_is_wanted(struct carry_worker *worker)
{
    if (worker->wants_tick || worker->wants_carry)
        carry(worker, worker->wants_tick);
}

static void on_carried(void *arg, enum status status, const struct shard_carried *carried)
{
    struct carry_worker *worker = arg;
    worker->is_carrying = false;
    if (worker->is_stopping)
        return;
    if (status != STATUS_OK) {
        worker->has_clock = false;
        worker->wants_tick = worker->wants_carry = false;
        arm_due(worker, -1);
        if (status == STATUS_UNAVAILABLE)
            timer_start(worker->tick, RECONNECT_US);
        return;
    }
    compare_clocks(worker, carried->now_us);
    if (slice_equal(carried->owner, slice_of(worker->me))) {
        own(worker, carried);
    } else {
        become(worker, false);
        arm_due(worker, -1);
        watch_owner(worker, carried);
    }
    carry_what_is_wanted(worker);
}

static void carry(struct carry_worker *worker, bool is_tick)
{
    if (worker->is_carrying) {
        worker->wants_tick |= is_tick;
        worker->wants_carry = true;
        return;
    }
    bool is_stuck = is_owner_stuck(worker);
    struct shard_carry call = {
        .me = slice_of(worker->me),
        .is_tick = is_tick,
        .is_unwatched = worker->options.is_alone,
        .stuck_owner = slice_of(is_stuck ? worker->owner : ""),
        .stuck_beat = worker->beat,
    };
    worker->is_carrying = true;
    worker->woken_ms = -1;
    worker->wants_tick = worker->wants_carry = false;
    worker->sent_us = clock_boot_us();
    shard_carry(worker->options.shard, &call, on_carried, worker);
}

static void on_tick(void *arg)
{
    struct carry_worker *worker = arg;
    timer_start(worker->tick, TICK_US);
    carry(worker, true);
    if (worker->is_owner)
        janitor_tick(worker->options.janitor);
}

/* Behind the carry in the same turn goes our consumer's claim: a due job costs one way to Redis. */
static void on_due(void *arg)
{
    struct carry_worker *worker = arg;
    if (!worker->is_owner)
        return;
    carry(worker, false);
    worker->options.on_due(worker->options.arg);
}

static void on_wake(void *arg, int64_t due_ms)
{
    struct carry_worker *worker = arg;
    if (worker->is_carrying)
        worker->woken_ms = earlier(worker->woken_ms, due_ms);
    if (worker->is_owner && (worker->due_ms < 0 || due_ms < worker->due_ms))
        arm_due(worker, due_ms);
}

/* However short Redis was away, it may have come back without the last renewals. */
static void on_up(void *arg)
{
    struct carry_worker *worker = arg;
    worker->has_clock = false;
    worker->disturbed_us = clock_boot_us();
}

struct carry_worker *carry_worker_new(struct loop *loop, const struct carry_worker_options *options)
{
    struct carry_worker *worker = NEW(struct carry_worker);
    unsigned char name[NAME_BYTES];
    random_fill(name, sizeof name);
    for (size_t i = 0; i < sizeof name; i++)
        snprintf(worker->me + 2 * i, 3, "%02x", name[i]);
    worker->options = *options;
    worker->due_ms = -1;
    worker->tick = timer_new(loop, on_tick, worker);
    worker->due = timer_new(loop, on_due, worker);
    shard_on_wake(options->shard, on_wake, worker);
    shard_on_up(options->shard, on_up, worker);
    timer_start(worker->tick, 0);
    return worker;
}

static void on_left(void *arg, enum status status, const struct shard_carried *carried)
{
    (void)arg, (void)status, (void)carried;
}

void carry_worker_stop(struct carry_worker *worker)
{
    struct shard_carry call = {.me = slice_of(worker->me), .is_leaving = true};
    worker->is_stopping = true;
    timer_stop(worker->tick);
    timer_stop(worker->due);
    if (worker->is_owner)
        shard_carry(worker->options.shard, &call, on_left, worker);
}

void carry_worker_free(struct carry_worker *worker)
{
    if (!worker)
        return;
    timer_free(worker->tick);
    timer_free(worker->due);
    free(worker);
}

#include "worker/carry_worker.h"

#include <stdio.h>

#include "base/encoding.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/system.h"
#include "worker/alerts.h"
#include "worker/archiver.h"
#include "worker/consumer.h"
#include "worker/firing.h"
#include "worker/heartbeat.h"
#include "worker/janitor.h"
#include "worker/openings.h"
#include "worker/recovery.h"
#include "worker/sweep.h"
#include "store/clock.h"

#define TICK_US      INT64_C(1000000)
#define STEP_US      INT64_C(1000000) /* if the clocks drift apart by more, one of them has stepped */
#define OFF_US       INT64_C(2000000) /* difference between the host's clock and Redis's that is logged */
#define EARLY_US     INT64_C(200)     /* the due timer fires this long after the due time */
#define RECONNECT_US INT64_C(100000)
#define PATIENCE_US  (INT64_C(1000) * CARRY_PATIENCE_MS)

enum { NAME_BYTES = 16 };

struct carry_worker {
    struct carry_worker_options options;
    char me[2 * NAME_BYTES + 1];
    bool is_owner;
    bool is_stopping;
    bool is_carrying; /* a call of carry.lua is under way */
    bool is_ticking;  /* this call is that of a tick */
    bool wants_tick, wants_carry;
    int64_t sent_us;    /* CLOCK_BOOTTIME before the call under way was sent */
    bool removals_rest; /* see shard_chores */
    bool is_clock_off;  /* the host's wall clock differs from Redis's clock */
    /* Redis's clock and this host's clock at the time of the last reply. */
    bool has_clock;
    int64_t redis_us, boot_us;
    bool is_resting;      /* the data has a newer format, see rests */
    bool is_first_time;   /* Redis has not answered yet */
    int64_t disturbed_us; /* time at which a clock last stepped, or Redis became reachable */
    int64_t due_ms;       /* earliest due time, for which the due timer waits; -1: none */
    int64_t woken_ms;     /* earliest wake-up since the last call was sent; -1: none */
    /* For a standby: the process that owns the lock, the last beat of this owner, and the time at which this
     * process last saw the beat change. */
    char owner[2 * NAME_BYTES + 1];
    int64_t beat, beat_seen_us;
    struct recovery *recovery;
    struct forgetter *forgetter;
    struct firing *firing;
    struct openings *openings;
    struct alerts *alerts;
    struct timer *tick, *due;
    struct timer *
        lost; /* fires when the first lease expires or the quiet time ends, if this is before the next tick */
};

static void carry(struct carry_worker *worker, bool is_tick);

/* ---- clocks ---- */

static int64_t redis_now_us(const struct carry_worker *worker)
{
    if (clock_is_manual())
        return clock_turned_us();
    return worker->redis_us + clock_boot_us() - worker->boot_us;
}

/* Begins a quiet time. After a clock step, and after each time without Redis, live consumers get the time of
 * one lease for renewals before any lease counts as lost. With a private Redis there is no quiet time at the
 * start, because no other process can renew the leases. */
static void note_disturbance(struct carry_worker *worker)
{
    if (!worker->options.is_alone || !worker->is_first_time)
        worker->disturbed_us = clock_boot_us();
}

/* Compares Redis's clock with this host's clock, and notes a disturbance if either has stepped. A step of a
 * manual clock does not count, because no attempt is in flight then. */
static void compare_clocks(struct carry_worker *worker, int64_t now_us, int64_t sent_us)
{
    if (clock_is_manual()) {
        clock_turn_to(now_us);
        worker->redis_us = now_us;
        worker->boot_us = sent_us;
        if (worker->has_clock)
            return;
        note_disturbance(worker);
        worker->is_first_time = false;
        worker->has_clock = true;
        return;
    }
    int64_t expected_us = worker->redis_us + sent_us - worker->boot_us;
    int64_t step_us = now_us - expected_us;
    int64_t slack_us = STEP_US + clock_boot_us() - sent_us;
    if (worker->has_clock && step_us < slack_us && step_us > -slack_us) {
        worker->redis_us = now_us;
        worker->boot_us = sent_us;
        return;
    }
    if (worker->has_clock)
        log_warning("redis_clock_stepped", LOG_NUMBER("shard", shard_number(worker->options.shard)),
                    LOG_NUMBER("ms", step_us / 1000));
    if (worker->has_clock && worker->is_owner)
        pattern_keeper_step(worker->options.pattern_keeper, step_us / 1000);
    note_disturbance(worker);
    worker->is_first_time = false;
    worker->has_clock = true;
    worker->redis_us = now_us;
    worker->boot_us = sent_us;
}

/* Compares this host's wall clock with Redis's clock, and logs when they begin or cease to differ. Redis's
 * clock decides when jobs are due. This host's clock is in signatures, in the log, and decides about tokens
 * and certificates. */
static void compare_host_clock(struct carry_worker *worker, int64_t now_us)
{
    int64_t took_us = clock_boot_us() - worker->sent_us;
    int64_t off_us = clock_wall_us() - now_us - took_us / 2;
    int64_t bound_us = OFF_US + took_us / 2;
    bool is_off = off_us > bound_us || off_us < -bound_us;
    if (is_off && !worker->is_clock_off)
        log_warning("host_clock_off", LOG_NUMBER("shard", shard_number(worker->options.shard)),
                    LOG_NUMBER("ahead_ms", off_us / 1000),
                    LOG_TEXT("why", "this host's clock and that of Redis differ"),
                    LOG_TEXT("do", "synchronize the clocks of both hosts, for example with chrony"));
    if (!is_off && worker->is_clock_off)
        log_info("host_clock_right", LOG_NUMBER("shard", shard_number(worker->options.shard)));
    worker->is_clock_off = is_off;
}

/* Returns the rest of the quiet time; 0: it is over. */
static int64_t quiet_left_us(const struct carry_worker *worker)
{
    int64_t left_us = worker->disturbed_us + STORE_LEASE_MS * INT64_C(1000) - clock_boot_us();
    return left_us > 0 ? left_us : 0;
}

static bool may_recover(void *arg, int64_t *now_ms)
{
    const struct carry_worker *worker = arg;
    *now_ms = redis_now_us(worker) / 1000;
    return worker->is_owner && worker->has_clock && !worker->is_stopping && quiet_left_us(worker) == 0;
}

/* Returns the earlier of two times; -1 means never. */
static int64_t earlier(int64_t a_ms, int64_t b_ms)
{
    if (a_ms < 0 || b_ms < 0)
        return a_ms < 0 ? b_ms : a_ms;
    return a_ms < b_ms ? a_ms : b_ms;
}

static void arm_due(struct carry_worker *worker, int64_t due_ms)
{
    int64_t after_us = due_ms * 1000 - redis_now_us(worker);
    worker->due_ms = due_ms;
    if (due_ms < 0) {
        timer_stop(worker->due);
    } else if (worker->is_owner) {
        timer_start(worker->due, after_us + EARLY_US);
    } else {
        /* The standby's timer fires at most four times a second, for any number of due jobs. */
        timer_start(worker->due, after_us > 0 ? after_us + PATIENCE_US : PATIENCE_US);
    }
}

/* Starts to end lost leases now, or starts the timer for this if the first lease expires before the next
 * tick. This is rare, because leases that are renewed in time last beyond the next tick. */
static void arm_lost(struct carry_worker *worker, int64_t until_lost_ms)
{
    int64_t left_us = until_lost_ms * 1000 + EARLY_US;
    if (until_lost_ms < 0)
        return;
    if (until_lost_ms == 0 && quiet_left_us(worker) == 0)
        recovery_run(worker->recovery);
    if (left_us < quiet_left_us(worker))
        left_us = quiet_left_us(worker);
    if (left_us < TICK_US)
        timer_start(worker->lost, left_us);
}

/* ---- the lock ---- */

static void become(struct carry_worker *worker, bool is_owner)
{
    if (worker->is_owner == is_owner)
        return;
    worker->is_owner = is_owner;
    if (is_owner)
        alerts_begin(worker->alerts);
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
        worker->wants_tick = true; /* the other owner has released the lock, so take it now */
}

/* Gives up all work while the data has a newer format than this version supports. The lock stays in Redis; a
 * newer process takes it over when its beat has stood still. Returns whether this is the case. */
static bool rests(struct carry_worker *worker)
{
    bool is_newer = shard_is_newer(worker->options.shard);
    if (is_newer && !worker->is_resting) {
        log_error("data_is_newer", LOG_NUMBER("shard", shard_number(worker->options.shard)),
                  LOG_TEXT("why", "a newer duepost has raised the format of the data in Redis"),
                  LOG_TEXT("then", "this process records the ends of its attempts, and starts nothing else"),
                  LOG_TEXT("do", "replace this process by the newer version"));
        become(worker, false);
        worker->owner[0] = '\0';
        worker->has_clock = false;
        arm_due(worker, -1);
        timer_stop(worker->lost);
        firing_note(worker->firing, -1, redis_now_us(worker), false);
    }
    if (!is_newer && worker->is_resting)
        log_warning("data_is_known_again", LOG_NUMBER("shard", shard_number(worker->options.shard)),
                    LOG_TEXT("why", "the data in Redis has a format that this duepost supports"));
    worker->is_resting = is_newer;
    return is_newer;
}

/* ---- carrying ---- */

/* Starts the calls that have work to do. */
static void do_chores(struct carry_worker *worker, const struct shard_chores *chores)
{
    if (chores->forgets)
        forgetter_run(worker->forgetter);
    if (chores->sweeps)
        janitor_sweep(worker->options.janitor);
    if (chores->opens)
        openings_run(worker->openings, redis_now_us(worker) / 1000);
    if (chores->expires)
        recovery_end_expired(worker->recovery);
    if (!worker->is_ticking)
        return;
    pattern_keeper_tick(worker->options.pattern_keeper, chores->reoffers);
    alerts_tick(worker->alerts, chores->alerts);
    heartbeat_tick(worker->options.heartbeat);
    if (chores->rests && !worker->removals_rest)
        log_warning(
            "removals_rest", LOG_NUMBER("shard", shard_number(worker->options.shard)),
            LOG_TEXT("why", "the clock of Redis has stepped ahead, or no duepost has run for a long time"),
            LOG_TEXT("then", "for 5 minutes, nothing is removed because of its age"));
    worker->removals_rest = chores->rests;
    archiver_tick(worker->options.archiver, chores->archives, chores->notes,
                  chores->rests ? 0 : redis_now_us(worker) / 1000);
}

static void act_as_owner(struct carry_worker *worker, const struct shard_carried *carried)
{
    become(worker, true);
    worker->owner[0] = '\0';
    /* A wake-up arrives on another connection, and may be newer than this reply. */
    arm_due(worker, earlier(carried->next_due_ms, worker->woken_ms));
    if (carried->is_full)
        worker->wants_carry = true;
    arm_lost(worker, carried->until_lost_ms);
    do_chores(worker, &carried->chores);
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
    compare_clocks(worker, carried->now_us, worker->sent_us);
    if (worker->is_ticking && !clock_is_manual())
        compare_host_clock(worker, carried->now_us);
    if (slice_equal(carried->owner, slice_of(worker->me))) {
        act_as_owner(worker, carried);
    } else {
        /* A standby watches the owner's beat, and carries jobs that are overdue because the owner has not
         * carried them. */
        become(worker, false);
        timer_stop(worker->lost);
        arm_due(worker, earlier(carried->next_due_ms, worker->woken_ms));
        worker->wants_carry |= carried->is_full;
        watch_owner(worker, carried);
    }
    if (carried->chores.has_turns)
        worker->options.on_turns(worker->options.arg);
    firing_note(worker->firing, carried->next_fire_ms, redis_now_us(worker), worker->is_owner);
    if (worker->wants_tick || worker->wants_carry)
        carry(worker, worker->wants_tick);
}

static void carry(struct carry_worker *worker, bool is_tick)
{
    if (worker->is_carrying) {
        worker->wants_tick |= is_tick;
        worker->wants_carry = true;
        return;
    }
    if (rests(worker))
        return;
    bool is_stuck = !worker->is_owner && worker->owner[0] &&
                    (worker->options.is_alone || clock_boot_us() - worker->beat_seen_us >= CARRY_STUCK_US);
    struct shard_carry call = {
        .me = slice_of(worker->me),
        .is_tick = is_tick,
        .is_unwatched = worker->options.is_alone,
        .stuck_owner = slice_of(is_stuck ? worker->owner : ""),
        .stuck_beat = worker->beat,
        .patience_ms = CARRY_PATIENCE_MS,
        .expected_ms = worker->redis_us && !clock_is_manual() ? redis_now_us(worker) / 1000 : -1,
    };
    worker->is_carrying = true;
    worker->is_ticking = is_tick;
    worker->woken_ms = -1;
    worker->wants_tick = worker->wants_carry = false;
    worker->sent_us = clock_boot_us();
    shard_carry(worker->options.shard, &call, on_carried, worker);
}

static void on_tick(void *arg)
{
    struct carry_worker *worker = arg;
    /* A standby also ticks when it may take the lock over. */
    int64_t left_us = worker->beat_seen_us + CARRY_STUCK_US - clock_boot_us();
    if (!worker->is_owner && worker->owner[0] && left_us > 0 && left_us < TICK_US)
        timer_start(worker->tick, left_us);
    else
        timer_start_aligned(worker->tick, TICK_US);
    carry(worker, true);
    if (worker->is_owner)
        janitor_tick(worker->options.janitor);
}

/* Carries due topics. If this reactor's consumer is about to claim, the claim carries them in the same
 * call. When a manual clock was moved, all that happens once a second may be due, too. */
static void on_due(void *arg)
{
    struct carry_worker *worker = arg;
    if (clock_is_manual())
        carry(worker, true);
    if (worker->is_owner && worker->options.on_due(worker->options.arg))
        worker->woken_ms = -1;
    else if (!clock_is_manual())
        carry(worker, false);
}

void carry_worker_note_carried(struct carry_worker *worker, enum status status,
                               const struct consumer_carried *carried)
{
    if (worker->is_stopping || status != STATUS_OK)
        return; /* after a failure, the next tick carries */
    compare_clocks(worker, carried->now_us, carried->sent_us);
    if (worker->is_owner)
        arm_due(worker, earlier(carried->next_due_ms, worker->woken_ms));
    else
        carry(worker, false);
}

static void on_lost(void *arg)
{
    struct carry_worker *worker = arg;
    if (worker->is_owner)
        recovery_run(worker->recovery);
}

static void on_wake(void *arg, int64_t due_ms)
{
    struct carry_worker *worker = arg;
    worker->woken_ms = earlier(worker->woken_ms, due_ms);
    bool is_earlier = worker->due_ms < 0 || due_ms < worker->due_ms || clock_is_manual();
    if (worker->has_clock && !worker->is_stopping && is_earlier)
        arm_due(worker, due_ms);
}

static void on_lock_left(void *arg)
{
    struct carry_worker *worker = arg;
    if (!worker->is_owner && !worker->is_stopping)
        carry(worker, true);
}

/* A tick finds out that openings are wanted. Due jobs may wait for them, so it comes at once. */
static void on_openings_wanted(void *arg)
{
    struct carry_worker *worker = arg;
    if (worker->is_owner && !worker->is_stopping)
        carry(worker, true);
}

/* Called when the subscription to wake-ups begins. Carries now, because this process has missed the wake-ups
 * that were published before. A standby also tries to take the lock, because the owner may have released it
 * before the subscription. */
static void carry_worker_on_subscribed(void *arg)
{
    struct carry_worker *worker = arg;
    if (!worker->is_stopping)
        carry(worker, !worker->is_owner);
}

/* Notes a disturbance, because Redis may have lost the last renewals, even after a short outage. */
static void carry_worker_on_up(void *arg)
{
    struct carry_worker *worker = arg;
    worker->has_clock = false;
    note_disturbance(worker);
}

struct carry_worker *carry_worker_new(struct loop *loop, const struct carry_worker_options *options)
{
    struct carry_worker *worker = NEW(struct carry_worker);
    unsigned char name[NAME_BYTES];
    random_fill(name, sizeof name);
    hex_write(worker->me, name, sizeof name); /* me was zeroed, so the text ends with a NUL */
    worker->options = *options;
    worker->due_ms = -1;
    worker->is_first_time = true;
    worker->disturbed_us = clock_boot_us() - STORE_LEASE_MS * INT64_C(1000);
    worker->recovery = recovery_new(loop, options->shard, options->forms, options->schedule, options->metrics,
                                    may_recover, worker);
    worker->forgetter = forgetter_new(loop, options->shard);
    worker->openings = openings_new(loop, options->shard);
    worker->alerts = alerts_new(&(struct alerts_options){.store = options->store,
                                                         .shard = options->shard,
                                                         .durability = options->durability,
                                                         .certificate = options->certificate,
                                                         .arg = options->arg});
    worker->firing = firing_new(loop, options->store, options->shard, options->forms, options->metrics);
    worker->tick = timer_new(loop, on_tick, worker);
    worker->due = timer_new(loop, on_due, worker);
    worker->lost = timer_new(loop, on_lost, worker);
    shard_on_wake(options->shard, on_wake, worker);
    shard_on_lock_left(options->shard, on_lock_left, worker);
    shard_on_openings_wanted(options->shard, on_openings_wanted, worker);
    shard_on_subscribed(options->shard, carry_worker_on_subscribed, worker);
    shard_on_up(options->shard, carry_worker_on_up, worker);
    timer_start(worker->tick, 0);
    return worker;
}

void carry_worker_set_schedule(struct carry_worker *worker, const struct retry_schedule *schedule)
{
    recovery_set_schedule(worker->recovery, schedule);
}

static void on_left(void *arg, enum status status, const struct shard_carried *carried)
{
    (void)arg, (void)status, (void)carried;
}

void carry_worker_stop(struct carry_worker *worker)
{
    struct shard_carry call = {.me = slice_of(worker->me), .is_leaving = true, .expected_ms = -1};
    worker->is_stopping = true;
    timer_stop(worker->tick);
    timer_stop(worker->due);
    timer_stop(worker->lost);
    firing_stop(worker->firing);
    if (worker->is_owner || worker->is_carrying) /* sends the release even while a call is under way, because
                                                    that call may take the lock */
        shard_carry(worker->options.shard, &call, on_left, worker);
}

void carry_worker_free(struct carry_worker *worker)
{
    if (!worker)
        return;
    timer_free(worker->tick);
    timer_free(worker->due);
    timer_free(worker->lost);
    recovery_free(worker->recovery);
    forgetter_free(worker->forgetter);
    openings_free(worker->openings);
    alerts_free(worker->alerts);
    firing_free(worker->firing);
    free(worker);
}

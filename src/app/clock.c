#include "app/clock.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/app_private.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "io/loop.h"
#include "store/clock.h"

#define WAIT_MIN_US INT64_C(1000)
#define WAIT_MAX_US INT64_C(20000)

struct app_clock {
    struct loop *loop;
    struct app *app;
    struct app_turn *turn; /* the turn of this reactor; NULL: none */
    bool is_draining;
};

/* Whether a reactor of the process has a turn. */
static atomic_bool is_turning;

struct app_turn {
    struct app_clock *clock;
    struct app_clock_move what;
    app_clock_fn *fn;
    void *arg;
    struct timer *timer; /* the wait for attempts in flight */
    int64_t until_us;    /* end of the turn, by the clock of the loop */
    int64_t wait_us;
    int64_t began_ms; /* what the clock showed first; 0: not known yet */
    int64_t to_ms;    /* bound of the steps; 0: the first step only shows the clock */
    struct app_clock_shown shown;
    size_t fired;
    bool is_asking;
};

/* ---- the end of a turn ---- */

static void free_turn(struct app_turn *turn)
{
    turn->clock->turn = NULL;
    atomic_store(&is_turning, false);
    timer_free(turn->timer);
    free(turn);
}

static void audit_turn(const struct app_turn *turn, enum status status)
{
    char now[TIMESTAMP_SIZE];
    if (turn->began_ms == 0 || turn->shown.now_ms == turn->began_ms)
        return;
    timestamp_format(turn->shown.now_ms, now);
    audit(turn->what.caller, "clock_turned", "now", slice_of(now), status);
}

static void end_turn(struct app_turn *turn)
{
    audit_turn(turn, STATUS_OK);
    turn->fn(turn->arg, &(struct app_verdict){.end = STATUS_OK}, &turn->shown);
    free_turn(turn);
}

static void refuse_turn(void *arg, const struct app_verdict *verdict)
{
    struct app_turn *turn = arg;
    turn->fn(turn->arg, verdict, NULL);
    free_turn(turn);
}

/* A turn that has moved the clock cannot say that nothing changed. */
static void fail_turn(struct app_turn *turn, enum status status)
{
    if (turn->shown.now_ms > turn->began_ms)
        status = STATUS_UNKNOWN;
    audit_turn(turn, status);
    use_case_end(turn->clock->app, SLICE(""), status, NULL, refuse_turn, turn);
}

/* ---- steps ---- */

static bool has_time(const struct app_turn *turn)
{
    const struct app_caller *caller = turn->what.caller;
    return !turn->clock->is_draining && loop_now_us(turn->clock->loop) < turn->until_us &&
           !(caller->has_left && caller->has_left(caller->peer));
}

/* Computes the bound of the steps. Returns false after ending a turn whose bound is wrong. */
static bool set_bound(struct app_turn *turn)
{
    const struct app_clock_move *what = &turn->what;
    int64_t now_ms = turn->shown.now_ms, most_ms = now_ms + JOB_DELAY_MAX_MS;
    char detail[JOB_ERROR_TEXT_SIZE], found[TIMESTAMP_SIZE], limit[TIMESTAMP_SIZE];
    if (most_ms > TIMESTAMP_MAX_MS)
        most_ms = TIMESTAMP_MAX_MS;
    turn->to_ms = what->has_to ? what->to_ms : what->has_advance ? now_ms + what->advance_ms : most_ms;
    turn->shown.to_ms = what->has_to || what->has_advance ? turn->to_ms : 0;
    if (turn->to_ms >= now_ms && turn->to_ms <= most_ms)
        return true;
    bool is_past = turn->to_ms < now_ms;
    timestamp_format(turn->to_ms, found);
    timestamp_format(is_past ? now_ms : most_ms, limit);
    snprintf(detail, sizeof detail,
             is_past ? "is %s, but the clock shows %s and cannot go back; GET /clock shows it"
                     : "is the time %s, but the clock can be moved by at most 10 years, to %s",
             found, limit);
    use_case_refuse_field(what->has_to ? "to" : "advance", detail, refuse_turn, turn);
    return false;
}

static void ask_step(void *arg);

static void wait_for_step(struct app_turn *turn, bool has_changed)
{
    turn->wait_us = has_changed ? WAIT_MIN_US : turn->wait_us * 3 / 2;
    if (turn->wait_us > WAIT_MAX_US)
        turn->wait_us = WAIT_MAX_US;
    timer_start(turn->timer, turn->wait_us);
}

static void on_step(void *arg, enum status status, const struct store_clock *clock)
{
    struct app_turn *turn = arg;
    struct app_clock_shown *shown = &turn->shown;
    size_t fired = clock_fired_count();
    turn->is_asking = false;
    if (status == STATUS_UNKNOWN && has_time(turn)) {
        wait_for_step(turn, false);
        return;
    }
    if (status != STATUS_OK) {
        fail_turn(turn, status);
        return;
    }
    bool is_first = turn->began_ms == 0;
    bool has_changed = is_first || shown->now_ms != clock->now_ms || shown->in_flight != clock->in_flight ||
                       fired != turn->fired;
    shown->now_ms = clock->now_ms;
    shown->next_ms = clock->next_ms;
    shown->in_flight = clock->in_flight;
    turn->fired = fired;
    if (is_first) {
        turn->began_ms = clock->now_ms;
        if (!set_bound(turn))
            return;
    }
    shown->is_reached = !is_first && clock->state == CLOCK_REACHED;
    if (shown->is_reached || fired >= turn->what.max || !has_time(turn)) {
        end_turn(turn);
    } else if (is_first || clock->state == CLOCK_MOVED) {
        turn->wait_us = WAIT_MIN_US;
        ask_step(turn);
    } else {
        wait_for_step(turn, has_changed);
    }
}

static void ask_step(void *arg)
{
    struct app_turn *turn = arg;
    const struct store_clock_step step = {.to_ms = turn->to_ms,
                                          .is_until_idle = turn->to_ms && turn->what.is_until_idle};
    turn->is_asking = true;
    store_clock_step(turn->clock->app->store, &step, on_step, turn);
}

/* The wait may end because the client has left, after which the clock must not move. */
static void on_wait_end(void *arg)
{
    struct app_turn *turn = arg;
    if (has_time(turn))
        ask_step(turn);
    else if (turn->began_ms)
        end_turn(turn);
    else
        fail_turn(turn, STATUS_UNKNOWN);
}

/* ---- a request ---- */

struct app_turn *app_clock_turn(struct app *app, const struct app_clock_move *what, app_clock_fn *fn,
                                void *arg)
{
    struct app_clock *clock = app->clock;
    if (atomic_exchange(&is_turning, true)) {
        fn(arg, &(struct app_verdict){.end = STATUS_CONTENDED}, NULL);
        return NULL;
    }
    struct app_turn *turn = NEW(struct app_turn);
    *turn = (struct app_turn){.clock = clock, .what = *what, .fn = fn, .arg = arg, .wait_us = WAIT_MIN_US};
    turn->timer = timer_new(clock->loop, on_wait_end, turn);
    turn->until_us = loop_now_us(clock->loop) + APP_TURN_MS * INT64_C(1000);
    clock->turn = turn;
    ask_step(turn);
    return clock->turn;
}

void app_clock_drop(struct app_turn *turn)
{
    assert(!turn->is_asking);
    free_turn(turn);
}

struct app_showing {
    struct app *app;
    app_clock_fn *fn;
    void *arg;
};

static void refuse_showing(void *arg, const struct app_verdict *verdict)
{
    const struct app_showing *showing = arg;
    showing->fn(showing->arg, verdict, NULL);
}

static void on_shown(void *arg, enum status status, const struct store_clock *clock)
{
    struct app_showing *showing = arg;
    if (status == STATUS_OK) {
        const struct app_clock_shown shown = {
            .now_ms = clock->now_ms, .next_ms = clock->next_ms, .in_flight = clock->in_flight};
        showing->fn(showing->arg, &(struct app_verdict){.end = STATUS_OK}, &shown);
    } else {
        use_case_end(showing->app, SLICE(""), status, NULL, refuse_showing, showing);
    }
    free(showing);
}

void app_clock_show(struct app *app, app_clock_fn *fn, void *arg)
{
    struct app_showing *showing = NEW(struct app_showing);
    *showing = (struct app_showing){app, fn, arg};
    store_clock_step(app->store, &(struct store_clock_step){.to_ms = 0}, on_shown, showing);
}

/* ---- what fired ---- */

struct app_taking {
    app_fired_fn *fn;
    void *arg;
};

static void take_one(void *arg, const struct clock_fired *entry)
{
    const struct app_taking *taking = arg;
    struct app_fired fired = {.at_ms = entry->at_ms,
                              .event = entry->event,
                              .attempt = entry->attempt,
                              .status = entry->status,
                              .error = entry->error,
                              .outcome = entry->outcome,
                              .next_ms = entry->next_ms};
    struct slice topic;
    slice_cut(entry->job, '/', &fired.topic, &fired.job_id);
    if (entry->schedule.size > 0)
        slice_cut(entry->schedule, '/', &topic, &fired.schedule);
    taking->fn(taking->arg, &fired);
}

bool app_clock_take(size_t max, app_fired_fn *fn, void *arg, uint64_t *lost)
{
    struct app_taking taking = {fn, arg};
    return clock_take_fired(max, take_one, &taking, lost);
}

/* ---- the clock of a reactor ---- */

struct app_clock *app_clock_new(struct loop *loop, struct app *app)
{
    struct app_clock *clock = NEW(struct app_clock);
    *clock = (struct app_clock){.loop = loop, .app = app};
    return clock;
}

void app_clock_drain(struct app_clock *clock)
{
    clock->is_draining = true;
    if (clock->turn && !clock->turn->is_asking)
        timer_start(clock->turn->timer, 0);
}

void app_clock_free(struct app_clock *clock)
{
    assert(!clock || !clock->turn);
    free(clock);
}

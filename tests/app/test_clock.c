/* Tests the use cases of the manual clock: the steps of a turn, its ends, and what fired. */
#include "app/clock.h"

#include <stdio.h>

#include "app/fake_store.h"
#include "base/system.h"
#include "base/timestamp.h"
#include "io/loop.h"
#include "job/text/job_errors.h"
#include "support/suite.h"

enum { NOW_MS = 1000000 };

static struct app *app;
static struct loop *loop;

/* A request and its answer. */
static struct client {
    struct app_caller caller;
    struct app_turn *turn;
    bool has_left, is_answered;
    enum status end;
    char field[32], detail[160];
    struct app_clock_shown shown;
} client, other;

static bool has_left(const void *peer)
{
    const struct client *of = peer;
    return of->has_left;
}

static void write_from(const void *peer, char text[APP_FROM_SIZE])
{
    (void)peer;
    snprintf(text, APP_FROM_SIZE, "192.0.2.9");
}

static void begin(void)
{
    app = fake_app();
    loop = loop_new();
    app->clock = app_clock_new(loop, app);
    struct client fresh = {
        .caller = {.name = "ops", .write_from = write_from, .has_left = has_left, .peer = &client}};
    client = other = fresh;
}

static void end(void)
{
    fake_expect_none();
    app_clock_free(app->clock);
    loop_free(loop);
    fake_end();
}

static void on_clock(void *arg, const struct app_verdict *verdict, const struct app_clock_shown *shown)
{
    struct client *of = arg;
    ck_assert(!of->is_answered);
    of->is_answered = true;
    of->turn = NULL;
    of->end = verdict->end;
    ck_assert((shown != NULL) == (verdict->end == STATUS_OK));
    if (shown)
        of->shown = *shown;
    if (verdict->errors) {
        size_t at = 0;
        struct job_error error;
        ck_assert(job_errors_take(verdict->errors, &at, &error));
        snprintf(of->field, sizeof of->field, "%s", error.field);
        snprintf(of->detail, sizeof of->detail, "%s", error.detail);
    }
}

static void turn_of(struct client *of, struct app_clock_move move)
{
    move.caller = &of->caller;
    if (move.max == 0)
        move.max = APP_PAGE_MAX;
    of->is_answered = false;
    struct app_turn *turn = app_clock_turn(app, &move, on_clock, of);
    if (turn)
        of->turn = turn;
}

static void advance(int64_t ms)
{
    turn_of(&client, (struct app_clock_move){.has_advance = true, .advance_ms = ms});
}

/* Answers the step that waits for its answer. */
static void answer(enum status status, enum clock_state state, int64_t now_ms, int64_t in_flight)
{
    struct fake_call *call = fake_take("clock_step");
    const struct store_clock clock = {
        .state = state, .now_ms = now_ms, .next_ms = now_ms + 5, .in_flight = in_flight};
    call->fn.clock(call->arg, status, status == STATUS_OK ? &clock : NULL);
}

static void expect_step(int64_t to_ms, enum clock_state state, int64_t now_ms)
{
    ck_assert(fake_has_call());
    struct fake_call *call = fake_take("clock_step");
    ck_assert_int_eq(call->step.to_ms, to_ms);
    const struct store_clock clock = {.state = state, .now_ms = now_ms, .next_ms = -1};
    call->fn.clock(call->arg, STATUS_OK, &clock);
}

static void look(void)
{
    expect_step(0, CLOCK_REACHED, NOW_MS);
}

static void stop(void *arg)
{
    loop_stop(arg);
}

static void wait_ms(int64_t ms)
{
    struct timer *timer = timer_new(loop, stop, loop);
    timer_start(timer, ms * 1000);
    loop_run(loop);
    timer_free(timer);
}

static void wait_for_call(void)
{
    for (int i = 0; i < 500 && !fake_has_call(); i++)
        wait_ms(1);
    ck_assert(fake_has_call());
}

START_TEST(a_turn_goes_from_event_to_event)
{
    advance(50);
    look();
    expect_step(NOW_MS + 50, CLOCK_MOVED, NOW_MS + 10);
    expect_step(NOW_MS + 50, CLOCK_MOVED, NOW_MS + 20);
    ck_assert(!client.is_answered);
    expect_step(NOW_MS + 50, CLOCK_REACHED, NOW_MS + 50);
    ck_assert(client.is_answered && client.end == STATUS_OK && client.shown.is_reached);
    ck_assert_int_eq(client.shown.now_ms, NOW_MS + 50);
    ck_assert_int_eq(client.shown.to_ms, NOW_MS + 50);
    ck_assert_int_eq(client.shown.next_ms, -1);
    fake_expect_log("event=clock_turned who=ops from=192.0.2.9 now=1970-01-01T00:16:40.050Z outcome=done");
}
END_TEST

START_TEST(a_turn_waits_for_attempts_longer_and_longer)
{
    advance(50);
    look();
    int64_t began_us = clock_steady_us();
    for (int i = 0; i < 6; i++) {
        answer(STATUS_OK, CLOCK_BUSY, NOW_MS, 1);
        fake_expect_none();
        wait_for_call();
    }
    ck_assert_int_ge(clock_steady_us() - began_us, 12000); /* 1 + 1.5 + 2.2 + 3.4 + 5.1 + 7.6 ms */
    answer(STATUS_OK, CLOCK_REACHED, NOW_MS + 50, 0);
    ck_assert(client.shown.is_reached);
}
END_TEST

START_TEST(a_turn_until_idle_has_a_bound_only_if_one_is_given)
{
    turn_of(&client, (struct app_clock_move){.is_until_idle = true});
    struct fake_call *call = fake_take("clock_step");
    ck_assert(!call->step.is_until_idle && call->step.to_ms == 0);
    const struct store_clock clock = {.state = CLOCK_REACHED, .now_ms = NOW_MS, .next_ms = -1};
    call->fn.clock(call->arg, STATUS_OK, &clock);
    call = fake_take("clock_step");
    ck_assert(call->step.is_until_idle);
    ck_assert_int_eq(call->step.to_ms, NOW_MS + JOB_DELAY_MAX_MS);
    call->fn.clock(call->arg, STATUS_OK, &clock);
    ck_assert(client.shown.is_reached && client.shown.to_ms == 0);
    fake_expect_log(""); /* the clock has not moved */
    turn_of(&client, (struct app_clock_move){.is_until_idle = true, .has_to = true, .to_ms = NOW_MS + 9});
    look();
    expect_step(NOW_MS + 9, CLOCK_REACHED, NOW_MS + 9);
    ck_assert_int_eq(client.shown.to_ms, NOW_MS + 9);
}
END_TEST

START_TEST(a_turn_ends_with_a_full_page)
{
    turn_of(&client, (struct app_clock_move){.has_advance = true, .advance_ms = 50, .max = 2});
    look();
    fake_fire(1);
    expect_step(NOW_MS + 50, CLOCK_MOVED, NOW_MS + 10);
    fake_fire(2);
    expect_step(NOW_MS + 50, CLOCK_BUSY, NOW_MS + 20);
    ck_assert(client.is_answered && !client.shown.is_reached);
    ck_assert_int_eq(client.shown.to_ms, NOW_MS + 50);
}
END_TEST

START_TEST(a_full_page_from_before_is_answered_first)
{
    fake_fire(2);
    turn_of(&client, (struct app_clock_move){.has_advance = true, .advance_ms = 50, .max = 2});
    look();
    ck_assert(client.is_answered && !client.shown.is_reached);
    ck_assert_int_eq(client.shown.now_ms, NOW_MS);
    ck_assert_int_eq(client.shown.to_ms, NOW_MS + 50);
}
END_TEST

static void note(void *arg, const struct app_fired *fired)
{
    ck_assert(slice_equal(fired->topic, SLICE("orders")) && slice_equal(fired->job_id, SLICE("a/b")));
    ck_assert(fired->at_ms == 5 && fired->attempt == 2 && fired->status == 503 && fired->next_ms == 7);
    ck_assert(slice_equal(fired->outcome, SLICE("retry")) && slice_equal(fired->schedule, SLICE("nightly")));
    ++*(size_t *)arg;
}

START_TEST(what_fired_is_taken_once)
{
    size_t count = 0;
    uint64_t lost = 0;
    fake_fire(3);
    ck_assert(app_clock_take(2, note, &count, &lost));
    ck_assert(count == 2 && lost == 3);
    ck_assert(!app_clock_take(2, note, &count, &lost));
    ck_assert_uint_eq(count, 3);
}
END_TEST

START_TEST(a_time_out_of_bounds_is_refused)
{
    turn_of(&client, (struct app_clock_move){.has_to = true, .to_ms = NOW_MS - 1});
    look();
    ck_assert(client.end == STATUS_INVALID);
    ck_assert_str_eq(client.field, "to");
    ck_assert_str_eq(client.detail, "is 1970-01-01T00:16:39.999Z, but the clock shows "
                                    "1970-01-01T00:16:40.000Z and cannot go back; GET /clock shows it");
    turn_of(&client, (struct app_clock_move){.has_to = true, .to_ms = NOW_MS + JOB_DELAY_MAX_MS + 1});
    look();
    ck_assert_str_eq(client.detail, "is the time 1979-12-30T00:16:40.001Z, but the clock can be moved by at "
                                    "most 10 years, to 1979-12-30T00:16:40.000Z");
    advance(JOB_DELAY_MAX_MS);
    expect_step(0, CLOCK_REACHED, TIMESTAMP_MAX_MS - 1);
    ck_assert(client.end == STATUS_INVALID);
    ck_assert_str_eq(client.field, "advance");
    advance(0);
    look();
    expect_step(NOW_MS, CLOCK_REACHED, NOW_MS);
    ck_assert(client.end == STATUS_OK && client.shown.is_reached);
}
END_TEST

START_TEST(only_one_request_turns_the_clock)
{
    advance(50);
    turn_of(&other, (struct app_clock_move){.is_until_idle = true});
    ck_assert(other.is_answered && other.end == STATUS_CONTENDED && !other.turn);
    look();
    expect_step(NOW_MS + 50, CLOCK_REACHED, NOW_MS + 50);
    turn_of(&other, (struct app_clock_move){.is_until_idle = true});
    look();
    answer(STATUS_OK, CLOCK_REACHED, NOW_MS + 50, 0);
    ck_assert(other.is_answered && other.end == STATUS_OK);
}
END_TEST

START_TEST(redis_that_is_away_ends_a_turn)
{
    advance(50);
    fake_set_ready(false);
    answer(STATUS_UNAVAILABLE, CLOCK_BUSY, 0, 0);
    ck_assert(client.is_answered && client.end == STATUS_UNAVAILABLE);
    advance(50);
    look();
    expect_step(NOW_MS + 50, CLOCK_MOVED, NOW_MS + 10);
    answer(STATUS_UNAVAILABLE, CLOCK_BUSY, 0, 0);
    ck_assert(client.end == STATUS_UNKNOWN); /* the clock has moved */
    fake_expect_log("event=clock_turned who=ops from=192.0.2.9 now=1970-01-01T00:16:40.010Z outcome=unknown");
}
END_TEST

START_TEST(a_step_without_an_answer_is_repeated)
{
    advance(50);
    answer(STATUS_UNKNOWN, CLOCK_BUSY, 0, 0);
    wait_for_call();
    look();
    answer(STATUS_UNKNOWN, CLOCK_BUSY, 0, 0);
    wait_for_call();
    expect_step(NOW_MS + 50, CLOCK_REACHED, NOW_MS + 50);
    ck_assert(client.end == STATUS_OK && client.shown.is_reached);
}
END_TEST

START_TEST(a_client_that_leaves_stops_the_clock)
{
    advance(50);
    look();
    answer(STATUS_OK, CLOCK_BUSY, NOW_MS, 1);
    client.has_left = true;
    wait_ms(30);
    fake_expect_none();
    ck_assert(client.is_answered && !client.shown.is_reached);
    client.has_left = false;
    advance(50);
    look();
    client.has_left = true;
    expect_step(NOW_MS + 50, CLOCK_MOVED, NOW_MS + 10);
    ck_assert(client.is_answered && client.shown.now_ms == NOW_MS + 10);
}
END_TEST

START_TEST(a_drain_ends_a_turn)
{
    advance(50);
    look();
    answer(STATUS_OK, CLOCK_BUSY, NOW_MS, 1);
    app_clock_drain(app->clock);
    wait_ms(2);
    ck_assert(client.is_answered && !client.shown.is_reached && client.shown.in_flight == 1);
    advance(50);
    look();
    ck_assert(client.is_answered && !client.shown.is_reached && client.shown.to_ms == NOW_MS + 50);
}
END_TEST

START_TEST(a_dropped_turn_has_no_answer)
{
    advance(50);
    look();
    answer(STATUS_OK, CLOCK_BUSY, NOW_MS, 1);
    app_clock_drop(client.turn);
    wait_ms(5);
    ck_assert(!client.is_answered);
    advance(50);
    look();
    expect_step(NOW_MS + 50, CLOCK_REACHED, NOW_MS + 50);
    ck_assert(client.end == STATUS_OK);
}
END_TEST

START_TEST(the_clock_is_shown)
{
    app_clock_show(app, on_clock, &client);
    answer(STATUS_OK, CLOCK_BUSY, NOW_MS, 2);
    ck_assert(client.end == STATUS_OK && client.shown.now_ms == NOW_MS && client.shown.in_flight == 2);
    ck_assert_int_eq(client.shown.next_ms, NOW_MS + 5);
    app_clock_show(app, on_clock, &other);
    answer(STATUS_UNKNOWN, CLOCK_BUSY, 0, 0);
    ck_assert(other.end == STATUS_UNKNOWN);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("clock");
    TCase *tests = tcase_create("turns");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_turn_goes_from_event_to_event);
    tcase_add_test(tests, a_turn_waits_for_attempts_longer_and_longer);
    tcase_add_test(tests, a_turn_until_idle_has_a_bound_only_if_one_is_given);
    tcase_add_test(tests, a_turn_ends_with_a_full_page);
    tcase_add_test(tests, a_full_page_from_before_is_answered_first);
    tcase_add_test(tests, what_fired_is_taken_once);
    tcase_add_test(tests, a_time_out_of_bounds_is_refused);
    tcase_add_test(tests, only_one_request_turns_the_clock);
    tcase_add_test(tests, redis_that_is_away_ends_a_turn);
    tcase_add_test(tests, a_step_without_an_answer_is_repeated);
    tcase_add_test(tests, a_client_that_leaves_stops_the_clock);
    tcase_add_test(tests, a_drain_ends_a_turn);
    tcase_add_test(tests, a_dropped_turn_has_no_answer);
    tcase_add_test(tests, the_clock_is_shown);
    suite_add_tcase(suite, tests);
    return suite;
}

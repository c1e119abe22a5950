#include <unistd.h>

#include "base/system.h"
#include "io/loop.h"
#include "support/suite.h"

#define AFTER_US INT64_C(20000)
#define BOUND_US INT64_C(5000000)

static struct loop *loop;
static struct timer *timer, *bound;
static struct watch *watch;
static int ends[2];
static void (*touch)(void);
static int64_t begun_us, fired_us;
static int touches, touches_max;

static void on_fired(void *arg)
{
    (void)arg;
    fired_us = clock_steady_us();
    loop_stop(loop);
}

static void on_bound(void *arg)
{
    (void)arg;
    loop_stop(loop);
}

/* The descriptor stays readable, so the loop is busy: each turn has an event. */
static void on_event(void *arg, bool readable, bool writable)
{
    (void)arg, (void)readable, (void)writable;
    touches++;
    usleep(200); /* a timer expires while callbacks run, and not only while the loop waits */
    touch();
    if (touches_max && touches == touches_max)
        loop_stop(loop);
}

static void setup(void)
{
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(write(ends[1], "x", 1), 1);
    loop = loop_new();
    timer = timer_new(loop, on_fired, NULL);
    bound = timer_new(loop, on_bound, NULL);
    watch = watch_new(loop, ends[0], on_event, NULL);
    watch_set(watch, true, false);
    timer_start(bound, BOUND_US);
    begun_us = clock_steady_us();
    fired_us = 0;
    touches = touches_max = 0;
}

static void teardown(void)
{
    watch_free(watch);
    timer_free(timer);
    timer_free(bound);
    loop_free(loop);
    close(ends[0]);
    close(ends[1]);
}

static void arm(void)
{
    timer_arm(timer, AFTER_US);
}

static void arm_within(void)
{
    timer_arm_within(timer, AFTER_US);
}

static void start_by_hand(void)
{
    if (!timer_is_armed(timer))
        timer_start(timer, AFTER_US);
}

/* Starts the timer again for a fixed time, as for the due time of a job. */
static void start_for_a_time(void)
{
    timer_start(timer, begun_us + AFTER_US - clock_steady_us());
}

static void start_now(void)
{
    timer_start(timer, 0);
}

static const struct {
    void (*touch)(void);
    int64_t after_us;
} ways[] = {
    {arm, AFTER_US}, {arm_within, AFTER_US}, {start_by_hand, AFTER_US}, {start_for_a_time, AFTER_US},
    {start_now, 0},
};

START_TEST(a_busy_loop_does_not_postpone_a_timer)
{
    touch = ways[_i].touch;
    touch();
    loop_run(loop);
    ck_assert_msg(fired_us, "way %d: the timer has not fired in %d turns", _i, touches);
    ck_assert_int_ge(fired_us - begun_us, ways[_i].after_us);
    ck_assert_int_le(fired_us - begun_us, BOUND_US);
}
END_TEST

static void note_due(void)
{
    /* Events come before timers: in this turn the timer is due, and its callback has not run yet. */
    if (clock_steady_us() - begun_us < 2 * AFTER_US)
        return;
    ck_assert(timer_is_armed(timer));
    ck_assert(!fired_us);
}

START_TEST(a_timer_that_is_due_is_armed_until_its_callback_runs)
{
    touch = note_due;
    timer_start(timer, 2 * AFTER_US);
    loop_run(loop);
    ck_assert(fired_us);
    ck_assert(!timer_is_armed(timer));
}
END_TEST

static void do_nothing(void)
{
}

START_TEST(a_timer_is_moved_only_to_an_earlier_time)
{
    touch = do_nothing;
    timer_start(timer, AFTER_US);
    timer_arm_within(timer, BOUND_US);
    timer_arm(timer, 0);
    loop_run(loop);
    ck_assert_int_ge(fired_us - begun_us, AFTER_US);

    fired_us = 0;
    timer_start(timer, BOUND_US);
    timer_arm_within(timer, AFTER_US);
    loop_run(loop);
    ck_assert(fired_us);
}
END_TEST

START_TEST(a_stopped_timer_that_was_due_does_not_fire)
{
    touch = do_nothing;
    touches_max = 1;
    timer_start(timer, 0);
    loop_run(loop);
    timer_stop(timer);
    ck_assert(!timer_is_armed(timer));
    fired_us = 0;
    touches = 0;
    touches_max = 20;
    loop_run(loop);
    ck_assert(!fired_us);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("loop");
    TCase *tests = tcase_create("loop");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, a_busy_loop_does_not_postpone_a_timer, 0, sizeof ways / sizeof *ways);
    tcase_add_test(tests, a_timer_that_is_due_is_armed_until_its_callback_runs);
    tcase_add_test(tests, a_timer_is_moved_only_to_an_earlier_time);
    tcase_add_test(tests, a_stopped_timer_that_was_due_does_not_fire);
    suite_add_tcase(suite, tests);
    return suite;
}

#include "base/system.h"
#include "support/suite.h"
#include "worker/sweep.h"

static struct loop *loop;
static struct pace *pace;
static struct timer *reply, *deadline;
static int steps, steps_wanted;
static int64_t last_us, shortest_us, late_ms;
static bool is_due;

static void on_deadline(void *arg)
{
    (void)arg;
    ck_abort_msg("%d of %d steps", steps, steps_wanted);
}

static void on_reply(void *arg)
{
    (void)arg;
    if (steps < steps_wanted && is_due) {
        pace_continue_due(pace);
        return;
    }
    if (steps < steps_wanted) {
        pace_continue(pace, late_ms);
        return;
    }
    pace_end(pace);
    loop_stop(loop);
}

/* Counts a step of the paced work. The reply to the step comes after 2 ms. */
static void step(void *arg)
{
    (void)arg;
    int64_t now_us = clock_boot_us();
    if (steps++ > 0 && now_us - last_us < shortest_us)
        shortest_us = now_us - last_us;
    last_us = now_us;
    timer_start(reply, 2000);
}

static void set_up(void)
{
    loop = loop_new();
    pace = pace_new(loop, step, NULL);
    reply = timer_new(loop, on_reply, NULL);
    deadline = timer_new(loop, on_deadline, NULL);
    timer_start(deadline, INT64_C(20000000));
    steps = 0;
    shortest_us = INT64_MAX;
    late_ms = 0;
    is_due = false;
}

static void tear_down(void)
{
    pace_free(pace);
    timer_free(reply);
    timer_free(deadline);
    loop_free(loop);
}

START_TEST(full_steps_follow_each_other_with_pauses_of_nine_times_their_length)
{
    steps_wanted = 4;
    pace_run(pace);
    loop_run(loop);
    ck_assert_int_eq(steps, 4);
    ck_assert_int_ge(shortest_us, 20000);
}
END_TEST

START_TEST(a_late_sweep_pauses_as_long_as_its_steps_take)
{
    steps_wanted = 4;
    late_ms = PACE_LATE_MS;
    pace_run(pace);
    loop_run(loop);
    ck_assert_int_eq(steps, 4);
    ck_assert_int_ge(shortest_us, 4000);
}
END_TEST

START_TEST(a_sweep_of_due_jobs_pauses_a_third_of_the_time_that_its_steps_take)
{
    steps_wanted = 4;
    is_due = true;
    pace_run(pace);
    loop_run(loop);
    ck_assert_int_eq(steps, 4);
    ck_assert_int_ge(shortest_us, 2660);
}
END_TEST

START_TEST(a_sweep_that_runs_or_pauses_is_not_begun_twice)
{
    steps_wanted = 2;
    pace_run(pace);
    pace_run(pace);
    ck_assert_int_eq(steps, 1);
    pace_continue(pace, 0);
    pace_run(pace);
    ck_assert_int_eq(steps, 1);
}
END_TEST

START_TEST(one_that_has_ended_can_be_begun_anew)
{
    pace_run(pace);
    pace_continue(pace, 0);
    pace_end(pace);
    pace_run(pace);
    ck_assert_int_eq(steps, 2);
}
END_TEST

START_TEST(the_pause_follows_the_share_of_time)
{
    static const struct {
        int64_t took_us, late_ms, pause_us;
    } rows[] = {
        {0, 0, 0},           {1000, 0, 9000},       {5000, 0, 45000},
        {1000, -1, 9000},    {1000, 500, 4000},     {1000, 1000, 2333},
        {1000, 1500, 1500},  {1000, 2000, 1000},    {1000, 3600000, 1000},
        {3000000, 0, 45000}, {3000000, 2000, 5000}, /* a slow reply does not make the pause longer */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_int_eq(pace_pause_us(rows[i].took_us, rows[i].late_ms), rows[i].pause_us);
}
END_TEST

Suite *suite(void)
{
    Suite *all = suite_create("pace");
    TCase *tests = tcase_create("pace");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, full_steps_follow_each_other_with_pauses_of_nine_times_their_length);
    tcase_add_test(tests, a_late_sweep_pauses_as_long_as_its_steps_take);
    tcase_add_test(tests, a_sweep_of_due_jobs_pauses_a_third_of_the_time_that_its_steps_take);
    tcase_add_test(tests, a_sweep_that_runs_or_pauses_is_not_begun_twice);
    tcase_add_test(tests, one_that_has_ended_can_be_begun_anew);
    tcase_add_test(tests, the_pause_follows_the_share_of_time);
    suite_add_tcase(all, tests);
    return all;
}

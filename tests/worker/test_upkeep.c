/* Tests forgetter, sweeper and surveyor. Each continues as long as its steps are full. */
#include <string.h>

#include "base/system.h"
#include "support/suite.h"
#include "worker/sweep.h"
#include "worker/world.h"

#define SECOND_US INT64_C(1000000)

static struct forgetter *forgetter;
static struct sweeper *sweeper;
static struct surveyor *surveyor;

static void upkeep_setup(void)
{
    world_begin();
    forgetter = forgetter_new(NULL, world_shard(0));
    sweeper = sweeper_new(NULL, world_shard(0), NULL);
    surveyor = surveyor_new(NULL, world_shard(0));
}

static void upkeep_teardown(void)
{
    forgetter_free(forgetter);
    sweeper_free(sweeper);
    surveyor_free(surveyor);
}

/* ---- idempotency keys ---- */

START_TEST(keys_are_forgotten_until_a_step_is_not_full)
{
    forgetter_run(forgetter);
    forgetter_run(forgetter);
    ck_assert_uint_eq(world_under_way(WORLD_FORGET), 1);
    world_pass(1000);
    world_answer_forget(STATUS_OK, true);
    world_pass(pace_pause_us(1000, 0));
    ck_assert_uint_eq(world_under_way(WORLD_FORGET), 1);
    world_answer_forget(STATUS_OK, false);
    world_pass(10 * SECOND_US);
    ck_assert_uint_eq(world_made(WORLD_FORGET), 2);
}
END_TEST

START_TEST(a_step_of_forgetting_that_failed_ends_it_until_the_next_run)
{
    forgetter_run(forgetter);
    world_answer_forget(STATUS_UNAVAILABLE, true);
    world_pass(10 * SECOND_US);
    ck_assert_uint_eq(world_made(WORLD_FORGET), 1);
    forgetter_run(forgetter);
    ck_assert_uint_eq(world_made(WORLD_FORGET), 2);
}
END_TEST

/* ---- ended jobs that are no longer kept ---- */

START_TEST(a_sweep_goes_on_while_its_steps_are_full)
{
    sweeper_run(sweeper);
    for (int i = 0; i < 3; i++) {
        world_answer_sweep(STATUS_OK, (struct shard_swept){.ended = 100, .is_full = i < 2});
        world_pass(SECOND_US);
    }
    ck_assert_uint_eq(world_made(WORLD_SWEEP), 3);
    ck_assert_uint_eq(world_logged("swept"), 1); /* one log line for the whole sweep */
}
END_TEST

START_TEST(dead_jobs_that_a_bound_removes_are_worth_a_warning)
{
    sweeper_run(sweeper);
    world_answer_sweep(STATUS_OK, (struct shard_swept){.by_retention = 3, .by_age = 2, .by_number = 1});
    ck_assert_uint_eq(world_logged("dead_jobs_removed"), 1);
    ck_assert_uint_eq(world_counter(METRICS_COUNTER_DEAD_REMOVED_BY_RETENTION), 3);
    ck_assert_uint_eq(world_counter(METRICS_COUNTER_DEAD_REMOVED_BY_AGE), 2);
    ck_assert_uint_eq(world_counter(METRICS_COUNTER_DEAD_REMOVED_BY_NUMBER), 1);
}
END_TEST

START_TEST(a_sweep_that_removed_nothing_is_silent)
{
    sweeper_run(sweeper);
    world_answer_sweep(STATUS_OK, (struct shard_swept){.is_full = false});
    ck_assert_uint_eq(world_logged("swept") + world_logged("dead_jobs_removed"), 0);
}
END_TEST

START_TEST(a_step_of_a_sweep_that_failed_ends_it_and_tells_its_part)
{
    sweeper_run(sweeper);
    world_answer_sweep(STATUS_OK, (struct shard_swept){.ended = 100, .is_full = true});
    world_pass(SECOND_US);
    world_answer_sweep(STATUS_UNKNOWN, (struct shard_swept){.ended = 7, .is_full = true});
    world_pass(SECOND_US);
    ck_assert_uint_eq(world_made(WORLD_SWEEP), 2);
    ck_assert_uint_eq(world_logged("swept"), 1);
}
END_TEST

/* ---- the count of due jobs ---- */

START_TEST(a_survey_goes_on_at_its_cursor_to_its_end)
{
    surveyor_run(surveyor);
    surveyor_run(surveyor);
    ck_assert_uint_eq(world_under_way(WORLD_SURVEY), 1);
    ck_assert_str_eq(world_call(WORLD_SURVEY)->cursor, "");
    world_answer_survey(STATUS_OK, "17");
    surveyor_run(surveyor); /* called during the pause between two steps */
    ck_assert_uint_eq(world_under_way(WORLD_SURVEY), 0);
    world_pass(SECOND_US);
    ck_assert_str_eq(world_call(WORLD_SURVEY)->cursor, "17");
    world_answer_survey(STATUS_OK, "");
    world_pass(SECOND_US);
    ck_assert_uint_eq(world_made(WORLD_SURVEY), 2);
    surveyor_run(surveyor);
    ck_assert_str_eq(world_call(WORLD_SURVEY)->cursor, "");
}
END_TEST

START_TEST(a_survey_that_failed_begins_anew_with_the_next_run)
{
    surveyor_run(surveyor);
    world_answer_survey(STATUS_OK, "17");
    world_pass(SECOND_US);
    world_answer_survey(STATUS_UNAVAILABLE, "23");
    world_pass(SECOND_US);
    ck_assert_uint_eq(world_under_way(WORLD_SURVEY), 0);
    surveyor_run(surveyor);
    ck_assert_str_eq(world_call(WORLD_SURVEY)->cursor, "");
}
END_TEST

START_TEST(a_survey_takes_more_of_the_time_the_older_its_last_result_is)
{
    surveyor_run(surveyor);
    world_pass(2000);
    world_answer_survey(STATUS_OK, "17");
    int64_t first_us = world_next_timer_us();
    ck_assert_int_eq(first_us, pace_pause_us(2000, 2));
    world_pass(first_us);
    world_pass(2000);
    for (int i = 0; i < 1000; i++) {
        world_answer_survey(STATUS_OK, "23");
        world_pass(world_next_timer_us());
        world_pass(2000);
    }
    world_answer_survey(STATUS_OK, "29");
    ck_assert_int_eq(world_next_timer_us(), pace_pause_us(2000, PACE_LATE_MS));
    ck_assert_int_lt(world_next_timer_us(), first_us);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("upkeep");
    TCase *tests = tcase_create("upkeep");
    tcase_add_checked_fixture(tests, upkeep_setup, upkeep_teardown);
    tcase_add_test(tests, keys_are_forgotten_until_a_step_is_not_full);
    tcase_add_test(tests, a_step_of_forgetting_that_failed_ends_it_until_the_next_run);
    tcase_add_test(tests, a_sweep_goes_on_while_its_steps_are_full);
    tcase_add_test(tests, dead_jobs_that_a_bound_removes_are_worth_a_warning);
    tcase_add_test(tests, a_sweep_that_removed_nothing_is_silent);
    tcase_add_test(tests, a_step_of_a_sweep_that_failed_ends_it_and_tells_its_part);
    tcase_add_test(tests, a_survey_goes_on_at_its_cursor_to_its_end);
    tcase_add_test(tests, a_survey_that_failed_begins_anew_with_the_next_run);
    tcase_add_test(tests, a_survey_takes_more_of_the_time_the_older_its_last_result_is);
    suite_add_tcase(suite, tests);
    return suite;
}

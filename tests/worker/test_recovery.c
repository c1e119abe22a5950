/* A recovery: bounded steps, one after the other, for as long as it may. */
#include "worker/recovery.h"

#include "base/clock.h"
#include "support/suite.h"
#include "worker/pace.h"
#include "worker/world.h"

static struct recovery *recovery;
static bool may;

static bool may_recover(void *arg, int64_t *now_ms)
{
    (void)arg;
    *now_ms = world_redis_ms();
    return may;
}

static void setup(void)
{
    world_begin();
    may = true;
    recovery = recovery_new(NULL, world_shard(0), NULL, may_recover, NULL);
}

static void teardown(void)
{
    recovery_free(recovery);
}

static void answer(size_t count, bool is_full)
{
    world_answer_recover(STATUS_OK, (struct shard_recovered){.count = count, .is_full = is_full});
}

START_TEST(a_step_that_was_full_is_followed_by_the_next_after_a_pause)
{
    recovery_run(recovery);
    world_pass(2000);
    answer(100, true);
    ck_assert_uint_eq(world_under_way(WORLD_RECOVER), 0);
    world_pass(pace_pause_us(2000, 0) - 1);
    ck_assert_uint_eq(world_under_way(WORLD_RECOVER), 0);
    world_pass(1);
    ck_assert_uint_eq(world_under_way(WORLD_RECOVER), 1);
    answer(7, false);
    world_pass(10000000);
    ck_assert_uint_eq(world_made(WORLD_RECOVER), 2);
    ck_assert_uint_eq(world_counter(METRICS_COUNTER_RECOVERED), 107);
    ck_assert_uint_eq(world_logged("leases_recovered"), 1);
}
END_TEST

START_TEST(only_one_is_under_way)
{
    recovery_run(recovery);
    recovery_run(recovery);
    ck_assert_uint_eq(world_under_way(WORLD_RECOVER), 1);
    answer(1, true);
    recovery_run(recovery); /* in the pause */
    ck_assert_uint_eq(world_under_way(WORLD_RECOVER), 0);
}
END_TEST

START_TEST(nothing_is_recovered_while_it_may_not)
{
    may = false;
    recovery_run(recovery);
    ck_assert_uint_eq(world_made(WORLD_RECOVER), 0);
    may = true;
    recovery_run(recovery);
    ck_assert_uint_eq(world_made(WORLD_RECOVER), 1);
}
END_TEST

START_TEST(it_is_asked_before_each_step_whether_it_may)
{
    recovery_run(recovery);
    may = false;
    answer(100, true);
    world_pass(1000000);
    ck_assert_uint_eq(world_made(WORLD_RECOVER), 1);
}
END_TEST

START_TEST(a_step_that_failed_ends_it_until_the_next_run)
{
    recovery_run(recovery);
    world_answer_recover(STATUS_STALE, (struct shard_recovered){.is_full = true});
    world_pass(1000000);
    ck_assert_uint_eq(world_made(WORLD_RECOVER), 1);
    recovery_run(recovery);
    ck_assert_uint_eq(world_made(WORLD_RECOVER), 2);
}
END_TEST

START_TEST(jobs_that_lost_too_many_consumers_are_told_as_dead)
{
    static const struct slice dead[] = {{"t/a", 3}, {"t/b", 3}};
    recovery_run(recovery);
    world_answer_recover(STATUS_OK, (struct shard_recovered){.count = 5, .dead = dead, .dead_count = 2});
    ck_assert_uint_eq(world_ends(METRICS_END_DEAD), 2);
    ck_assert_uint_eq(world_logged("job_dead"), 2);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("recovery");
    TCase *tests = tcase_create("recovery");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_step_that_was_full_is_followed_by_the_next_after_a_pause);
    tcase_add_test(tests, only_one_is_under_way);
    tcase_add_test(tests, nothing_is_recovered_while_it_may_not);
    tcase_add_test(tests, it_is_asked_before_each_step_whether_it_may);
    tcase_add_test(tests, a_step_that_failed_ends_it_until_the_next_run);
    tcase_add_test(tests, jobs_that_lost_too_many_consumers_are_told_as_dead);
    suite_add_tcase(suite, tests);
    return suite;
}

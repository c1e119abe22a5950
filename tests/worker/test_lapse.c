/* Tests that workers' leases that have run out are ended under their nonces, in bounded steps. */
#include "worker/recovery.h"

#include "job/delivery/delivery_form.h"
#include "support/suite.h"
#include "worker/world.h"

static const struct delivery_forms forms = {{&delivery_form_standard}};
static struct recovery *recovery;
static bool may;

static bool may_run(void *arg, int64_t *now_ms)
{
    (void)arg;
    *now_ms = world_redis_ms();
    return may;
}

static void setup(void)
{
    static const struct retry_schedule schedule = {.count = 0};
    world_begin();
    may = true;
    recovery = recovery_new(NULL, world_shard(0), &forms, &schedule, NULL, may_run, NULL);
}

static void teardown(void)
{
    recovery_free(recovery);
}

static const struct shard_lost_job jobs[] = {{.id = SLICE_INIT("t/a"), .nonce = {"p1"}},
                                             {.id = SLICE_INIT("t/b"), .nonce = {"p2"}}};

static void answer(size_t count, bool is_full)
{
    world_answer_recover_workers(STATUS_OK,
                                 (struct shard_lost){.jobs = jobs, .count = count, .is_full = is_full});
}

START_TEST(each_lease_is_ended_under_its_nonce)
{
    recovery_run(recovery);
    ck_assert_int_eq(world_call(WORLD_RECOVER_WORKERS)->expected_ms, world_redis_ms());
    answer(2, false);
    ck_assert_uint_eq(world_under_way(WORLD_END_LOST), 2);
    ck_assert_str_eq(world_call(WORLD_END_LOST)->id, "t/a");
    ck_assert_str_eq(world_call(WORLD_END_LOST)->nonce, "p1");
    world_answer(WORLD_END_LOST, STATUS_OK);
    ck_assert_str_eq(world_call(WORLD_END_LOST)->nonce, "p2");
    world_answer(WORLD_END_LOST, STATUS_STALE);
    ck_assert_uint_eq(world_logged("leases_expired"), 1);
    world_pass(10000000);
    ck_assert_uint_eq(world_made(WORLD_RECOVER_WORKERS), 1);
}
END_TEST

START_TEST(the_next_step_waits_for_all_ends)
{
    recovery_run(recovery);
    answer(2, true);
    world_answer(WORLD_END_LOST, STATUS_OK);
    recovery_run(recovery);
    world_pass(10000000);
    ck_assert_uint_eq(world_made(WORLD_RECOVER_WORKERS), 1);
    world_answer(WORLD_END_LOST, STATUS_OK);
    world_pass(10000000);
    ck_assert_uint_eq(world_made(WORLD_RECOVER_WORKERS), 2);
    answer(0, false);
    world_pass(10000000);
    ck_assert_uint_eq(world_made(WORLD_RECOVER_WORKERS), 2);
}
END_TEST

/* If a step could end none of its leases, another step would list the same leases again at once. So no step
 * follows. */
START_TEST(a_step_that_ends_nothing_is_the_last_one)
{
    recovery_run(recovery);
    answer(2, true);
    world_answer(WORLD_END_LOST, STATUS_NO_MEMORY);
    world_answer(WORLD_END_LOST, STATUS_UNKNOWN);
    world_pass(10000000);
    ck_assert_uint_eq(world_made(WORLD_RECOVER_WORKERS), 1);
    recovery_run(recovery);
    ck_assert_uint_eq(world_made(WORLD_RECOVER_WORKERS), 2);
}
END_TEST

START_TEST(nothing_is_ended_in_a_quiet_time_or_after_a_failure)
{
    may = false;
    recovery_run(recovery);
    ck_assert_uint_eq(world_made(WORLD_RECOVER_WORKERS), 0);
    may = true;
    recovery_run(recovery);
    world_answer_recover_workers(STATUS_STALE, (struct shard_lost){.is_full = true});
    world_pass(10000000);
    ck_assert_uint_eq(world_made(WORLD_RECOVER_WORKERS), 1);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("lapse");
    TCase *tests = tcase_create("lapse");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, each_lease_is_ended_under_its_nonce);
    tcase_add_test(tests, the_next_step_waits_for_all_ends);
    tcase_add_test(tests, a_step_that_ends_nothing_is_the_last_one);
    tcase_add_test(tests, nothing_is_ended_in_a_quiet_time_or_after_a_failure);
    suite_add_tcase(suite, tests);
    return suite;
}

/* Tests that a recovery makes bounded steps, one after the other, until lease_sweep_may_fn allows no further
 * step. */
#include "base/system.h"
#include "job/delivery/callback_job.h"
#include "job/delivery/delivery_form.h"
#include "support/suite.h"
#include "support/without_head.h"
#include "worker/recovery.h"
#include "worker/sweep.h"
#include "worker/world.h"

static const struct delivery_forms forms = {{&delivery_form_standard}};
static const struct retry_schedule schedule = {.count = 0};
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
    recovery = recovery_new(NULL, world_shard(0), &forms, &schedule, NULL, may_recover, NULL);
}

static void teardown(void)
{
    recovery_free(recovery);
}

static void answer(size_t count, bool is_full)
{
    world_answer_recover(STATUS_OK, (struct shard_lost){.number = count, .is_full = is_full});
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
    recovery_run(recovery); /* called during the pause between two steps */
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
    world_answer_recover(STATUS_STALE, (struct shard_lost){.is_full = true});
    world_pass(1000000);
    ck_assert_uint_eq(world_made(WORLD_RECOVER), 1);
    recovery_run(recovery);
    ck_assert_uint_eq(world_made(WORLD_RECOVER), 2);
}
END_TEST

static struct shard_lost_job doomed_job(struct shard_claimed job)
{
    return (struct shard_lost_job){job.id, job.record, job.settings, .nonce = {"!n7"}};
}

static void list_doomed(struct shard_claimed first, struct shard_claimed second, bool is_full)
{
    struct shard_lost_job doomed[] = {doomed_job(first), doomed_job(second)};
    world_answer_recover(
        STATUS_OK, (struct shard_lost){
                       .now_ms = 1700000000123, .number = 5, .jobs = doomed, .count = 2, .is_full = is_full});
}

#define JOB   "{\"createdAt\":1,\"url\":\"http://h/\"}"
#define TELLS "{\"onDead\":\"http://h/dead\"}"

START_TEST(jobs_that_lost_too_many_consumers_are_buried_with_a_callback)
{
    recovery_run(recovery);
    list_doomed(world_job("t/a", JOB, TELLS), world_job("t/b", JOB, ""), false);
    const struct world_call *call = world_call(WORLD_BURY);
    ck_assert_str_eq(call->id, "t/a");
    ck_assert_str_eq(call->nonce, "!n7");
    ck_assert_str_eq(call->record, JOB);
    ck_assert_str_eq(call->follow_id, "t~callbacks/a~dead~n7");
    ck_assert_str_eq(
        without_head(call->follow_record),
        "\"url\":\"http://h/dead\",\"body\":{\"callback\":\"onDead\",\"topic\":\"t\",\"jobId\":\"a\","
        "\"outcome\":\"dead\",\"reason\":\"consumer_lost\",\"attempts\":0,"
        "\"createdAt\":\"1970-01-01T00:00:00.001Z\",\"endedAt\":\"2023-11-14T22:13:20.123Z\","
        "\"lastAttempts\":[]}}");
    ck_assert_uint_eq(world_ends(METRICS_END_DEAD), 0);
    world_answer(WORLD_BURY, STATUS_OK);
    call = world_call(WORLD_BURY);
    ck_assert_str_eq(call->id, "t/b");
    ck_assert_str_eq(call->follow_id, "");
    world_answer(WORLD_BURY, STATUS_OK);
    ck_assert_uint_eq(world_ends(METRICS_END_DEAD), 2);
    ck_assert_uint_eq(world_logged("job_dead"), 2);
    ck_assert_uint_eq(world_logged("leases_recovered"), 1);
}
END_TEST

#define STEP "{\"createdAt\":1,\"url\":\"http://h/\",\"form\":\"loud\",\"workflow\":\"w\"}"

static bool tell_elements(const struct callback_report *report, bool is_dead, struct slice url,
                          struct callback_job *callback)
{
    ck_assert(is_dead);
    buffer_append(&callback->id, SLICE("t~callbacks/told"));
    buffer_append(&callback->record, report->elements);
    (void)url;
    return true;
}

static const struct delivery_form loud = {.name = SLICE_INIT("loud"), .write_callback = tell_elements};

START_TEST(the_callback_of_a_step_has_the_elements_of_its_workflow)
{
    recovery_free(recovery);
    static const struct delivery_forms both = {{&delivery_form_standard, &loud}};
    recovery = recovery_new(NULL, world_shard(0), &both, &schedule, NULL, may_recover, NULL);
    recovery_run(recovery);
    list_doomed(world_job("t/a", STEP, TELLS), world_job("t/b", STEP, TELLS), false);
    ck_assert_uint_eq(world_under_way(WORLD_BURY), 0);
    world_answer_arrive(STATUS_OK, (struct workflow_input){INPUT_LIST, 5, SLICE("[{\"b\":1}]")});
    world_answer_arrive(STATUS_UNAVAILABLE, (struct workflow_input){.kind = INPUT_OVER});
    ck_assert_uint_eq(world_under_way(WORLD_BURY),
                      1); /* only one burial; the other job is listed again later */
    ck_assert_str_eq(world_call(WORLD_BURY)->id, "t/a");
    ck_assert_str_eq(world_call(WORLD_BURY)->follow_record, "[{\"b\":1}]");
    world_answer(WORLD_BURY, STATUS_OK);
    recovery_run(recovery);
    ck_assert_uint_eq(world_under_way(WORLD_RECOVER), 1);
}
END_TEST

START_TEST(a_death_counts_only_once_it_is_recorded)
{
    recovery_run(recovery);
    list_doomed(world_job("t/a", JOB, ""), world_job("t/b", JOB, ""), false);
    world_answer(WORLD_BURY, STATUS_STALE);
    world_answer(WORLD_BURY, STATUS_UNKNOWN);
    ck_assert_uint_eq(world_ends(METRICS_END_DEAD), 0);
    ck_assert_uint_eq(world_logged("job_dead"), 0);
    recovery_run(recovery); /* the job is listed again when its lease has run out */
    ck_assert_uint_eq(world_under_way(WORLD_RECOVER), 1);
}
END_TEST

START_TEST(the_next_step_waits_for_the_burials_of_the_one_before)
{
    recovery_run(recovery);
    list_doomed(world_job("t/a", JOB, ""), world_job("t/b", JOB, ""), true);
    world_answer(WORLD_BURY, STATUS_OK);
    world_pass(1000000);
    ck_assert_uint_eq(world_made(WORLD_RECOVER), 1);
    world_answer(WORLD_BURY, STATUS_OK);
    world_pass(1000000);
    ck_assert_uint_eq(world_made(WORLD_RECOVER), 2);
}
END_TEST

START_TEST(what_only_another_version_knows_is_left_to_it)
{
    recovery_run(recovery);
    list_doomed(world_job("t/a", JOB, "{\"needs\":[\"later\"]}"), world_job("t/b", "no JSON", "no JSON"),
                false);
    ck_assert_uint_eq(world_under_way(WORLD_BURY), 1);
    ck_assert_str_eq(world_call(WORLD_BURY)->id,
                     "t/b"); /* no version can read these settings, so the job is buried */
    world_answer(WORLD_BURY, STATUS_OK);
    ck_assert_uint_eq(world_ends(METRICS_END_DEAD), 1);
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
    tcase_add_test(tests, jobs_that_lost_too_many_consumers_are_buried_with_a_callback);
    tcase_add_test(tests, the_callback_of_a_step_has_the_elements_of_its_workflow);
    tcase_add_test(tests, a_death_counts_only_once_it_is_recorded);
    tcase_add_test(tests, the_next_step_waits_for_the_burials_of_the_one_before);
    tcase_add_test(tests, what_only_another_version_knows_is_left_to_it);
    suite_add_tcase(suite, tests);
    return suite;
}

/* Tests the role that fires schedules: when it looks for due schedules, which of them it fires, and which it
 * leaves to the owner of the carry lock. */
#include "worker/firing.h"

#include "job/group.h"
#include "support/suite.h"
#include "support/without_head.h"
#include "worker/sweep.h"
#include "worker/world.h"

#define EACH_MINUTE                                                                                          \
    "{\"createdAt\":1000,\"every\":60,\"misfire\":\"all\",\"grace\":1,\"job\":{\"url\":\"http://h/\"}}"
#define TO_GROUP                                                                                             \
    "{\"createdAt\":1000,\"every\":60,\"grace\":1,\"misfire\":\"all\",\"group\":\"g\",\"needs\":["           \
    "\"groups\"],"                                                                                           \
    "\"job\":{\"url\":\"\",\"body\":1}}"
#define MINUTE_MS INT64_C(60000)
#define TIMER_US  INT64_C(1000) /* longer than the delay that the timer adds to a wait */

/* Writes the jobs of the form "loud", whose groups have two endpoints. */
static enum status write_loud_jobs(const struct job *job, struct slice settings, struct group_jobs *jobs)
{
    static const char *const urls[] = {"http://1/", "http://2/"};
    ck_assert_str_eq(settings.data, "{\"note\":1}");
    for (size_t i = 0; i < 2; i++) {
        struct job copy = *job;
        copy.url = slice_of(urls[i]);
        ck_assert_int_eq(group_jobs_add(jobs, i ? SLICE("2") : SLICE("1"), &copy), STATUS_OK);
    }
    return STATUS_OK;
}

static const struct delivery_form loud = {.name = SLICE_INIT("loud"), .write_group_jobs = write_loud_jobs},
                                  quiet = {.name = SLICE_INIT("quiet")};
static const struct delivery_forms forms = {{&delivery_form_standard, &loud, &quiet}};

static struct firing *firing;
static int64_t next_ms; /* first time of the schedule */

static void set_up(void)
{
    world_begin();
    firing = firing_new(NULL, NULL, world_shard(0), &forms, NULL);
    next_ms = world_redis_ms() - (world_redis_ms() - 1000) % MINUTE_MS + MINUTE_MS;
}

static void tear_down(void)
{
    firing_free(firing);
}

static void note(int64_t at_ms, bool is_owner)
{
    firing_note(firing, at_ms, world_redis_ms() * 1000, is_owner);
}

static void pass_to(int64_t at_ms)
{
    world_pass((at_ms - world_redis_ms()) * 1000 + TIMER_US);
}

static struct store_recurring each_minute(const char *record)
{
    return (struct store_recurring){.id = SLICE("t/s"),
                                    .record = slice_of(record),
                                    .next_ms = next_ms,
                                    .now_ms = world_redis_ms(),
                                    .tag = SLICE("tag")};
}

static void answer_with(struct store_recurring schedule)
{
    world_answer_fires(STATUS_OK,
                       (struct shard_fires){.due = 1, .later_ms = -1, .schedules = &schedule, .count = 1});
}

static void answer_none(int64_t later_ms)
{
    world_answer_fires(STATUS_OK, (struct shard_fires){.later_ms = later_ms});
}

START_TEST(the_owner_fires_when_the_time_has_come)
{
    note(next_ms, true);
    world_pass((next_ms - world_redis_ms()) * 1000 - TIMER_US);
    ck_assert_uint_eq(world_made(WORLD_FIRES), 0);
    pass_to(next_ms);
    ck_assert_uint_gt(world_call(WORLD_FIRES)->max, 0);
    answer_with(each_minute(EACH_MINUTE));
    const struct world_call *call = world_call(WORLD_FIRE);
    ck_assert_int_eq(call->fire.kind, FIRED_DONE);
    ck_assert_int_eq(call->fire.expected_ms, next_ms);
    ck_assert_int_eq(call->fire.time_ms, next_ms);
    ck_assert_int_eq(call->fire.next_ms, next_ms + MINUTE_MS);
    ck_assert(!call->fire.is_missed);
    ck_assert_str_eq(call->id, "t/s");
    ck_assert_int_eq(strncmp(call->job, "t/s~", 4), 0);
    ck_assert_str_eq(without_head(call->record), "\"url\":\"http://h/\"}");
    world_answer_fire(STATUS_OK);
    ck_assert_uint_eq(world_counter(METRICS_COUNTER_FIRED), 1);
    /* A further step finds no due schedule; then the role waits for the next time. */
    world_pass(PACE_LATE_MS * INT64_C(1000));
    answer_none(next_ms + MINUTE_MS);
    pass_to(next_ms + MINUTE_MS);
    ck_assert_uint_eq(world_under_way(WORLD_FIRES), 1);
    answer_none(-1);
    world_pass(10 * MINUTE_MS * 1000);
    ck_assert_uint_eq(world_made(WORLD_FIRES), 3);
}
END_TEST

START_TEST(missed_times_are_made_one_after_the_other)
{
    note(next_ms, true);
    pass_to(next_ms + 3 * MINUTE_MS);
    answer_with(each_minute(EACH_MINUTE));
    ck_assert_uint_eq(world_under_way(WORLD_FIRE), 4);
    for (int i = 0; i < 4; i++) {
        const struct store_fire *fire = &world_call(WORLD_FIRE)->fire;
        ck_assert_int_eq(fire->expected_ms, next_ms + i * MINUTE_MS);
        ck_assert_int_eq(fire->time_ms, fire->expected_ms);
        ck_assert_int_eq(fire->next_ms, fire->expected_ms + MINUTE_MS);
        ck_assert_uint_eq(world_under_way(WORLD_FIRES), 0);
        world_answer_fire(i == 1 ? STATUS_STALE : STATUS_OK); /* STALE: another process has fired this time */
    }
    ck_assert_uint_eq(world_counter(METRICS_COUNTER_FIRED), 3);
}
END_TEST

START_TEST(a_standby_fires_only_what_the_owner_leaves)
{
    struct store_recurring schedule;
    note(next_ms, false);
    pass_to(next_ms);
    ck_assert_uint_eq(world_made(WORLD_FIRES), 0);
    pass_to(next_ms + FIRING_PATIENCE_MS);
    ck_assert_uint_eq(world_call(WORLD_FIRES)->max,
                      0); /* the standby asks only for the number of due schedules */
    world_answer_fires(STATUS_OK, (struct shard_fires){.due = 5, .later_ms = -1});
    pass_to(next_ms + 2 * FIRING_PATIENCE_MS + 1);
    world_answer_fires(
        STATUS_OK,
        (struct shard_fires){.due = 4, .later_ms = -1}); /* the number has changed, so the owner fires */
    pass_to(next_ms + 3 * FIRING_PATIENCE_MS + 2);
    world_answer_fires(
        STATUS_OK,
        (struct shard_fires){.due = 4,
                             .later_ms = -1}); /* the number is the same, so the owner has stopped firing */
    world_pass(PACE_LATE_MS * INT64_C(1000));
    ck_assert_uint_gt(world_call(WORLD_FIRES)->max, 0);
    schedule = each_minute(EACH_MINUTE);
    answer_with(schedule);
    ck_assert_uint_eq(world_under_way(WORLD_FIRE), 1);
    world_answer_fire(STATUS_OK);
}
END_TEST

START_TEST(an_earlier_time_wakes_it)
{
    note(next_ms + MINUTE_MS, true);
    world_wake_fire(0, next_ms);
    world_wake_fire(0, next_ms + 10); /* a later time than the timer's, so it changes nothing */
    pass_to(next_ms);
    ck_assert_uint_eq(world_under_way(WORLD_FIRES), 1);
    answer_none(-1);
}
END_TEST

START_TEST(a_step_of_the_clock_of_redis_delays_nothing)
{
    next_ms += MINUTE_MS;
    note(next_ms, true);
    world_step_redis_clock(2 * MINUTE_MS);
    note(next_ms, true);
    world_pass(TIMER_US);
    ck_assert_uint_eq(world_under_way(WORLD_FIRES), 1);
    answer_none(next_ms + 10 * MINUTE_MS);
    world_step_redis_clock(-5 * MINUTE_MS);
    note(next_ms + 10 * MINUTE_MS, true);
    pass_to(next_ms + 10 * MINUTE_MS - 2 * TIMER_US / 1000);
    ck_assert_uint_eq(world_made(WORLD_FIRES), 1);
    pass_to(next_ms + 10 * MINUTE_MS);
    ck_assert_uint_eq(world_made(WORLD_FIRES), 2);
}
END_TEST

START_TEST(a_schedule_that_cannot_be_read_is_held)
{
    static const char *const cases[][2] = {
        {"{", "schedule_unreadable"},
        {"{\"createdAt\":1000,\"needs\":[\"flight\"],\"every\":60,\"job\":{}}", "schedule_unserved"},
        {"{\"createdAt\":1000,\"cron\":\"@daily\",\"timezone\":\"No/Where\",\"job\":{\"url\":\"http://h/\"}}",
         "schedule_zone_unknown"},
    };
    note(next_ms, true);
    pass_to(next_ms);
    answer_with(each_minute(cases[_i][0]));
    const struct store_fire *fire = &world_call(WORLD_FIRE)->fire;
    ck_assert_int_eq(fire->kind, FIRED_HELD);
    ck_assert_int_eq(fire->expected_ms, next_ms);
    ck_assert_int_eq(fire->time_ms, next_ms);
    ck_assert_int_eq(fire->next_ms, world_redis_ms() + FIRING_HOLD_MS);
    world_answer_fire(STATUS_OK);
    ck_assert_uint_eq(world_logged(cases[_i][1]), 1);
    ck_assert_uint_eq(world_counter(METRICS_COUNTER_FIRES_HELD), 1);
    ck_assert_uint_eq(world_counter(METRICS_COUNTER_FIRED), 0);
}
END_TEST

/* The clock of Redis was two hours ahead, so the schedule skipped its times of the next hour. Its next time
 * is two hours away. */
static struct store_recurring ahead(const char *record, char progress[100])
{
    struct store_recurring schedule = each_minute(record);
    snprintf(progress, 100, "%lld %lld %lld %lld", (long long)(next_ms + 60 * MINUTE_MS),
             (long long)(next_ms + 120 * MINUTE_MS), (long long)next_ms,
             (long long)(next_ms + 60 * MINUTE_MS));
    schedule.next_ms = next_ms + 120 * MINUTE_MS;
    schedule.progress = slice_of(progress);
    return schedule;
}

START_TEST(after_a_step_back_a_schedule_goes_on_with_a_time_that_was_skipped)
{
    static const char *const records[] = {EACH_MINUTE, TO_GROUP};
    char progress[100], expected[100];
    struct store_recurring schedule = ahead(records[_i], progress);
    note(world_redis_ms(), true);
    world_pass(TIMER_US);
    answer_with(schedule);
    const struct store_fire *fire = &world_call(WORLD_FIRE)->fire;
    snprintf(expected, sizeof expected, "0%s", strchr(progress, ' '));
    ck_assert_int_eq(fire->kind, FIRED_MOVED);
    ck_assert_int_eq(fire->expected_ms, schedule.next_ms);
    ck_assert_int_eq(fire->next_ms, next_ms);
    ck_assert_msg(slice_equal(fire->progress, slice_of(expected)), "%.*s", SLICE_ARG(fire->progress));
    world_answer_fire(STATUS_OK);
    ck_assert_uint_eq(world_counter(METRICS_COUNTER_FIRED), 0);
    world_pass(PACE_LATE_MS * INT64_C(1000));
    answer_none(next_ms);
    /* Then the first of the skipped times comes, and is fired. The progress still has the skipped times after
     * it. */
    pass_to(next_ms);
    schedule.next_ms = next_ms;
    schedule.now_ms = world_redis_ms();
    schedule.record = slice_of(EACH_MINUTE);
    schedule.progress = slice_of(expected);
    answer_with(schedule);
    fire = &world_call(WORLD_FIRE)->fire;
    snprintf(progress, sizeof progress, "0 %lld %lld %lld", (long long)(next_ms + 120 * MINUTE_MS),
             (long long)(next_ms + MINUTE_MS), (long long)(next_ms + 60 * MINUTE_MS));
    ck_assert_int_eq(fire->kind, FIRED_DONE);
    ck_assert_int_eq(fire->time_ms, next_ms);
    ck_assert_int_eq(fire->next_ms, next_ms + MINUTE_MS);
    ck_assert_msg(slice_equal(fire->progress, slice_of(progress)), "%.*s", SLICE_ARG(fire->progress));
    world_answer_fire(STATUS_OK);
}
END_TEST

/* If a schedule is held or cannot be read, its times are not known. So the role tries the schedule now. */
START_TEST(after_a_step_back_a_held_schedule_is_tried_at_once)
{
    char progress[100];
    struct store_recurring schedule = ahead(_i ? "{" : EACH_MINUTE, progress);
    if (_i == 0) {
        schedule.last.outcome = FIRED_HELD;
        schedule.last.time_ms = schedule.now_ms - 1;
    }
    note(world_redis_ms(), true);
    world_pass(TIMER_US);
    schedule.now_ms = world_redis_ms();
    answer_with(schedule);
    const struct store_fire *fire = &world_call(WORLD_FIRE)->fire;
    ck_assert_int_eq(fire->kind, FIRED_MOVED);
    ck_assert_int_eq(fire->expected_ms, schedule.next_ms);
    ck_assert_int_eq(fire->next_ms, schedule.now_ms);
    ck_assert(slice_starts_with(fire->progress, SLICE("0 ")));
    world_answer_fire(STATUS_OK);
    ck_assert_uint_eq(world_counter(METRICS_COUNTER_FIRES_HELD), 0);
}
END_TEST

/* The limit of jobs is reached, or Redis does not answer, so the step makes no progress. */
START_TEST(a_step_without_progress_is_tried_again_a_second_later)
{
    static const enum status statuses[] = {STATUS_FULL, STATUS_UNAVAILABLE, STATUS_UNKNOWN};
    note(next_ms, true);
    pass_to(next_ms);
    answer_with(each_minute(EACH_MINUTE));
    world_answer_fire(statuses[_i]);
    world_pass(900000);
    ck_assert_uint_eq(world_under_way(WORLD_FIRES), 0);
    world_pass(200000);
    world_answer_fires(STATUS_UNAVAILABLE, (struct shard_fires){.later_ms = -1});
    world_pass(1100000);
    ck_assert_uint_eq(world_under_way(WORLD_FIRES), 1);
    answer_none(-1);
}
END_TEST

START_TEST(nothing_is_fired_after_stop)
{
    note(next_ms, true);
    pass_to(next_ms);
    firing_stop(firing);
    answer_with(each_minute(EACH_MINUTE));
    note(next_ms + 1, false);
    world_wake_fire(0, next_ms + 1);
    world_pass(10 * MINUTE_MS * 1000);
    ck_assert_uint_eq(world_made(WORLD_FIRE), 0);
    ck_assert_uint_eq(world_made(WORLD_FIRES), 1);
}
END_TEST

#define TWO_ENDPOINTS "{\"endpoints\":{\"a\":{\"url\":\"http://a/\"},\"b\":{\"url\":\"http://b/\"}}}"

START_TEST(a_job_goes_to_each_endpoint_of_a_group)
{
    note(next_ms, true);
    pass_to(next_ms + MINUTE_MS);
    answer_with(each_minute(TO_GROUP));
    ck_assert_uint_eq(world_under_way(WORLD_FIRE), 0);
    ck_assert_str_eq(world_call(WORLD_GROUP)->id, "g");
    world_answer_group(STATUS_OK, TWO_ENDPOINTS);
    ck_assert_uint_eq(world_under_way(WORLD_FIRE), 2); /* two times are fired */
    for (int i = 0; i < 2; i++) {
        const struct world_call *call = world_call(WORLD_FIRE);
        ck_assert_int_eq(call->fire.kind, FIRED_DONE);
        ck_assert_int_eq(call->fire.time_ms, next_ms + i * MINUTE_MS);
        ck_assert_uint_eq(call->fire.count, 2);
        ck_assert_str_eq(without_head(call->record),
                         "a \"url\":\"http://a/\",\"body\":1}\nb \"url\":\"http://b/\",\"body\":1}\n");
        ck_assert_int_eq(strncmp(call->job, "t/s~", 4), 0);
        world_answer_fire(STATUS_OK);
    }
    ck_assert_uint_eq(world_counter(METRICS_COUNTER_FIRED), 2);
}
END_TEST

START_TEST(a_group_that_cannot_be_sent_to)
{
    static const struct {
        enum status status;
        const char *text, *event;
        enum fired kind;
    } cases[] = {
        {STATUS_OK, "", "schedule_refused", FIRED_NO_GROUP},
        {STATUS_OK, "{\"endpoints\":{\"a\":{\"url\":\"http://a/\",\"method\":\"GET\"}}}", "schedule_refused",
         FIRED_UNSENDABLE},
        {STATUS_OK, "{", "schedule_group_unreadable", FIRED_HELD},
        {STATUS_OK, "{\"needs\":[\"flight\"],\"endpoints\":{}}", "schedule_group_unreadable", FIRED_HELD},
        {STATUS_UNAVAILABLE, "", "schedule_group_unavailable", FIRED_HELD},
    };
    note(next_ms, true);
    pass_to(next_ms);
    answer_with(each_minute(TO_GROUP));
    world_answer_group(cases[_i].status, cases[_i].text);
    const struct store_fire *fire = &world_call(WORLD_FIRE)->fire;
    bool is_held = cases[_i].kind == FIRED_HELD;
    ck_assert_int_eq(fire->kind, cases[_i].kind);
    ck_assert_int_eq(fire->expected_ms, next_ms);
    ck_assert_int_eq(fire->time_ms, next_ms);
    ck_assert_int_eq(fire->next_ms, is_held ? world_redis_ms() + FIRING_HOLD_MS : next_ms + MINUTE_MS);
    ck_assert_uint_eq(world_logged(cases[_i].event), 1);
    world_answer_fire(STATUS_OK);
    ck_assert_uint_eq(world_counter(METRICS_COUNTER_FIRES_HELD), is_held);
    ck_assert_uint_eq(world_counter(METRICS_COUNTER_FIRES_REFUSED), !is_held);
}
END_TEST

#define TO_GROUP_OF_FORM                                                                                     \
    "{\"createdAt\":1000,\"every\":60,\"group\":\"t~group.g\",\"needs\":[\"formGroups\"],"                   \
    "\"job\":{\"url\":\"\",\"form\":\"%s\"}}"

#define LOUD_JOB(name) name " \"url\":\"http://" name "/\",\"form\":\"loud\",\"needs\":[\"form\"]}\n"

START_TEST(a_form_makes_the_jobs_for_its_own_groups)
{
    static const struct {
        const char *form, *text;
        enum fired kind;
        size_t count;
    } cases[] = {
        {"loud", "{\"note\":1}", FIRED_DONE, 2},
        {"loud", "", FIRED_NO_GROUP, 0},
        {"quiet", "{\"note\":1}", FIRED_HELD, 0}, /* the form "quiet" has no groups of its own */
        {"unknown", "{\"note\":1}", FIRED_HELD, 0},
    };
    char record[512];
    snprintf(record, sizeof record, TO_GROUP_OF_FORM, cases[_i].form);
    note(next_ms, true);
    pass_to(next_ms);
    answer_with(each_minute(record));
    ck_assert_str_eq(world_call(WORLD_GROUP)->id, "t~group.g");
    world_answer_group(STATUS_OK, cases[_i].text);
    const struct world_call *call = world_call(WORLD_FIRE);
    ck_assert_int_eq(call->fire.kind, cases[_i].kind);
    ck_assert_uint_eq(call->fire.count, cases[_i].count);
    if (cases[_i].count)
        ck_assert_str_eq(without_head(call->record), LOUD_JOB("1") LOUD_JOB("2"));
    world_answer_fire(STATUS_OK);
}
END_TEST

START_TEST(no_group_is_sent_to_after_stop)
{
    note(next_ms, true);
    pass_to(next_ms);
    answer_with(each_minute(TO_GROUP));
    firing_stop(firing);
    world_answer_group(STATUS_OK, TWO_ENDPOINTS);
    ck_assert_uint_eq(world_made(WORLD_FIRE), 0);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("firing");
    TCase *tests = tcase_create("firing");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, the_owner_fires_when_the_time_has_come);
    tcase_add_test(tests, missed_times_are_made_one_after_the_other);
    tcase_add_test(tests, a_standby_fires_only_what_the_owner_leaves);
    tcase_add_test(tests, an_earlier_time_wakes_it);
    tcase_add_test(tests, a_step_of_the_clock_of_redis_delays_nothing);
    tcase_add_loop_test(tests, a_schedule_that_cannot_be_read_is_held, 0, 3);
    tcase_add_loop_test(tests, after_a_step_back_a_schedule_goes_on_with_a_time_that_was_skipped, 0, 2);
    tcase_add_loop_test(tests, after_a_step_back_a_held_schedule_is_tried_at_once, 0, 2);
    tcase_add_loop_test(tests, a_step_without_progress_is_tried_again_a_second_later, 0, 3);
    tcase_add_test(tests, nothing_is_fired_after_stop);
    tcase_add_test(tests, a_job_goes_to_each_endpoint_of_a_group);
    tcase_add_loop_test(tests, a_group_that_cannot_be_sent_to, 0, 5);
    tcase_add_loop_test(tests, a_form_makes_the_jobs_for_its_own_groups, 0, 4);
    tcase_add_test(tests, no_group_is_sent_to_after_stop);
    suite_add_tcase(suite, tests);
    return suite;
}

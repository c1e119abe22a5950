#include "support/errors.h"
#include "support/suite.h"

#include "base/timestamp.h"
#include "job/alert/alert.h"
#include "job/job.h"

#define URL    "\"url\":\"http://h/a\""
#define NOW_MS INT64_C(1893456000000)

static struct alert_rules rules;

static const struct alert_rule *rule_of(const char *text)
{
    struct job_errors errors;
    job_errors_clear(&errors);
    ck_assert_msg(alert_rules_parse(&errors, slice_of(text), &rules), "%s", text);
    ck_assert_uint_eq(rules.count, 1);
    return &rules.items[0];
}

static struct alert_facts topic_facts(void)
{
    return (struct alert_facts){.about = ALERT_OF_TOPIC,
                                .subject = SLICE("orders"),
                                .now_ms = NOW_MS,
                                .period = 100,
                                .due_ms = -1,
                                .quota = -1};
}

START_TEST(rules_have_defaults)
{
    static const char text[] = "[{\"on\":\"overdue\"," URL "}]";
    const struct alert_rule *rule = rule_of(text);
    ck_assert_int_eq(rule->after_ms, 300000);
    ck_assert(!rule->is_slack && rule->kind == ALERT_OVERDUE);
    alert_rules_fini(&rules);
    rule = rule_of("[{\"on\":\"failing\"," URL ",\"form\":\"slack\"}]");
    ck_assert(rule->share_ppm == 500000 && rule->attempts == 20 && rule->is_slack);
    alert_rules_fini(&rules);
    rule = rule_of("[{\"on\":\"certificateEnds\"," URL ",\"before\":\"30d\"}]");
    ck_assert_int_eq(rule->before_ms, INT64_C(30) * 86400000);
    alert_rules_fini(&rules);
}
END_TEST

START_TEST(stored_rules_that_are_not_known_are_left_out)
{
    ck_assert(alert_rules_read(SLICE("[{\"on\":\"later\"," URL "},{\"on\":\"died\"," URL "}]"), &rules));
    ck_assert_uint_eq(rules.count, 1);
    ck_assert_int_eq(rules.items[0].kind, ALERT_DIED);
    alert_rules_fini(&rules);
    ck_assert(!alert_rules_read(SLICE("{}"), &rules));
}
END_TEST

START_TEST(urls_are_shown_without_their_query)
{
    struct buffer out;
    buffer_init(&out, 1000);
    alert_rules_show(SLICE("[{\"on\":\"overdue\",\"url\":\"http://h/?s=1\",\"after\":\"1m\"}]"), &out);
    ck_assert_str_eq(buffer_text(&out), "[{\"on\":\"overdue\",\"url\":\"http://h/?***\",\"after\":60}]");
    buffer_fini(&out);
}
END_TEST

START_TEST(names_and_states_are_read_as_they_were_written)
{
    const struct alert_rule *rule = rule_of("[{\"on\":\"breakerOpened\"," URL "}]");
    struct alert_episode episode = {NOW_MS, 12, 100, 7}, read;
    char name[ALERT_NAME_SIZE], state[ALERT_STATE_SIZE];
    enum alert_kind kind;
    struct slice subject;
    alert_name_write(rule, SLICE("h:80/a b"), name);
    ck_assert(alert_name_read(slice_of(name), &kind, &subject));
    ck_assert(kind == ALERT_BREAKER_OPENED && slice_equal(subject, SLICE("h:80/a b")));
    ck_assert(!alert_name_read(SLICE("died orders"), &kind, &subject));
    ck_assert(!alert_name_read(SLICE("later orders 0123456789abcdef"), &kind, &subject));
    alert_episode_write(&episode, state);
    ck_assert(alert_episode_read(slice_of(state), &read));
    ck_assert(memcmp(&episode, &read, sizeof read) == 0);
    ck_assert(!alert_episode_read(SLICE("1 2 x 4"), &read));
    alert_rules_fini(&rules);
}
END_TEST

/* Decides again and again; each line has the deaths of the periods, and the state and the count that follow.
 */
START_TEST(deaths_of_consecutive_periods_are_one_episode)
{
    static const struct {
        const char *deaths;
        int64_t period;
        enum alert_change change;
        int64_t count;
    } steps[] = {
        {"", 100, ALERT_UNCHANGED, 0},
        {"100 3", 100, ALERT_FIRED, 3},
        {"100 3", 100, ALERT_UNCHANGED, 3},
        {"100 9", 100, ALERT_COUNTED, 9},
        {"100 10", 101, ALERT_COUNTED, 10},
        {"100 10 101 5", 101, ALERT_COUNTED, 15},
        {"100 10 101 6 103 2", 103, ALERT_COUNTED, 18},
        {"103 2", 104, ALERT_COUNTED, 18},
        {"103 2", 105, ALERT_RESOLVED, 18},
        {"103 2 107 1", 107, ALERT_FIRED, 1},
    };
    const struct alert_rule *rule = rule_of("[{\"on\":\"died\"," URL "}]");
    struct alert_episode episode, next;
    bool is_open = false;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct alert_facts facts = topic_facts();
        facts.deaths = slice_of(steps[i].deaths);
        facts.period = steps[i].period;
        enum alert_change change = alert_decide(rule, &facts, is_open ? &episode : NULL, &next);
        ck_assert_msg(change == steps[i].change, "step %zu: %d", i, change);
        ck_assert_msg(!change || next.count == steps[i].count, "step %zu: %d", i, (int)next.count);
        episode = next;
        is_open = is_open ? change != ALERT_RESOLVED : change == ALERT_FIRED;
    }
    alert_rules_fini(&rules);
}
END_TEST

static void check_change(const char *text, const struct alert_facts *facts, bool is_open,
                         enum alert_change expected)
{
    struct alert_episode old = {.since_ms = NOW_MS}, next;
    const struct alert_rule *rule = rule_of(text);
    ck_assert_int_eq(alert_decide(rule, facts, is_open ? &old : NULL, &next), expected);
    alert_rules_fini(&rules);
}

START_TEST(alerts_end_below_the_bound_at_which_they_begin)
{
    static const char overdue[] = "[{\"on\":\"overdue\",\"after\":10," URL "}]";
    static const char failing[] = "[{\"on\":\"failing\",\"share\":0.5,\"attempts\":10," URL "}]";
    static const char quota[] = "[{\"on\":\"quotaReached\"," URL "}]";
    struct alert_facts facts = topic_facts();
    facts.due_ms = NOW_MS - 9999;
    check_change(overdue, &facts, false, ALERT_UNCHANGED);
    check_change(overdue, &facts, true, ALERT_UNCHANGED);
    facts.due_ms = NOW_MS - 10000;
    check_change(overdue, &facts, false, ALERT_FIRED);
    facts.due_ms = NOW_MS - 4999;
    check_change(overdue, &facts, true, ALERT_RESOLVED);
    facts.failed = 6, facts.delivered = 3;
    check_change(failing, &facts, false, ALERT_UNCHANGED);
    check_change(failing, &facts, true, ALERT_UNCHANGED);
    facts.delivered = 4;
    check_change(failing, &facts, false, ALERT_FIRED);
    facts.delivered = 6;
    check_change(failing, &facts, false, ALERT_UNCHANGED);
    check_change(failing, &facts, true, ALERT_RESOLVED);
    facts.quota = 100, facts.pending = 99;
    check_change(quota, &facts, false, ALERT_UNCHANGED);
    facts.pending = 100;
    check_change(quota, &facts, false, ALERT_FIRED);
    facts.pending = 90;
    check_change(quota, &facts, true, ALERT_UNCHANGED);
    facts.pending = 89;
    check_change(quota, &facts, true, ALERT_RESOLVED);
    facts.quota = -1;
    check_change(quota, &facts, true, ALERT_RESOLVED);
}
END_TEST

START_TEST(a_durability_that_is_unknown_changes_nothing)
{
    static const char lost[] = "[{\"on\":\"durabilityLost\"," URL "}]";
    struct alert_facts facts = {
        .about = ALERT_OF_SHARD, .subject = SLICE("0"), .is_durability_unknown = true};
    check_change(lost, &facts, false, ALERT_UNCHANGED);
    check_change(lost, &facts, true, ALERT_UNCHANGED);
    facts.is_durability_unknown = false;
    check_change(lost, &facts, true, ALERT_RESOLVED);
    facts.lacks_durability = true;
    check_change(lost, &facts, false, ALERT_FIRED);
}
END_TEST

START_TEST(an_alert_is_not_about_its_own_receiver)
{
    struct alert_facts facts = {.about = ALERT_OF_RECEIVER, .subject = SLICE("h:80/a"), .opened_ms = 1};
    const struct alert_rule *rule = rule_of("[{\"on\":\"breakerOpened\"," URL "}]");
    ck_assert(!alert_rule_fits(rule, &facts));
    facts.subject = SLICE("other:80");
    ck_assert(alert_rule_fits(rule, &facts));
    facts.about = ALERT_OF_SHARD;
    ck_assert(!alert_rule_fits(rule, &facts));
    alert_rules_fini(&rules);
}
END_TEST

START_TEST(certificates_are_those_of_duepost_and_of_receivers)
{
    static const char ends[] = "[{\"on\":\"certificateEnds\",\"before\":60," URL "}]";
    struct alert_facts facts = {
        .about = ALERT_OF_RECEIVER, .subject = SLICE("h:80"), .has_certificate = true};
    const struct alert_rule *rule = rule_of(ends);
    ck_assert_int_eq(alert_about(ALERT_CERTIFICATE_ENDS, SLICE("0")), ALERT_OF_SHARD);
    ck_assert_int_eq(alert_about(ALERT_CERTIFICATE_ENDS, SLICE("[::1]:80")), ALERT_OF_RECEIVER);
    /* Also that of the alert's own url. The paths of a receiver have one certificate. */
    ck_assert(alert_rule_fits(rule, &facts));
    facts.subject = SLICE("h:80/a");
    ck_assert(!alert_rule_fits(rule, &facts));
    facts.about = ALERT_OF_SHARD, facts.subject = SLICE("0");
    ck_assert(alert_rule_fits(rule, &facts));
    alert_rules_fini(&rules);
    facts.certificate_left_ms = 60000;
    check_change(ends, &facts, false, ALERT_UNCHANGED);
    check_change(ends, &facts, true, ALERT_RESOLVED);
    facts.certificate_left_ms = 59999;
    check_change(ends, &facts, false, ALERT_FIRED);
    facts.has_certificate = false;
    check_change(ends, &facts, true, ALERT_RESOLVED);
}
END_TEST

START_TEST(a_report_says_what_has_happened)
{
    const struct alert_rule *rule = rule_of("[{\"on\":\"died\"," URL "}]");
    struct alert_facts facts = topic_facts();
    struct alert_episode episode = {.since_ms = NOW_MS - 1000, .count = 3};
    struct buffer record;
    char id[ALERT_ID_SIZE];
    struct job job;
    facts.dead[0] = SLICE("17");
    facts.dead[1] = SLICE("18");
    facts.dead_count = 2;
    buffer_init(&record, JOB_RECORD_MAX);
    buffer_append(&record, SLICE("{\"createdAt\":1,"));
    alert_job_write(rule, &facts, &episode, ALERT_FIRED, id, &record);
    ck_assert(slice_starts_with(slice_of(id), SLICE("duepost~alerts/died~")));
    ck_assert(slice_ends_with(slice_of(id), SLICE("~1893455999000~fired")));
    ck_assert_int_eq(job_read(slice_of(id), buffer_slice(&record), &job), STATUS_OK);
    ck_assert(slice_equal(job.body, SLICE("{\"alert\":\"died\",\"state\":\"fired\","
                                          "\"text\":\"orders: 3 jobs died: 17, 18 ...\",\"topic\":\"orders\","
                                          "\"at\":\"2030-01-01T00:00:00.000Z\","
                                          "\"since\":\"2029-12-31T23:59:59.000Z\","
                                          "\"count\":3,\"jobs\":[\"17\",\"18\"]}")));
    ck_assert(slice_equal(job.url, SLICE("http://h/a")));
    job_fini(&job);
    buffer_fini(&record);
    alert_rules_fini(&rules);
}
END_TEST

START_TEST(a_schedule_is_missed_from_its_time_on)
{
    static const char missed[] = "[{\"on\":\"missed\"," URL "}]";
    struct alert_facts facts = {.about = ALERT_OF_SCHEDULE,
                                .subject = SLICE("orders/a b"),
                                .now_ms = NOW_MS,
                                .missed_ms = NOW_MS + 1};
    check_change(missed, &facts, false, ALERT_UNCHANGED);
    check_change(missed, &facts, true, ALERT_RESOLVED);
    facts.missed_ms = NOW_MS;
    check_change(missed, &facts, false, ALERT_FIRED);
    check_change(missed, &facts, true, ALERT_UNCHANGED);
    facts.missed_ms = -1;
    check_change(missed, &facts, false, ALERT_UNCHANGED);
    check_change(missed, &facts, true, ALERT_RESOLVED);
    /* Facts about the topic say nothing about it. */
    const struct alert_rule *rule = rule_of(missed);
    ck_assert(alert_rule_fits(rule, &facts));
    facts.about = ALERT_OF_TOPIC;
    ck_assert(!alert_rule_fits(rule, &facts));
    alert_rules_fini(&rules);
}
END_TEST

static bool has_text(struct slice body, const char *text)
{
    return memmem(body.data, body.size, text, strlen(text)) != NULL;
}

static void check_missed(int64_t missed_ms, int64_t delivered_ms, enum alert_change change,
                         const char *expected)
{
    const struct alert_rule *rule = rule_of("[{\"on\":\"missed\"," URL "}]");
    struct alert_facts facts = {.about = ALERT_OF_SCHEDULE,
                                .subject = SLICE("orders/a"),
                                .now_ms = NOW_MS,
                                .missed_ms = missed_ms,
                                .delivered_ms = delivered_ms};
    struct alert_episode episode = {.since_ms = NOW_MS};
    struct buffer record;
    char id[ALERT_ID_SIZE];
    struct job job;
    buffer_init(&record, JOB_RECORD_MAX);
    buffer_append(&record, SLICE("{\"createdAt\":1,"));
    alert_job_write(rule, &facts, &episode, change, id, &record);
    ck_assert_int_eq(job_read(slice_of(id), buffer_slice(&record), &job), STATUS_OK);
    ck_assert_msg(has_text(job.body, expected), "%.*s\nlacks\n%s", SLICE_ARG(job.body), expected);
    ck_assert(has_text(job.body, "\"topic\":\"orders\",\"scheduleId\":\"a\""));
    job_fini(&job);
    buffer_fini(&record);
    alert_rules_fini(&rules);
}

START_TEST(a_report_says_when_a_schedule_was_delivered)
{
    check_missed(NOW_MS, 0, ALERT_FIRED,
                 "orders/a: no occurrence was delivered by 2030-01-01T00:00:00.000Z\"");
    check_missed(NOW_MS, NOW_MS - 1000, ALERT_FIRED,
                 "Z; the last delivery was at 2029-12-31T23:59:59.000Z\"");
    check_missed(
        NOW_MS, NOW_MS - 1000, ALERT_FIRED,
        "\"expectedUntil\":\"2030-01-01T00:00:00.000Z\",\"deliveredAt\":\"2029-12-31T23:59:59.000Z\"}");
    check_missed(NOW_MS + 1, NOW_MS, ALERT_RESOLVED,
                 "orders/a: the schedule is in time again; the last delivery was");
    check_missed(-1, 0, ALERT_RESOLVED, "orders/a: the schedule is paused, deleted or over\"");
    check_missed(-1, NOW_MS, ALERT_RESOLVED,
                 "orders/a: no further delivery is expected; the last delivery was at");
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("alert");
    TCase *tests = tcase_create("alert");
    tcase_add_test(tests, rules_have_defaults);
    tcase_add_test(tests, stored_rules_that_are_not_known_are_left_out);
    tcase_add_test(tests, urls_are_shown_without_their_query);
    tcase_add_test(tests, names_and_states_are_read_as_they_were_written);
    tcase_add_test(tests, deaths_of_consecutive_periods_are_one_episode);
    tcase_add_test(tests, alerts_end_below_the_bound_at_which_they_begin);
    tcase_add_test(tests, a_durability_that_is_unknown_changes_nothing);
    tcase_add_test(tests, an_alert_is_not_about_its_own_receiver);
    tcase_add_test(tests, certificates_are_those_of_duepost_and_of_receivers);
    tcase_add_test(tests, a_report_says_what_has_happened);
    tcase_add_test(tests, a_schedule_is_missed_from_its_time_on);
    tcase_add_test(tests, a_report_says_when_a_schedule_was_delivered);
    suite_add_tcase(suite, tests);
    return suite;
}

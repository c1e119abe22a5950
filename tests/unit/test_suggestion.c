#include "job/text/job_errors.h"

#include "support/suite.h"

static const char *const names[] = {"topic", "jobId", "url",   "body",          "delay",
                                    "dueAt", "ttl",   "retry", "retrySchedule", "timeout"};

static const char *meant(const char *typed)
{
    struct suggestion suggestion = {.name = slice_of(typed)};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        suggestion_weigh(&suggestion, names[i]);
    return suggestion.best ? suggestion.best : "-";
}

START_TEST(finds_what_was_meant)
{
    static const struct {
        const char *typed, *meant;
    } cases[] = {{"job_id", "jobId"},
                 {"JOBID", "jobId"},
                 {"job-id", "jobId"},
                 {"jboId", "jobId"},
                 {"dely", "delay"},
                 {"dealy", "delay"},
                 {"due_at", "dueAt"},
                 {"uri", "url"},
                 {"retryShedule", "retrySchedule"},
                 {"delaySeconds", "delay"},
                 {"timeout_ms", "timeout"},
                 {"tipic", "topic"},
                 {"URL", "url"},
                 {"retrySch", "retrySchedule"},
                 {"retryScheduleOfJobs", "retrySchedule"},
                 {"runAt", "dueAt"},
                 {"scheduled_at", "dueAt"},
                 {"queue", "topic"},
                 {"--dely", "delay"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(strcmp(meant(cases[i].typed), cases[i].meant) == 0, "%s: %s", cases[i].typed,
                      meant(cases[i].typed));
}
END_TEST

START_TEST(says_nothing_of_what_is_far)
{
    static const char *const cases[] = {"",
                                        "_",
                                        "x",
                                        "-x",
                                        "priority",
                                        "message",
                                        "attempts",
                                        "xyz",
                                        "jobIdjobIdjobIdjobIdjobIdjobIdjobIdjobId",
                                        "\xff\xfe\xfd"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(strcmp(meant(cases[i]), "-") == 0, "%s: %s", cases[i], meant(cases[i]));
}
END_TEST

START_TEST(tells_it_in_a_sentence)
{
    char detail[SUGGESTION_DETAIL_SIZE];
    suggestion_write(&(struct suggestion){.best = "jobId"}, "unknown field", detail);
    ck_assert_str_eq(detail, "unknown field; did you mean jobId?");
    suggestion_write(&(struct suggestion){.best = NULL}, "unknown field", detail);
    ck_assert_str_eq(detail, "unknown field");
    suggestion_write_hint(&(struct suggestion){.best = "--delay"}, "unknown option", "-h lists all", detail);
    ck_assert_str_eq(detail, "unknown option; did you mean --delay? -h lists all");
    suggestion_write_hint(&(struct suggestion){.best = NULL}, "unknown option", "-h lists all", detail);
    ck_assert_str_eq(detail, "unknown option; -h lists all");
}
END_TEST

START_TEST(one_letter_means_nothing)
{
    struct suggestion suggestion = {.name = SLICE_INIT("-x")};
    suggestion_weigh(&suggestion, "-h");
    suggestion_weigh(&suggestion, "to");
    ck_assert(!suggestion.best);
}
END_TEST

START_TEST(a_name_is_nearer_than_a_longer_one)
{
    struct suggestion suggestion = {.name = SLICE_INIT("sched")};
    suggestion_weigh(&suggestion, "schedule");
    suggestion_weigh(&suggestion, "schedules");
    ck_assert_str_eq(suggestion.best, "schedule");
    suggestion_weigh(&suggestion, "sche");
    ck_assert_str_eq(suggestion.best, "sche");
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("suggestion");
    TCase *tests = tcase_create("suggestion");
    tcase_add_test(tests, finds_what_was_meant);
    tcase_add_test(tests, says_nothing_of_what_is_far);
    tcase_add_test(tests, tells_it_in_a_sentence);
    tcase_add_test(tests, one_letter_means_nothing);
    tcase_add_test(tests, a_name_is_nearer_than_a_longer_one);
    suite_add_tcase(suite, tests);
    return suite;
}

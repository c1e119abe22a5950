#include "support/suite.h"

#include "job/outcome.h"

#define HOUR_MS INT64_C(3600000)

static const struct retry_schedule fallback = {2, {10000, 20000}};
static const struct retry_schedule no_waits = {0, {0}};

START_TEST(decides)
{
    static const struct {
        const char *name;
        int status;
        enum attempt_error error;
        int attempts, retry; /* retry -1: absent */
        int64_t retry_after_ms;
        enum verdict verdict;
        int64_t wait_ms;
        const char *reason;
    } cases[] = {
        {"200", 200, 0, 0, -1, -1, VERDICT_COMPLETE, 0, ""},
        {"299 on the last attempt", 299, 0, 2, -1, -1, VERDICT_COMPLETE, 0, ""},
        {"204 with Retry-After", 204, 0, 0, -1, 5000, VERDICT_COMPLETE, 0, ""},
        {"199", 199, 0, 0, -1, -1, VERDICT_RETRY, 10000, ""},
        {"300", 300, 0, 0, -1, -1, VERDICT_RETRY, 10000, ""},
        {"404, second", 404, 0, 1, -1, -1, VERDICT_RETRY, 20000, ""},
        {"500, schedule used up", 500, 0, 2, -1, -1, VERDICT_BURY, 0, "retries_exhausted"},
        {"500, more retries than steps", 500, 0, 4, 5, -1, VERDICT_RETRY, 20000, ""},
        {"500, retries used up", 500, 0, 5, 5, -1, VERDICT_BURY, 0, "retries_exhausted"},
        {"500, no retry", 500, 0, 0, 0, -1, VERDICT_BURY, 0, "retries_exhausted"},
        {"410", 410, 0, 0, -1, -1, VERDICT_BURY, 0, "gone"},
        {"410 on the last attempt", 410, 0, 2, -1, -1, VERDICT_BURY, 0, "gone"},
        {"refused", 0, ATTEMPT_ERROR_TARGET_REFUSED, 0, -1, -1, VERDICT_BURY, 0, "target_refused"},
        {"timeout", 0, ATTEMPT_ERROR_TIMEOUT, 0, -1, -1, VERDICT_RETRY, 10000, ""},
        {"cut after a 2xx that does not count", 200, ATTEMPT_ERROR_RESET, 0, -1, -1, VERDICT_RETRY, 10000,
         ""},
        {"410 that does not count", 410, ATTEMPT_ERROR_RESET, 0, -1, -1, VERDICT_RETRY, 10000, ""},
        {"shorter Retry-After", 503, 0, 0, -1, 0, VERDICT_RETRY, 10000, ""},
        {"longer Retry-After", 503, 0, 0, -1, 10001, VERDICT_RETRY, 10001, ""},
        {"a day", 503, 0, 0, -1, 24 * HOUR_MS, VERDICT_RETRY, 24 * HOUR_MS, ""},
        {"more than a day", 503, 0, 0, -1, INT64_MAX, VERDICT_RETRY, 24 * HOUR_MS, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job job = {.attempts = cases[i].attempts};
        struct attempt_result result = {.status = cases[i].status, .error = cases[i].error};
        job.has_retry = cases[i].retry >= 0;
        job.retry = job.has_retry ? cases[i].retry : 0;
        struct outcome outcome = outcome_decide(&job, &fallback, &result, cases[i].retry_after_ms);
        ck_assert_msg(outcome.verdict == cases[i].verdict && outcome.wait_ms == cases[i].wait_ms &&
                          slice_equal(outcome.reason, slice_of(cases[i].reason)),
                      "%s", cases[i].name);
    }
}
END_TEST

START_TEST(the_first_reset_of_an_idle_connection_uses_up_no_retry)
{
    struct job job = {.has_retry = true, .retry = 1};
    struct attempt_result result = {.error = ATTEMPT_ERROR_RESET, .is_idle_closed = true};
    struct attempt_result plain = {.error = ATTEMPT_ERROR_RESET};
    struct outcome outcome = outcome_decide(&job, &fallback, &result, -1);
    ck_assert(outcome.verdict == VERDICT_RETRY && outcome.is_at_once && outcome.wait_ms == 0);
    outcome = outcome_decide(&job, &fallback, &plain, -1);
    ck_assert(outcome.verdict == VERDICT_RETRY && !outcome.is_at_once && outcome.wait_ms == 10000);
    job.attempts = job.uncounted = 1;
    outcome = outcome_decide(&job, &fallback, &result, -1);
    ck_assert(outcome.verdict == VERDICT_RETRY && !outcome.is_at_once && outcome.wait_ms == 10000);
    job.attempts = 2;
    ck_assert_int_eq(outcome_decide(&job, &fallback, &result, -1).verdict, VERDICT_BURY);
    job = (struct job){.has_retry = true, .attempts = 1, .uncounted = 1};
    ck_assert_int_eq(outcome_decide(&job, &no_waits, &result, -1).verdict, VERDICT_BURY);
    job.attempts = job.uncounted = 0;
    ck_assert(outcome_decide(&job, &no_waits, &result, -1).is_at_once);
}
END_TEST

START_TEST(follows_the_schedule_of_the_job)
{
    struct job job = {.has_schedule = true, .schedule = {1, {HOUR_MS * 48}}};
    struct attempt_result result = {.status = 500};
    struct outcome outcome = outcome_decide(&job, &fallback, &result, 25 * HOUR_MS);
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_int_eq(outcome.wait_ms, 48 * HOUR_MS);
    job.attempts = 1;
    ck_assert_int_eq(outcome_decide(&job, &fallback, &result, -1).verdict, VERDICT_BURY);
}
END_TEST

START_TEST(does_not_retry_without_a_wait)
{
    struct job job = {.has_retry = true, .retry = 3};
    struct attempt_result result = {.status = 500};
    ck_assert_int_eq(outcome_decide(&job, &no_waits, &result, -1).verdict, VERDICT_BURY);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("outcome");
    TCase *tests = tcase_create("outcome");
    tcase_add_test(tests, decides);
    tcase_add_test(tests, the_first_reset_of_an_idle_connection_uses_up_no_retry);
    tcase_add_test(tests, follows_the_schedule_of_the_job);
    tcase_add_test(tests, does_not_retry_without_a_wait);
    suite_add_tcase(suite, tests);
    return suite;
}

#include "support/suite.h"

#include <string.h>

#include "base/status.h"

START_TEST(names_every_status)
{
    static const char *const names[] = {
        [STATUS_OK] = "ok",
        [STATUS_INVALID] = "invalid",
        [STATUS_EXISTS] = "exists",
        [STATUS_NOT_FOUND] = "not_found",
        [STATUS_REPEATED] = "repeated",
        [STATUS_REUSED] = "reused",
        [STATUS_LEASED] = "leased",
        [STATUS_EXPIRED] = "expired",
        [STATUS_NO_URL] = "no_url",
        [STATUS_UNREADABLE] = "unreadable",
        [STATUS_LACKING] = "lacking",
        [STATUS_STALE] = "stale",
        [STATUS_FULL] = "full",
        [STATUS_UNAVAILABLE] = "unavailable",
        [STATUS_UNKNOWN] = "unknown",
        [STATUS_NO_MEMORY] = "no_memory",
        [STATUS_FAILED] = "failed",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_str_eq(status_name((enum status)i), names[i]);
    ck_assert_str_eq(status_name((enum status)99), "?");
}
END_TEST

START_TEST(cuts_a_problem_that_is_too_long)
{
    struct problem problem;
    problem_set(&problem, "%d%600s", 7, "x");
    ck_assert_uint_eq(strlen(problem.text), sizeof problem.text - 1);
    ck_assert_int_eq(problem.text[0], '7');
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("status");
    TCase *tests = tcase_create("status");
    tcase_add_test(tests, names_every_status);
    tcase_add_test(tests, cuts_a_problem_that_is_too_long);
    suite_add_tcase(suite, tests);
    return suite;
}

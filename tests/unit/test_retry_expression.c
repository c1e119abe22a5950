#include "support/suite.h"

#include <stdio.h>

#include "job/retry.h"

static struct problem problem;

static int64_t wait_of(const char *text, int retried)
{
    int64_t wait_ms;
    bool has_value = retry_expression_wait_ms(slice_of(text), retried, &wait_ms);
    return has_value ? wait_ms : -1;
}

START_TEST(computes_the_wait)
{
    static const struct {
        const char *text;
        int retried;
        int64_t wait_ms;
    } cases[] = {
        {"1000", 0, 1000},
        {" 1.5e3 ", 0, 1500},
        {".5 + 2.", 0, 3},
        {"pow(2, retried) * 1000", 0, 1000},
        {"pow(2, retried) * 1000", 5, 32000},
        {"1 + 2 * 3 - 4 / 2", 0, 5},
        {"10 - 3 - 2", 0, 5},
        {"100 / 10 / 5", 0, 2},
        {"(1 + 2) * 3", 0, 9},
        {"-(1 - 3)", 0, 2},
        {"2 * -3 + +7", 0, 1},
        {"sqrt(16) + abs(-2) + exp(0)", 0, 7},
        {"floor(2.9) * 100 + ceil(2.1) * 10 + round(2.5)", 0, 233},
        {"min(3600, 30 + retried * 60) * 1000", 1, 90000},
        {"min(3600, 30 + retried * 60) * 1000", 100, 3600000},
        {"max(1, 3, 2) + min(5)", 0, 8},
        {"2.5", 0, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(wait_of(cases[i].text, cases[i].retried) == cases[i].wait_ms, "%s: %lld", cases[i].text,
                      (long long)wait_of(cases[i].text, cases[i].retried));
}
END_TEST

START_TEST(keeps_a_wait_within_its_bounds)
{
    ck_assert_int_eq(wait_of("-5", 0), 0);
    ck_assert_int_eq(wait_of("-1 / 0", 0), 0);
    ck_assert_int_eq(wait_of("pow(10, 400)", 0), JOB_WAIT_MAX_MS);
    ck_assert_int_eq(wait_of("1e11", 0), JOB_WAIT_MAX_MS);
}
END_TEST

START_TEST(has_no_wait_where_the_value_is_not_a_number)
{
    static const char *const texts[] = {"0/0", "sqrt(-1)", "min(1, 0/0)", "max(0/0, 1)"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ck_assert_int_eq(retry_expression_check(slice_of(texts[i]), 0, &problem), STATUS_OK);
        ck_assert_int_eq(retry_expression_check(slice_of(texts[i]), 1, &problem), STATUS_INVALID);
        ck_assert_int_eq(wait_of(texts[i], 0), -1);
    }
}
END_TEST

START_TEST(needs_a_finite_wait_before_each_attempt)
{
    static const struct {
        const char *text;
        int retries;
        const char *begins;
    } cases[] = {
        {"0/0", 1, "is not a number before attempt 2, where retried is 0"},
        {"-1/0", 1, "is infinite before attempt 2, where retried is 0"},
        {"1/(4-retried)", 5, "is infinite before attempt 6, where retried is 4"},
        {"pow(10000, retried)", 100, "is infinite before attempt 80, where retried is 78"},
        {"1/(4-retried)", 4, NULL},
        {"pow(10000, retried)", 78, NULL},
        {"-5", 100, NULL},
        {"1e300", 100, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum status status = retry_expression_check(slice_of(cases[i].text), cases[i].retries, &problem);
        ck_assert_int_eq(status, cases[i].begins ? STATUS_INVALID : STATUS_OK);
        if (cases[i].begins)
            ck_assert_int_eq(strncmp(problem.text, cases[i].begins, strlen(cases[i].begins)), 0);
    }
}
END_TEST

START_TEST(says_what_was_expected_and_where)
{
    static const char functions[] =
        "retried, or a function: abs, ceil, exp, floor, max, min, pow, round, sqrt";
    static const struct {
        const char *text;
        size_t at;
        const char *expected;
    } cases[] = {
        {"", 0, "a number"},
        {"1 +", 3, "a number"},
        {"soon", 0, functions},
        {"1 + Retried", 4, functions},
        {"(1", 2, ")"},
        {"pow 2", 4, "("},
        {"pow(2)", 5, "a comma and a second value"},
        {"pow(1, 2, 3)", 8, ")"},
        {"abs(1, 2)", 5, ")"},
        {"max(1,)", 6, "a number"},
        {"1 1", 2, "an operator, or the end of the text"},
        {"0x10", 1, "an operator, or the end of the text"},
        {"1e", 1, "an operator, or the end of the text"},
        {".", 0, "a number"},
        {"111111111111111111111111111111111", 0, "a number of at most 32 characters"},
        {"((((((((((((((((1))))))))))))))))", 16, "at most 16 nested parentheses and signs"},
    };
    char text[160];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(retry_expression_check(slice_of(cases[i].text), 0, &problem), STATUS_INVALID);
        snprintf(text, sizeof text, "expected at byte %zu: %s", cases[i].at, cases[i].expected);
        ck_assert_str_eq(problem.text, text);
        ck_assert_int_eq(wait_of(cases[i].text, 0), -1);
    }
}
END_TEST

START_TEST(is_bounded_in_length)
{
    char text[RETRY_EXPRESSION_MAX + 2];
    memset(text, ' ', sizeof text);
    text[0] = '1';
    ck_assert_int_eq(retry_expression_check(slice_from(text, RETRY_EXPRESSION_MAX), 0, &problem), STATUS_OK);
    ck_assert_int_eq(retry_expression_check(slice_from(text, RETRY_EXPRESSION_MAX + 1), 0, &problem),
                     STATUS_INVALID);
    ck_assert_int_eq(retry_expression_check(slice_from("1\0", 2), 0, &problem), STATUS_INVALID);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("retry_expression");
    TCase *tests = tcase_create("retry_expression");
    tcase_add_test(tests, computes_the_wait);
    tcase_add_test(tests, keeps_a_wait_within_its_bounds);
    tcase_add_test(tests, has_no_wait_where_the_value_is_not_a_number);
    tcase_add_test(tests, needs_a_finite_wait_before_each_attempt);
    tcase_add_test(tests, says_what_was_expected_and_where);
    tcase_add_test(tests, is_bounded_in_length);
    suite_add_tcase(suite, tests);
    return suite;
}

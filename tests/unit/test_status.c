#include "support/suite.h"

#include <string.h>

#include "base/status.h"

#define TEN  "\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d"
#define LONG TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

START_TEST(cuts_a_problem_that_is_too_long)
{
    struct problem problem;
    problem_set(&problem, "%d%600s", 7, "x");
    ck_assert_uint_eq(strlen(problem.text), sizeof problem.text - 1);
    ck_assert_int_eq(problem.text[0], '7');
}
END_TEST

START_TEST(does_not_cut_a_character)
{
    struct problem problem;
    for (int before = 0; before < 3; before++) {
        problem_set(&problem, "%.*s%.600s", before, "ab", LONG);
        size_t size = strlen(problem.text);
        ck_assert_uint_gt(size, sizeof problem.text - 5);
        ck_assert_uint_eq((size - (size_t)before) % 3, 0);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("status");
    TCase *tests = tcase_create("status");
    tcase_add_test(tests, cuts_a_problem_that_is_too_long);
    tcase_add_test(tests, does_not_cut_a_character);
    suite_add_tcase(suite, tests);
    return suite;
}

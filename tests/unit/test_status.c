#include "support/suite.h"

#include <string.h>

#include "base/status.h"

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
    tcase_add_test(tests, cuts_a_problem_that_is_too_long);
    suite_add_tcase(suite, tests);
    return suite;
}

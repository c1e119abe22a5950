/* Tests the last uses of clients' tokens. */
#include "support/keyspace.h"
#include "support/script_examples.h"
#include "support/script_runner.h"
#include "support/suite.h"

START_TEST(a_later_use_is_written)
{
    CHECK_EXAMPLES( //
        {"", "used 1 a:01 5", "", "tokens_used: a:01=5\n"},
        {"tokens_used: a:01=5\n", "used 2 a:01 7 b:02 6", "", "tokens_used: a:01=7 b:02=6\n"},
        {"tokens_used: a:01=5\n", "used 1 a:01 4", "", NULL},
        {"tokens_used: a:01=x\n", "used 1 a:01 4", "", "tokens_used: a:01=4\n"}, );
}
END_TEST

START_TEST(uses_are_read_in_their_order)
{
    CHECK_EXAMPLES( //
        {"tokens_used: a:01=5 b:02=6\n", "used 0 b:02 c:03 a:01", "6 '' 5", NULL},
        {"", "used 0", "", NULL}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_used");
    TCase *tests = examples_case("used");
    tcase_add_test(tests, a_later_use_is_written);
    tcase_add_test(tests, uses_are_read_in_their_order);
    suite_add_tcase(suite, tests);
    return suite;
}

/* Tests the lines of the audit log on their way to the history. */
#include "support/keyspace.h"
#include "support/script_examples.h"
#include "support/script_runner.h"
#include "support/suite.h"

#define TWO "numbers: trail_bytes=3 trail_removed=7\ntrail: a bc\n"

START_TEST(lines_are_added_at_the_end)
{
    CHECK_EXAMPLES( //
        {"", "note a", "1", "numbers: trail_bytes=1\ntrail: a\n"},
        {"", "note a bc", "1 1", "numbers: trail_bytes=3\ntrail: a bc\n"},
        {"numbers: trail_bytes=1\ntrail: a\n", "note bc", "1", "numbers: trail_bytes=3\ntrail: a bc\n"}, );
}
END_TEST

START_TEST(the_oldest_lines_are_dropped)
{
    CHECK_EXAMPLES( //
        {"numbers: trail_bytes=16777216\ntrail: a b\n", "note c", "1",
         "numbers: trail_bytes=16777214 trail_dropped=3 trail_removed=3\n"},
        {"numbers: trail_bytes=16777215\ntrail: a b\n", "note c", "1",
         "numbers: trail_bytes=16777216\ntrail: a b c\n"}, );
}
END_TEST

START_TEST(lines_are_read_and_removed)
{
    CHECK_EXAMPLES( //
        {"", "trail 0 0 100 1000", "0 0", NULL}, {TWO, "trail 0 0 100 1000", "7 0 a bc", NULL},
        {TWO, "trail 0 0 1 1000", "7 0 a", NULL}, {TWO, "trail 0 0 100 1", "7 0 a", NULL},
        {TWO, "trail 0 0 100 0", "7 0 a", NULL},
        {TWO, "trail 7 1 100 1000", "8 0 bc", "numbers: trail_bytes=2 trail_removed=8\ntrail: bc\n"},
        {TWO, "trail 7 2 100 1000", "9 0", "numbers: trail_removed=9\n"},
        /* Another archiver has removed lines since, or lines were dropped. */
        {TWO, "trail 6 1 100 1000", "7 0 a bc", NULL}, {TWO, "trail 0 1 100 1000", "7 0 a bc", NULL}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_trail");
    TCase *tests = examples_case("trail");
    tcase_add_test(tests, lines_are_added_at_the_end);
    tcase_add_test(tests, the_oldest_lines_are_dropped);
    tcase_add_test(tests, lines_are_read_and_removed);
    suite_add_tcase(suite, tests);
    return suite;
}

/* Tests requests that wait for the ends of jobs: what is noted, kept and published. */
#include "support/keyspace.h"
#include "support/script_examples.h"
#include "support/script_runner.h"
#include "support/suite.h"

#define WAITED             "waited: t/a@now+90000\n"
#define MINUTE             "kept_until: t/a@now+60000\n"
#define TOLD               " wake ended t/a"
#define MOVED              " wake moved t/a"
#define KEEPS              "topics: t={\"retention\":90}\n"
#define CLAIM              "claim 16 n1 5000 16 1000000 0"
#define ENDED(state, rest) state ":t: t/a@now\nkept: t/a=" state ",now,0,3,{r}" rest "\n" MINUTE

START_TEST(a_wait_is_noted)
{
    CHECK_EXAMPLES( //
        {DELAYED, "await t/a 90000 0", "1", DELAYED WAITED},
        {LEASED, "await t/a 90000 0", "1", LEASED WAITED},
        /* The later time counts. */
        {DELAYED WAITED, "await t/a 5 0", "1", NULL},
        /* There is no such job, or it has ended. */
        {ABSENT, "await t/a 90000 0", "0", ABSENT}, {DEAD, "await t/a 90000 0", "0", NULL},
        /* The job is about to be scheduled. */
        {ABSENT, "await t/a 90000 1", "0", WAITED}, );
}
END_TEST

START_TEST(an_awaited_job_is_kept_for_a_minute_after_its_end)
{
    CHECK_EXAMPLES( //
        {LEASED WAITED, "complete t/a n1 2", "1" TOLD, ENDED("delivered", "2|")},
        {LEASED WAITED, "complete t/a n1 -", "1" TOLD, ENDED("delivered", "")},
        /* The line of the attempt is needed. */
        {LEASED WAITED, "complete t/a n1 ''", "-39", NULL}, {LEASED WAITED, "complete t/a n2 ''", "0", NULL},
        {DELAYED WAITED, "cancel t/a ''", "0" TOLD, ENDED("cancelled", "")},
        {LEASED WAITED, "bury t/a n1 {d} 1", "1" TOLD, DIED("now", "0,3,{d}1|")},
        {DELAYED WAITED, "change t/a * ! {d}", "0" TOLD, DIED("now", "0,3,{d}")},
        /* The retention of the topic is longer, or only that of others is. */
        {LEASED WAITED KEEPS, "complete t/a n1 2", "1" TOLD,
         "delivered:t: t/a@now\nkept: t/a=delivered,now,0,3,{r}2|\nkept_until: t/a@now+90000\n" KEEPS},
        {DELAYED "waited: t/b@now+9\n", "cancel t/a ''", "0", "waited: t/b@now+9\n"},
        {LEASED "waited: t/b@now+9\n", "complete t/a n1 ''", "1", "waited: t/b@now+9\n"}, );
}
END_TEST

START_TEST(other_changes_are_told)
{
    CHECK_EXAMPLES( //
        {READY WAITED, CLAIM, "0 0 1 t/a now-1000 {r} ! waited" MOVED,
         "holders:t: t/a=n1,now-1000\njobs: t/a={r}\nleases: t/a@now+5000\nready: t\n" WAITED},
        {LEASED WAITED, "retry t/a n1 5000 {e} 2", "1" MOVED " wake now+5001",
         "attempts: t/a=2|\nbucket:t: t/a@now+5001\ndue: t@now+5001\njobs: t/a={e}\n" WAITED},
        {DELAYED WAITED, "change t/a * - {n}", "0" MOVED,
         "bucket:t: t/a@now+60000\ndue: t@now+60000\njobs: t/a={n}\n" WAITED},
        {LEASED WAITED, "release t/a n1 -1 0 - 0", "1" MOVED, READY WAITED},
        /* The new job is awaited like the one that it replaces. */
        {DELAYED WAITED, "replace 0 t/a 60000 \"x\":1} ''", "(now+60001 now+1 1)" MOVED,
         "bucket:t: t/a@now+60001\ndue: t@now+60001\njobs: t/a={\"createdAt\":now+1,\"x\":1}\n" WAITED}, );
}
END_TEST

START_TEST(waits_that_are_over_are_forgotten)
{
    CHECK_EXAMPLES( //
        {"waited: t/a@now t/b@now+1\n", "forget 9 9", "0 0", "waited: t/b@now+1\n"},
        {"waited: t/a@now-1 t/b@now\n", "forget 1 9", "0 0", "waited: t/b@now\n"}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_waited");
    TCase *tests = examples_case("waited");
    tcase_add_test(tests, a_wait_is_noted);
    tcase_add_test(tests, an_awaited_job_is_kept_for_a_minute_after_its_end);
    tcase_add_test(tests, other_changes_are_told);
    tcase_add_test(tests, waits_that_are_over_are_forgotten);
    suite_add_tcase(suite, tests);
    return suite;
}

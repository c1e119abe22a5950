/* Tests that the scripts keep a job's last attempts as long as the job exists. */
#include "support/script_examples.h"
#include "support/suite.h"

#define ONE "attempts: t/a=1|\n"
#define TWO "attempts: t/a=1|2|\n"
#define TEN "attempts: t/a=1|2|3|4|5|6|7|8|9|10|\n"

#define RETRY(line)   "retry t/a n1 5000 {e} " line
#define BURY(line)    "bury t/a n1 {d} " line
#define RETRIED       "bucket:t: t/a@now+5001\ndue: t@now+5001\njobs: t/a={e}\n"
#define BURIED(lines) DIED("now", "0,3,{d}" lines)
#define WOKE          "1 wake now+5001"

START_TEST(a_failed_attempt_is_noted_behind_the_others)
{
    CHECK_EXAMPLES( //
        {LEASED, RETRY("''"), WOKE, RETRIED}, {LEASED, RETRY("1"), WOKE, ONE RETRIED},
        {ONE LEASED, RETRY("2"), WOKE, TWO RETRIED}, {ONE LEASED, RETRY("''"), WOKE, ONE RETRIED},
        {LEASED, BURY("''"), "1", BURIED("")}, {LEASED, BURY("1"), "1", BURIED("1|")},
        {ONE LEASED, BURY("2"), "1", BURIED("1|2|")}, {ONE LEASED, BURY("''"), "1", BURIED("1|")},
        /* The outcome came after the lease was lost. */
        {ONE LOST, RETRY("2"), WOKE, TWO "bucket:t: t/a@now+5001\ndue: t@now+5001\njobs: t/a={e}\n" BELL},
        {DIED("now-5000", "5/n1,3,{r}1|"), BURY("2"), "1", BURIED("1|2|")}, );
}
END_TEST

START_TEST(the_last_ten_are_kept)
{
    CHECK_EXAMPLES( //
        {"attempts: t/a=1|2|3|4|5|6|7|8|9|\n" LEASED, RETRY("10"), WOKE, TEN RETRIED},
        {TEN LEASED, RETRY("11"), WOKE, "attempts: t/a=2|3|4|5|6|7|8|9|10|11|\n" RETRIED},
        {TEN LEASED, BURY("11"), "1", BURIED("2|3|4|5|6|7|8|9|10|11|")},
        {TEN LEASED, RETRY("''"), WOKE, TEN RETRIED},
        /* Redis has eleven lines of attempts, but only ten are allowed. */
        {"attempts: t/a=a|1|2|3|4|5|6|7|8|9|10|\n" LEASED, RETRY("11"), WOKE,
         "attempts: t/a=2|3|4|5|6|7|8|9|10|11|\n" RETRIED}, );
}
END_TEST

START_TEST(only_who_holds_the_lease_notes_anything)
{
    CHECK_EXAMPLES( //
        {ABSENT, RETRY("1"), "0", NULL}, {DELAYED, RETRY("1"), "0", NULL}, {READY, BURY("1"), "0", NULL},
        {ONE LEASED_AGAIN, RETRY("2"), "0", NULL}, {ONE LEASED_AGAIN, BURY("2"), "0", NULL},
        {DEAD, BURY("1"), "0", NULL},
        /* The same attempt is reported twice, and stored once. */
        {LEASED, RETRY("1") " t/a n1 5000 {x} 1", "1 0 wake now+5001", ONE RETRIED},
        {LEASED, BURY("1") " t/a n1 {x} 1", "1 0", BURIED("1|")},
        /* Each of several jobs has its own attempts. */
        {"holders:t: t/a=n1,now-9 t/b=n2,now-8\njobs: t/a={1} t/b={2}\nleases: t/a@now+9 t/b@now+9\n",
         BURY("1") " t/c n1 {x} 1 t/b n2 {b} 2", "1 0 1",
         "dead: t/a@now t/b@now\ndead:t: t/a@now t/b@now\ndead_due: t@inf\n"
         "kept: t/a=dead,now,0,3,{d}1| t/b=dead,now,0,3,{b}2|\n"}, );
}
END_TEST

START_TEST(attempts_go_with_their_job)
{
    static const char both[] = "attempts: t/a=1| t/b=2|\n"
                               "holders:t: t/a=n1,now-9 t/b=n1,now-8\n"
                               "jobs: t/a={1} t/b={2}\n"
                               "leases: t/a@now+9 t/b@now+9\n";
    CHECK_EXAMPLES( //
        {ONE LEASED, "complete t/a n1 ''", "1", ABSENT},
        {both, "complete t/a n1 '' t/b n1 ''", "1 1", ABSENT},
        {both, "complete t/a n1 '' t/b n2 ''", "1 0",
         "attempts: t/b=2|\nholders:t: t/b=n1,now-8\njobs: t/b={2}\nleases: t/b@now+9\n"},
        {ONE LOST, "complete t/a n1 ''", "1", BELL}, {ONE LEASED, "complete t/a nx ''", "0", NULL},
        {DIED("now-5000", "0,3,{r}1|"), "cancel t/a ''", "0", ABSENT},
        {ONE LEASED, "cancel t/a ''", "1", LINGERING}, {DEAD, "cancel t/b ''", "-1", NULL},
        {both, "cancel t/a '' t/b ''", "1 1",
         "holders:t: t/a|n1= t/b|n1=\nlingering: t/a|n1@now+9 t/b|n1@now+9\n"},
        {ONE DELAYED, "cancel t/a no", "-4", NULL},
        /* A job that replaces another one does not get its attempts. */
        {ONE DELAYED, "replace 0 t/a @now+5 \"x\"} ''", "(now+5 now 1) wake now+5",
         "bucket:t: t/a@now+5\ndue: t@now+5\njobs: t/a={\"createdAt\":now,\"x\"}\n"},
        {ONE LEASED, "replace 0 t/a @now+5 \"x\"} ''", "(now+5 now 2) wake now+5",
         "bucket:t: t/a@now+5\ndue: t@now+5\nholders:t: t/a|n1=replaced\n"
         "jobs: t/a={\"createdAt\":now,\"x\"}\nlingering: t/a|n1@now+3000\n"}, );
}
END_TEST

START_TEST(attempts_stay_with_a_job_that_goes_on)
{
    CHECK_EXAMPLES( //
        {DIED("now-5000", "0,3,{r}1|"), "run 0 t/a 0 '' {r} {f}", "now", ONE DUE_NOW("{f}")},
        {ONE DELAYED, "run 0 t/a 0 '' '' ''", "now", ONE DUE_NOW("{r}")},
        {ONE DELAYED, "change t/a * @now+5 {n}", "now+5 wake now+5",
         ONE "bucket:t: t/a@now+5\ndue: t@now+5\njobs: t/a={n}\n"},
        {ONE LEASED, "release t/a n1 -1 now - 0", "1", ONE READY},
        {ONE EXPIRED, "recover consumers 5000 now 256 1 !r", "1 0", ONE LOST},
        {ONE READY, "claim 10 n5 5000 2 1000 0", "0 0 1 t/a now-1000 {r}",
         ONE "holders:t: t/a=n5,now-1000\njobs: t/a={r}\nleases: t/a@now+5000\n" BELL},
        {ONE DELAYED, "schedule 0 86400000 t/a 5 \"x\"} -", "(delayed now+60000 {r})", NULL}, );
}
END_TEST

START_TEST(attempts_tells_what_is_known_of_a_job)
{
    CHECK_EXAMPLES( //
        {ABSENT, "attempts t/a", "", NULL}, {DELAYED, "attempts t/a", "''", NULL},
        {TWO DELAYED, "attempts t/a", "1\n2\n", NULL}, {TWO LEASED, "attempts t/a", "1\n2\n", NULL},
        {DIED("now-5000", "0,3,{r}1|2|"), "attempts t/a", "1\n2\n", NULL},
        {DIED("now-5000", "0,3,{r}1|2|"), "attempts t/b", "", NULL}, {TWO, "attempts t/a", "", NULL}, );
}
END_TEST

START_TEST(attempts_of_no_job_are_found_and_mended)
{
    CHECK_EXAMPLES( //
        {TWO DELAYED, "audit 9", "1 1 0 0 1 0 1 0 0 -1 0 0 0 0", NULL},
        {TWO, "audit 9", "0 0 0 0 0 0 1 0 0 -1 0 0 0 0", NULL}, {TWO DELAYED, "mend attempts 0", "0", NULL},
        {TWO DEAD, "mend attempts 0", "0 attempts t/a", DEAD},
        {TWO, "mend attempts 0", "0 attempts t/a", ABSENT},
        {"attempts: t/a=1| t/b=2|\n" DELAYED, "mend attempts 0", "0 attempts t/b", ONE DELAYED},
        /* An entry in leases or in a bucket whose job does not exist is removed, and so are the job's
         * attempts. */
        {TWO "leases: t/a@now-5\n", "mend leases 0", "0 empty t/a", ABSENT},
        {TWO "bucket:t: t/a@now-5\nturns: t@1\n", "claim 10 n5 5000 2 1000 0", "0 0 0", ABSENT}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_history");
    TCase *group = examples_case("script_history");
    tcase_add_test(group, a_failed_attempt_is_noted_behind_the_others);
    tcase_add_test(group, the_last_ten_are_kept);
    tcase_add_test(group, only_who_holds_the_lease_notes_anything);
    tcase_add_test(group, attempts_go_with_their_job);
    tcase_add_test(group, attempts_stay_with_a_job_that_goes_on);
    tcase_add_test(group, attempts_tells_what_is_known_of_a_job);
    tcase_add_test(group, attempts_of_no_job_are_found_and_mended);
    suite_add_tcase(suite, group);
    return suite;
}

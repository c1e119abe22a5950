/* What the scripts keep of jobs that have ended, where their topic has a retention, and for how long. */
#include "support/script_examples.h"
#include "support/suite.h"

/* Jobs of t are kept for ten seconds. */
#define KEEPS  "topics: t={\"retention\":10}\n"
#define UNTIL  "kept_until: t/a@now+10000\n"
#define ONE    "attempts: t/a=1|\n"
#define STAYED "topics: t={\"maxInFlight\":5}\n"

/* An earlier job of the id. */
#define EARLIER "kept: t/a=cancelled,now-3000,0,3,{o}7|\nkept_until: t/a@now+7000\n"

#define DELIVERED(lines) "kept: t/a=delivered,now,0,3,{r}" lines "\n" UNTIL
#define CANCELLED(lines) "kept: t/a=cancelled,now,0,3,{r}" lines "\n" UNTIL

START_TEST(a_delivered_job_is_kept_where_its_topic_says_so)
{
    CHECK_EXAMPLES( //
        {LEASED KEEPS, "complete t/a n1 2", "1", DELIVERED("2|") KEEPS},
        {LEASED KEEPS, "complete t/a n1 ''", "1", DELIVERED("") KEEPS},
        {ONE LEASED KEEPS, "complete t/a n1 2", "1", DELIVERED("1|2|") KEEPS},
        {ONE LEASED KEEPS, "complete t/a n1 ''", "1", DELIVERED("1|") KEEPS},
        {LEASED KEEPS, "complete t/a nx 2", "0", NULL}, {DELAYED KEEPS, "complete t/a n1 2", "0", NULL},
        /* It had lost its lease; how often tells whoever reads it. */
        {LOST KEEPS, "complete t/a n1 2", "1", "kept: t/a=delivered,now,1,3,{r}2|\n" UNTIL BELL KEEPS},
        {DEAD_BY_LOSSES KEEPS, "complete t/a n1 2", "1", "kept: t/a=delivered,now,5,3,{r}2|\n" UNTIL KEEPS},
        /* The last ten. */
        {"attempts: t/a=1|2|3|4|5|6|7|8|9|10|\n" LEASED KEEPS, "complete t/a n1 11", "1",
         DELIVERED("2|3|4|5|6|7|8|9|10|11|") KEEPS},
        /* Where the topic has none, or none any more, nothing is. */
        {ONE LEASED STAYED, "complete t/a n1 2", "1", STAYED}, {ONE LEASED, "complete t/a n1 2", "1", ABSENT},
        {"holders:u: u/a=n1,now\njobs: u/a={r}\nleases: u/a@now+9\n" KEEPS, "complete u/a n1 2", "1", KEEPS},
        /* In the place of an earlier one. */
        {EARLIER LEASED KEEPS, "complete t/a n1 2", "1", DELIVERED("2|") KEEPS},
        {EARLIER LEASED, "complete t/a n1 2", "1", EARLIER}, );
}
END_TEST

START_TEST(of_many_each_is_kept_as_its_own_topic_says)
{
    CHECK_EXAMPLES( //
        {"holders:t: t/a=n1,now-9 t/b=n1,now-8\nholders:u: u/a=n1,now-7\n"
         "jobs: t/a={r} t/b={s} u/a={3}\nleases: t/a@now+9 t/b@now+9 u/a@now+9\n"
         "topics: t={\"retention\":10} u={\"paused\":true}\n",
         "complete t/a n1 1 t/b n1 2 u/a n1 '' t/a n1 3", "1 1 1 0",
         "kept: t/a=delivered,now,0,3,{r}1| t/b=delivered,now,0,3,{s}2|\n"
         "kept_until: t/a@now+10000 t/b@now+10000\ntopics: t={\"retention\":10} u={\"paused\":true}\n"},
        {"bucket:t: t/a@now+5\ndead: t/b@now-5\ndue: t@now+5\njobs: t/a={1} t/b={2}\n"
         "topics: t={\"retention\":1.5}\n",
         "cancel t/a '' t/b '' t/a '' t/c ''", "0 0 -1 -1",
         "kept: t/a=cancelled,now,0,3,{1} t/b=cancelled,now,0,3,{2}\n"
         "kept_until: t/a@now+1500 t/b@now+1500\ntopics: t={\"retention\":1.5}\n"}, );
}
END_TEST

START_TEST(a_cancelled_job_is_kept_from_any_state)
{
    CHECK_EXAMPLES( //
        {ONE DELAYED KEEPS, "cancel t/a ''", "0", CANCELLED("1|") KEEPS},
        {READY KEEPS, "cancel t/a *", "0", CANCELLED("") BELL KEEPS},
        {LEASED KEEPS, "cancel t/a ''", "1", CANCELLED("") LINGERING KEEPS},
        {DEAD KEEPS, "cancel t/a ''", "0", CANCELLED("") KEEPS},
        {LOST_THRICE KEEPS, "cancel t/a ''", "0", "kept: t/a=cancelled,now,3,3,{r}\n" UNTIL KEEPS},
        {EARLIER DELAYED KEEPS, "cancel t/a ''", "0", CANCELLED("") KEEPS},
        {EARLIER KEEPS, "cancel t/a ''", "-1", NULL}, {DELAYED KEEPS, "cancel t/a no", "-4", NULL},
        {DELAYED STAYED, "cancel t/a ''", "0", STAYED},
        /* The attempt that was running comes to its end: nobody's job. */
        {CANCELLED("") KEEPS, "complete t/a n1 2", "0", NULL},
        {CANCELLED("") KEEPS, "retry t/a n1 5 {e} 2", "0", NULL}, );
}
END_TEST

#define SCHEDULE  "schedule 0 86400000 t/a 60000 \"x\":1} -"
#define SCHEDULED "bucket:t: t/a@now+60001\ndue: t@now+60001\njobs: t/a={\"createdAt\":now+1,\"x\":1}\n"
#define LAID_ASIDE(losses, lines)                                                                            \
    "kept: t/a=dead,now-5000," losses ",3,{r}" lines "\nkept_until: t/a@now+5000\n"

START_TEST(a_dead_job_does_not_hold_its_id)
{
    CHECK_EXAMPLES( //
        {DEAD KEEPS, SCHEDULE, "now+60001 wake now+60001", SCHEDULED LAID_ASIDE("0", "") KEEPS},
        {ONE DEAD KEEPS, SCHEDULE, "now+60001 wake now+60001", SCHEDULED LAID_ASIDE("0", "1|") KEEPS},
        {DEAD_BY_LOSSES KEEPS, SCHEDULE, "now+60001 wake now+60001", SCHEDULED LAID_ASIDE("5", "") KEEPS},
        {EARLIER DEAD KEEPS, SCHEDULE, "now+60001 wake now+60001", SCHEDULED LAID_ASIDE("0", "") KEEPS},
        /* The new one takes its place in the pool, whose bound is reached. */
        {DEAD KEEPS, "schedule 1 86400000 t/a 60000 \"x\":1} -", "now+60001 wake now+60001",
         SCHEDULED LAID_ASIDE("0", "") KEEPS},
        /* Of two, the first one. */
        {DEAD KEEPS, SCHEDULE " t/a 5 \"y\"} -",
         "now+60001 (delayed now+60001 {\"createdAt\":now+1,\"x\":1}) wake now+60001",
         SCHEDULED LAID_ASIDE("0", "") KEEPS},
        /* Only a dead one, and only where its topic has a retention. */
        {DELAYED KEEPS, SCHEDULE, "(delayed now+60000 {r})", NULL},
        {READY KEEPS, SCHEDULE, "(ready now-1000 {r})", NULL},
        {LEASED KEEPS, SCHEDULE, "(leased now+3000 {r})", NULL},
        {"jobs: t/a={r}\n" KEEPS, SCHEDULE, "(ready now {r})", NULL},
        {DEAD STAYED, SCHEDULE, "(dead now-5000 {r})", NULL}, {DEAD, SCHEDULE, "(dead now-5000 {r})", NULL},
        {DEAD KEEPS, "schedule 0 86400000 t/a 5 \"url\":\"\"} -", "-5", NULL}, /* nor has the topic one */
        /* What is kept holds no id. */
        {EARLIER KEEPS, SCHEDULE, "now+60001 wake now+60001", SCHEDULED EARLIER KEEPS}, );
}
END_TEST

START_TEST(a_dead_job_is_kept_when_it_is_replaced)
{
    static const char replace[] = "replace 0 t/a 60000 \"x\":1} ''", replaced[] = "(now+60001 now+1 1)";
    CHECK_EXAMPLES( //
        {ONE DEAD KEEPS, replace, "(now+60001 now+1 1) wake now+60001",
         SCHEDULED LAID_ASIDE("0", "1|") KEEPS},
        /* A living one is not: it goes on as another one. */
        {ONE DELAYED KEEPS, replace, replaced, SCHEDULED KEEPS},
        {EARLIER DELAYED KEEPS, replace, replaced, SCHEDULED EARLIER KEEPS},
        {ONE DEAD, replace, "(now+60001 now+1 1) wake now+60001", SCHEDULED}, );
}
END_TEST

START_TEST(a_dead_job_can_still_be_run_and_changed)
{
    CHECK_EXAMPLES( //
        {ONE DEAD KEEPS, "run t/a 0 '' {r} {f}", "now",
         ONE "bucket:t: t/a@now\njobs: t/a={f}\nready: t\n" KEEPS "turns: t@1\n"},
        {DEAD KEEPS, "change t/a * - {n}", "0", "dead: t/a@now-5000\njobs: t/a={n}\n" KEEPS},
        {LEASED KEEPS, "bury t/a n1 {d} 1", "1", ONE "dead: t/a@now\njobs: t/a={d}\n" KEEPS},
        /* What is kept cannot. */
        {EARLIER KEEPS, "run t/a 0 '' '' ''", "-1", NULL},
        {EARLIER KEEPS, "change t/a * - {n}", "-4", NULL}, );
}
END_TEST

START_TEST(a_kept_job_is_read_where_there_is_no_other)
{
    CHECK_EXAMPLES( //
        {EARLIER, "read t/a", "(cancelled now-3000 {o} 0 '' now+7000 7\n)", NULL},
        {EARLIER DELAYED, "read t/a", "(delayed now+60000 {r} 0 '')", NULL},
        {DELIVERED("1|2|3|"), "read t/a t/b t/a",
         "(delivered now {r} 0 '' now+10000 3\n) () (delivered now {r} 0 '' now+10000 3\n)", NULL},
        {DELIVERED(""), "read t/a", "(delivered now {r} 0 '' now+10000 '')", NULL},
        {DELIVERED("") KEEPS, "read t/a", "(delivered now {r} 0 {\"retention\":10} now+10000 '')", NULL},
        {LAID_ASIDE("5", ""), "read t/a", "(dead now-5000 {r} 5 '' now+5000 '')", NULL},
        /* Without a time it goes soon. */
        {"kept: t/a=dead,now-5000,0,3,{r}\n", "read t/a", "(dead now-5000 {r} 0 '' now '')", NULL},
        {EARLIER, "attempts t/a", "7\n", NULL}, {EARLIER DELAYED, "attempts t/a", "''", NULL},
        {DELIVERED(""), "attempts t/a", "''", NULL}, {EARLIER, "attempts t/b", "", NULL},
        /* A record with blanks, digits and ends of lines in it. */
        {"kept: t/a=dead,now,0,11,5,{|},x,y|z1|2|\n" UNTIL, "read t/a",
         "(dead now 5 {\n} x y\nz 0 '' now+10000 2\n)", NULL},
        {"kept: t/a=dead,now,0,11,5,{|},x,y|z1|2|\n" UNTIL, "attempts t/a", "1\n2\n", NULL}, );
}
END_TEST

START_TEST(sweep_removes_what_was_kept_for_long_enough)
{
    CHECK_EXAMPLES( //
        {ABSENT, "sweep 10 0", "0 0 0", NULL}, {EARLIER KEEPS, "sweep 10 0", "0 0 0", NULL},
        {"kept: t/a=dead,now-9,0,3,{r} t/b=dead,now-9,0,3,{r} u/c=dead,now-9,0,3,{r}\n"
         "kept_until: t/a@now-1 t/b@now u/c@now+1\n",
         "sweep 10 0", "2 0 0", "kept: u/c=dead,now-9,0,3,{r}\nkept_until: u/c@now+1\n"},
        {"kept: t/a=dead,now-9,0,3,{r} t/b=dead,now-9,0,3,{r}\nkept_until: t/a@now-2 t/b@now-1\n",
         "sweep 1 0", "1 0 0", "kept: t/b=dead,now-9,0,3,{r}\nkept_until: t/b@now-1\n"},
        /* A new job of the id stays, and what is known of its attempts. */
        {"attempts: t/a=1|\nkept: t/a=dead,now-9,0,3,{o}7|\nkept_until: t/a@now-1\n" DELAYED, "sweep 10 0",
         "1 0 0", ONE DELAYED}, );
}
END_TEST

START_TEST(sweep_removes_the_dead_of_topics_with_a_retention)
{
    static const char dead[] = "attempts: t/a=1| u/b=2|\n"
                               "crashes: t/a=5,n1 t/d=5,n1 u/b=5,n1\n"
                               "dead: t/a@now-10001 u/b@now-10001 t/c@now-10000 t/d@now-9999\n"
                               "jobs: t/a={1} t/c={3} t/d={4} u/b={2}\n"
                               "topics: t={\"retention\":10} u={\"paused\":true}\n";
    CHECK_EXAMPLES( //
        {dead, "sweep 10 0", "0 2 0",
         "attempts: u/b=2|\n"
         "crashes: t/d=5,n1 u/b=5,n1\n"
         "dead: u/b@now-10001 t/d@now-9999\n"
         "jobs: t/d={4} u/b={2}\n"
         "topics: t={\"retention\":10} u={\"paused\":true}\n"},
        {DEAD, "sweep 10 0", "0 0 0", NULL}, {DEAD STAYED, "sweep 10 0", "0 0 0", NULL},
        /* A longer one acts at once, a shorter one too. */
        {DEAD "topics: t={\"retention\":5.001}\n", "sweep 10 0", "0 0 0", NULL},
        {DEAD "topics: t={\"retention\":5}\n", "sweep 10 0", "0 1 0", "topics: t={\"retention\":5}\n"},
        /* Step by step; what is removed is not passed over. */
        {"dead: t/a@1 t/b@2 u/c@3 t/d@4\njobs: t/a={1} t/b={2} t/d={4} u/c={3}\n" KEEPS, "sweep 2 0", "0 2 0",
         "dead: u/c@3 t/d@4\njobs: t/d={4} u/c={3}\n" KEEPS}, );
}
END_TEST

START_TEST(sweep_walks_through_the_dead)
{
    static const char dead[] = "dead: t/a@now-9999 t/b@now-9998 u/c@now-9997 t/d@now-9996\n"
                               "jobs: t/a={1} t/b={2} t/d={4} u/c={3}\n" KEEPS;
    static const char mixed[] = "dead: t/a@now-20000 u/b@now-19999 t/c@now-19998 u/d@now-19997\n"
                                "jobs: t/a={1} t/c={3} u/b={2} u/d={4}\n" KEEPS;
    CHECK_EXAMPLES( //
        {dead, "sweep 3 0", "0 0 3", NULL}, {dead, "sweep 3 3", "0 0 0", NULL},
        {dead, "sweep 4 0", "0 0 4", NULL}, {dead, "sweep 4 4", "0 0 0", NULL},
        {dead, "sweep 4 100", "0 0 0", NULL},
        {mixed, "sweep 2 0", "0 1 1",
         "dead: u/b@now-19999 t/c@now-19998 u/d@now-19997\njobs: t/c={3} u/b={2} u/d={4}\n" KEEPS},
        {mixed, "sweep 2 2", "0 1 3",
         "dead: t/a@now-20000 u/b@now-19999 u/d@now-19997\njobs: t/a={1} u/b={2} u/d={4}\n" KEEPS}, );
}
END_TEST

START_TEST(audit_says_when_there_is_something_to_sweep)
{
    CHECK_EXAMPLES( //
        {EARLIER, "audit 9", "0 0 0 0 0 0 0 1 1 0 -1 0 0", NULL},
        {"kept: t/a=dead,now,0,3,{r} t/b=dead,now,0,3,{r}\nkept_until: t/a@now t/b@now+5\n", "audit 9",
         "0 0 0 0 0 0 0 2 2 1 -1 0 0", NULL},
        {DEAD KEEPS, "audit 9", "1 0 0 1 0 0 0 0 0 1 -1 0 0", NULL},
        {DEAD, "audit 9", "1 0 0 1 0 0 0 0 0 0 -1 0 0", NULL},
        {DELAYED KEEPS, "audit 9", "1 1 0 0 1 0 0 0 0 0 -1 0 0", NULL}, );
}
END_TEST

START_TEST(mend_repairs_what_is_kept)
{
    CHECK_EXAMPLES( //
        {EARLIER, "mend kept 0", "0", NULL}, {EARLIER, "mend kept_until 0", "0", NULL},
        {"kept: t/a=dead,now,0,3,{r}\n", "mend kept 0", "0 kept t/a",
         "kept: t/a=dead,now,0,3,{r}\nkept_until: t/a@now\n"},
        {UNTIL, "mend kept_until 0", "0 kept t/a", ABSENT},
        {UNTIL DELAYED, "mend kept_until 0", "0 kept t/a", DELAYED}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_retention");
    TCase *group = examples_case("script_retention");
    tcase_add_test(group, a_delivered_job_is_kept_where_its_topic_says_so);
    tcase_add_test(group, of_many_each_is_kept_as_its_own_topic_says);
    tcase_add_test(group, a_cancelled_job_is_kept_from_any_state);
    tcase_add_test(group, a_dead_job_does_not_hold_its_id);
    tcase_add_test(group, a_dead_job_is_kept_when_it_is_replaced);
    tcase_add_test(group, a_dead_job_can_still_be_run_and_changed);
    tcase_add_test(group, a_kept_job_is_read_where_there_is_no_other);
    tcase_add_test(group, sweep_removes_what_was_kept_for_long_enough);
    tcase_add_test(group, sweep_removes_the_dead_of_topics_with_a_retention);
    tcase_add_test(group, sweep_walks_through_the_dead);
    tcase_add_test(group, audit_says_when_there_is_something_to_sweep);
    tcase_add_test(group, mend_repairs_what_is_kept);
    suite_add_tcase(suite, group);
    return suite;
}

/* Tests the histogram of due times. */
#include "support/keyspace.h"
#include "support/script_examples.h"
#include "support/script_runner.h"
#include "support/suite.h"

/* The histogram has two spans, which end in 1 s and in 1 min. An answer has: time when the walk through the
 * topics began; numbers of topics, of topics examined, of topics left; number of waiting jobs; numbers of
 * jobs that are overdue, due within 1 s, due within 1 min, due later. */
#define FIRST(most) "coming 0 " most " 0 0 1000 60000"

START_TEST(coming_counts_jobs_by_due_time)
{
    CHECK_EXAMPLES( //
        {ABSENT, FIRST("9"), "now 0 0 0 0 0 0 0 0", NULL}, {READY, FIRST("9"), "now 1 1 0 1 1 0 0 0", NULL},
        {COME, FIRST("9"), "now 1 1 0 1 1 0 0 0", NULL}, {DELAYED, FIRST("9"), "now 1 1 0 1 0 0 1 0", NULL},
        {LEASED, FIRST("9"), "now 1 1 0 0 0 0 0 0", NULL}, {DEAD, FIRST("9"), "now 1 1 0 0 0 0 0 0", NULL},
        /* A job that is due in the current ms is overdue. A job at the end of a span belongs to this span. */
        {"bucket:t: t/a@now t/b@now.5 t/c@now+1 t/d@now+1000 t/e@now+1001 t/f@now+60000 t/g@now+60001\n"
         "due: t@now\n"
         "jobs: t/a={r} t/b={r} t/c={r} t/d={r} t/e={r} t/f={r} t/g={r}\n",
         FIRST("9"), "now 1 1 0 7 2 2 2 1", NULL},
        /* A bucket with many jobs. */
        {"bucket:t: t/a@now-2 t/b@now+1 t/c@now+2 t/d@now+3 t/e@now+4 t/f@now+5 t/g@now+6 t/h@now+1000 "
         "t/i@now+1001 t/j@now+60001 t/k@now+60002 t/l@now+60003 t/m@now+60004 t/n@now+60005 "
         "t/o@now+60006 t/p@now+60007 t/q@now+60008\n"
         "due: t@now-2\n"
         "jobs: t/a={r} t/b={r} t/c={r} t/d={r} t/e={r} t/f={r} t/g={r} t/h={r} t/i={r} t/j={r} t/k={r} "
         "t/l={r} t/m={r} t/n={r} t/o={r} t/p={r} t/q={r}\n",
         FIRST("9"), "now 1 1 0 17 1 7 1 8", NULL}, );
}
END_TEST

#define THREE                                                                                                \
    "bucket:t: t/a@now-7\nbucket:u: u/a@now+5 u/b@now+2000\nbucket:v: v/a@now+70000\n"                       \
    "due: t@now-7 u@now+5 v@now+70000\n"                                                                     \
    "jobs: t/a={r} u/a={r} u/b={r} v/a={r}\n"

/* Later steps of a walk count from the time when the walk began. */
START_TEST(coming_goes_on_where_the_last_step_ended)
{
    CHECK_EXAMPLES( //
        {THREE, FIRST("9"), "now 3 3 0 4 1 1 1 1", NULL},
        {THREE, "coming 1 9 now-3000 3 1000 60000", "now-3000 3 3 0 4 0 0 2 1", NULL},
        {THREE, "coming 3 9 now 3 1000 60000", "now 3 3 0 4 0 0 0 0", NULL},
        /* Topics were removed since the walk began. */
        {THREE, "coming 2 9 now 7 1000 60000", "now 7 7 0 4 0 0 0 1", NULL}, );
}
END_TEST

/* The walk examines only the first block of topics: 2 of 3 topics in the first example, 1 topic in the
 * second. */
START_TEST(coming_samples_topics)
{
    CHECK_EXAMPLES({THREE, FIRST("2"), "now 3 2 0 4 1 1 1 0", NULL},
                   {THREE, FIRST("1"), "now 3 1 0 4 1 0 0 0", NULL}, );
}
END_TEST

/* A held job is already due, but its score in the bucket is the time until which it is held. */
START_TEST(coming_counts_held_jobs_as_overdue)
{
    CHECK_EXAMPLES( //
        {"bucket:t: t/a@now-9 t/b@now+500 t/c@now+2000 t/d@now+2000\n"
         "due: t@now-9\n"
         "held: t@now-8\n"
         "held:t: t/c@now-8 t/b@now-7\n"
         "jobs: t/a={r} t/b={r} t/c={r} t/d={r}\n",
         FIRST("9"), "now 1 1 0 4 3 0 1 0", NULL},
        /* The hold of this job is over. */
        {"bucket:t: t/a@now-1\ndue: t@now-1\nheld: t@now-8\nheld:t: t/a@now-8\njobs: t/a={r}\n", FIRST("9"),
         "now 1 1 0 1 1 0 0 0", NULL}, );
}
END_TEST

/* The first job (the head) of a fifo topic keeps its old due time while it waits for its next attempt. */
START_TEST(coming_counts_the_head_of_a_line_when_it_may_go)
{
#define LINE(line)                                                                                           \
    "bucket:t: t/a@now-9 t/b@now-8\n"                                                                        \
    "due: t@now+500\n"                                                                                       \
    "jobs: t/a={r} t/b={r}\n"                                                                                \
    "lines: t=" line "\n"                                                                                    \
    "topics: t={\"order\":\"fifo\"}\n"
    CHECK_EXAMPLES( //
        {LINE("now+500,now-9,t/a"), FIRST("9"), "now 1 1 0 2 1 1 0 0", NULL},
        {LINE("now-1,now-9,t/a"), FIRST("9"), "now 1 1 0 2 2 0 0 0", NULL},
        {LINE("now+500,now-7,t/a"), FIRST("9"), "now 1 1 0 2 2 0 0 0", NULL},
        {LINE("now+500,now-9,t/z"), FIRST("9"), "now 1 1 0 2 2 0 0 0", NULL},
        /* A breaker also holds the head. The time in the key lines counts, and not the time until which the
         * job is held. */
        {"bucket:t: t/a@now+2000 t/b@now+2001\n"
         "due: t@now+500\n"
         "held: t@now-8\n"
         "held:t: t/a@now-8\n"
         "jobs: t/a={r} t/b={r}\n"
         "lines: t=now+500,now+2000,t/a\n"
         "topics: t={\"order\":\"fifo\"}\n",
         FIRST("9"), "now 1 1 0 2 0 1 1 0", NULL}, );
#undef LINE
}
END_TEST

START_TEST(coming_counts_waiting_jobs_of_pull_topics)
{
    CHECK_EXAMPLES({"bucket:t: t/a@now-1000 t/b@now+900\n"
                    "due: t@inf\n"
                    "holders:t: t/c=p1,now-1000,-,now-1500\n"
                    "jobs: t/a={r} t/b={r} t/c={r}\n"
                    "pulled: t/c@now+3000\n"
                    "topics: t={\"delivery\":\"pull\"}\n",
                    FIRST("9"), "now 1 1 0 2 1 1 0 0", NULL}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_coming");
    TCase *tests = examples_case("coming");
    tcase_add_test(tests, coming_counts_jobs_by_due_time);
    tcase_add_test(tests, coming_goes_on_where_the_last_step_ended);
    tcase_add_test(tests, coming_samples_topics);
    tcase_add_test(tests, coming_counts_held_jobs_as_overdue);
    tcase_add_test(tests, coming_counts_the_head_of_a_line_when_it_may_go);
    tcase_add_test(tests, coming_counts_waiting_jobs_of_pull_topics);
    suite_add_tcase(suite, tests);
    return suite;
}

/* Tests topics with order fifo: the first job (the head) keeps its place until it ends, and the jobs after it
 * (the line) wait. */
#include "support/script_examples.h"
#include "support/suite.h"

#define FIFO   "topics: t={\"order\":\"fifo\"}\n"
#define JOBS   "jobs: t/a={a} t/b={b}\n"
#define FLIES  "bucket:t: t/b@now-5\ndue: t@inf\nholders:t: t/a=n1,now-9\nleases: t/a@now+5000\n"
#define WAITS  "bucket:t: t/a@now-9 t/b@now-5\n"
#define LINE   "lines: t=now+501,now-9,t/a\n"
#define AT_ONE "turns: t@1\n"

START_TEST(a_head_that_is_given_back_keeps_its_place_and_holds_the_line)
{
    CHECK_EXAMPLES( //
        {FLIES JOBS FIFO, "retry t/a n1 500 {a} ''", "1 wake now+501",
         WAITS "due: t@now+501\n" JOBS LINE FIFO},
        {FLIES JOBS FIFO, "release t/a n1 500 now - 0", "1 wake now+501",
         WAITS "due: t@now+501\nheld: t@now-9\nheld:t: t/a@now-9\n" JOBS LINE FIFO},
        {FLIES JOBS FIFO, "abandon n1 9 -9000 9000", "1",
         WAITS JOBS "lines: t=now-9,now-9,t/a\nready: t\n" FIFO AT_ONE},
        /* A job with an earlier due time that was scheduled during the attempt does not overtake the head. */
        {"bucket:t: t/b@now-20\ndue: t@inf\nholders:t: t/a=n1,now-9\nleases: t/a@now+5000\n" JOBS FIFO,
         "retry t/a n1 500 {a} ''", "1 wake now+501",
         "bucket:t: t/a@now-21.9995 t/b@now-20\ndue: t@now+501\n" JOBS
         "lines: t=now+501,now-21.9995,t/a\n" FIFO}, );
}
END_TEST

START_TEST(nothing_is_claimed_while_the_line_holds)
{
    CHECK_EXAMPLES( //
        {WAITS JOBS LINE FIFO AT_ONE, "claim 10 n5 5000 2 1000 0", "0 0 0 wake now+501",
         WAITS "due: t@now+501\n" JOBS LINE FIFO},
        {WAITS "due: t@now-1\n" JOBS "lines: t=now,now-9,t/a\n" FIFO, "carry me 1 9 '' 0 5000 500",
         "me 1 -1 -1 1 t",
         WAITS "carry: at=now beat=1 owner=me\n" JOBS "lines: t=now,now-9,t/a\nready: t\n" FIFO AT_ONE}, );
}
END_TEST

START_TEST(a_line_ends_with_its_job)
{
    CHECK_EXAMPLES( //
        /* The head is the only waiting job. */
        {"bucket:t: t/a@now-9\njobs: t/a={a}\nlines: t=now-1,now-9,t/a\n" FIFO AT_ONE,
         "claim 10 n5 5000 2 1000 0", "0 0 1 t/a now-9 {a} t {\"order\":\"fifo\"}",
         "holders:t: t/a=n5,now-9\njobs: t/a={a}\nleases: t/a@now+5000\n" FIFO},
        /* The same for a claim that first moves the topic from "due" to "turns". */
        {"bucket:t: t/a@now-9\ndue: t@now-9\njobs: t/a={a}\n" FIFO, "claim 10 n5 5000 2 1000 1",
         "0 0 1 t/a now-9 {a} t {\"order\":\"fifo\"} -1",
         "holders:t: t/a=n5,now-9\njobs: t/a={a}\nleases: t/a@now+5000\n" FIFO},
        {WAITS "due: t@now+501\n" JOBS LINE FIFO, "cancel t/a ''", "0",
         "bucket:t: t/b@now-5\njobs: t/b={b}\nready: t\n" FIFO AT_ONE},
        {WAITS "due: t@now+501\n" JOBS LINE FIFO, "run 0 t/a 0 '' '' ''", "now-9",
         WAITS JOBS "lines: t=0,now-9,t/a\nready: t\n" FIFO AT_ONE},
        /* The head stays the head after the clock has stepped back and a job with an earlier time has been
         * scheduled. */
        {"bucket:t: t/b@now-20 t/a@now-9\ndue: t@now-1\n" JOBS "lines: t=0,now-9,t/a\n" FIFO,
         "carry me 1 9 '' 0 5000 500", "me 1 -1 -1 1 t",
         "bucket:t: t/a@now-21.9995 t/b@now-20\ncarry: at=now beat=1 owner=me\n" JOBS
         "lines: t=now-9,now-21.9995,t/a\nready: t\n" FIFO AT_ONE},
        /* It does not become due before its own time. */
        {"bucket:t: t/b@now-20 t/a@now+300\ndue: t@now-1\n" JOBS "lines: t=0,now+300,t/a\n" FIFO,
         "carry me 1 9 '' 0 5000 500", "me 1 now+300 -1 1 ''",
         "bucket:t: t/a@now-21.9995 t/b@now-20\ncarry: at=now beat=1 owner=me\ndue: t@now+300\n" JOBS
         "lines: t=now+300,now-21.9995,t/a\n" FIFO},
        {WAITS "due: t@now+501\n" JOBS LINE FIFO, "run 0 t/b 0 '' '' ''", "now-5",
         WAITS "due: t@now+501\n" JOBS LINE FIFO},
        {WAITS "due: t@now+501\n" JOBS LINE FIFO, "settings t {\"order\":\"fifo\"} ''", "1",
         "bucket:t: t/b@now-5 t/a@now+501\n" JOBS "ready: t\n" AT_ONE}, );
}
END_TEST

START_TEST(a_held_job_of_a_topic_that_becomes_fifo_gets_its_own_place)
{
    CHECK_EXAMPLES( //
        {"bucket:t: t/b@now-5 t/a@now+300\nheld: t@now-9\nheld:t: t/a@now-9\n" JOBS AT_ONE,
         "settings t '' {\"order\":\"fifo\"}", "1 wake now+300",
         WAITS "due: t@now+300\nheld: t@now-9\nheld:t: t/a@now-9\n" JOBS
               "lines: t=now+300,now-9,t/a\n" FIFO}, );
}
END_TEST

START_TEST(a_dead_head_lets_the_next_job_go)
{
    CHECK_EXAMPLES( //
        {FLIES JOBS FIFO, "bury t/a n1 {d} ''", "1",
         "bucket:t: t/b@now-5\ndead: t/a@now\ndead:t: t/a@now\ndead_due: t@inf\njobs: t/b={b}\n"
         "kept: t/a=dead,now,0,3,{d}\nready: t\n" FIFO AT_ONE}, );
}
END_TEST

#define DEAD_HEAD                                                                                            \
    "topics: "                                                                                               \
    "t={\"order\":\"fifo\",\"paused\":true,\"pauseReason\":\"job\\u0020a\\u0020is\\u0020dead\"}\n"
#define BEHIND_IT "bucket:t: t/b@now-9\ndue: t@inf\njobs: t/b={b}\n"
#define AHEAD     "bucket:t: t/a@now-10.9995 t/b@now-9\ndue: t@inf\n"
#define NEW       "jobs: t/a={\"createdAt\":now,\"x\":1} t/b={b}\n"

START_TEST(a_dead_head_comes_back_as_the_head)
{
    CHECK_EXAMPLES( //
        {DEAD_HEAD DEAD BEHIND_IT, "run 0 t/a 0 '' {r} {x}", "now",
         AHEAD "jobs: t/a={x} t/b={b}\nlines: t=now,now-10.9995,t/a\n" DEAD_HEAD},
        {DEAD_HEAD DEAD BEHIND_IT, "replace 0 t/a 0 \"x\":1} ''", "(now now 0)",
         AHEAD NEW "lines: t=now,now-10.9995,t/a\n" DEAD_HEAD DEAD},
        /* The same request again leaves the job the head. */
        {DEAD_HEAD AHEAD "jobs: t/a={a} t/b={b}\nlines: t=now,now-10.9995,t/a\n",
         "replace 0 t/a 0 \"x\":1} ''", "(now now 1)",
         "bucket:t: t/a@now-10.999 t/b@now-9\ndue: t@inf\n" NEW "lines: t=now,now-10.999,t/a\n" DEAD_HEAD},
        /* The other jobs wait for a head that is due later. */
        {DEAD_HEAD DEAD BEHIND_IT, "schedule 0 86400000 t/a 500 \"x\":1} -", "now+501",
         AHEAD "jobs: t/a={\"createdAt\":now+1,\"x\":1} t/b={b}\nlines: t=now+501,now-10.9995,t/a\n" DEAD_HEAD
             DEAD},
        /* Another job of the topic has the place of its time. */
        {DEAD_HEAD DEAD BEHIND_IT, "replace 0 t/c 0 \"x\":1} ''", "(now now 0)",
         "bucket:t: t/b@now-9 t/c@now\ndue: t@inf\njobs: t/b={b} "
         "t/c={\"createdAt\":now,\"x\":1}\n" DEAD_HEAD DEAD},
        /* A topic that is no longer paused goes on. */
        {"topics: t={\"order\":\"fifo\"}\nturns: t@1\n" DEAD "bucket:t: t/b@now-9\njobs: t/b={b}\n",
         "replace 0 t/a 0 \"x\":1} ''", "(now now 0)",
         "bucket:t: t/b@now-9 t/a@now\n" NEW "topics: t={\"order\":\"fifo\"}\nturns: t@1\n" DEAD}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_order");
    TCase *tests = examples_case("order");
    tcase_add_test(tests, a_head_that_is_given_back_keeps_its_place_and_holds_the_line);
    tcase_add_test(tests, nothing_is_claimed_while_the_line_holds);
    tcase_add_test(tests, a_line_ends_with_its_job);
    tcase_add_test(tests, a_held_job_of_a_topic_that_becomes_fifo_gets_its_own_place);
    tcase_add_test(tests, a_dead_head_lets_the_next_job_go);
    tcase_add_test(tests, a_dead_head_comes_back_as_the_head);
    suite_add_tcase(suite, tests);
    return suite;
}

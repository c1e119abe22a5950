/* Tests the script demand, which counts the waiting jobs of each topic by due time. */
#include "support/keyspace.h"
#include "support/script_examples.h"
#include "support/script_runner.h"
#include "support/suite.h"

/* There are four cells of 10 s; the first one began 5 s ago. An answer has: the topic and the cell with which
 * the next call begins; then for each topic name, settings, time of its line, tokens of its rate, begin and
 * number of its window, when its first overdue job was due, and numbers of jobs by cell. */
#define FIRST "demand '' 0 -1 now-5000 10000 4"

START_TEST(demand_counts_jobs_by_cell)
{
    CHECK_EXAMPLES( //
        {ABSENT, FIRST, "'' -1", NULL}, {READY, FIRST, "'' -1 t '' 0 0 0 0 now-1000 -1 1", NULL},
        {DEAD, FIRST, "'' -1", NULL}, {LEASED, FIRST, "'' -1", NULL},
        /* A job of the current ms is overdue. Jobs after the last cell do not count. */
        {"bucket:t: t/a@now-70 t/b@now.5 t/c@now+1 t/d@now+4999 t/e@now+5000 t/f@now+34999 t/g@now+35000\n"
         "due: t@now\n"
         "jobs: t/a={r} t/b={r} t/c={r} t/d={r} t/e={r} t/f={r} t/g={r}\n",
         FIRST, "'' -1 t '' 0 0 0 0 now-70 -1 2 0 2 1 1 3 1", NULL}, );
}
END_TEST

#define TWO                                                                                                  \
    "bucket:t: t/a@now+7000\nbucket:u: u/a@now-5 u/b@now+6000 u/c@now+7000\n"                                \
    "due: u@now-5 t@now+7000\n"                                                                              \
    "jobs: t/a={r} u/a={r} u/b={r} u/c={r}\n"

START_TEST(demand_goes_on_where_the_last_call_ended)
{
    CHECK_EXAMPLES( //
        {TWO, FIRST, "'' -1 t '' 0 0 0 0 0 1 1 u '' 0 0 0 0 now-5 -1 1 1 2", NULL},
        {TWO, "demand t 0 -1 now-5000 10000 4", "'' -1 u '' 0 0 0 0 now-5 -1 1 1 2", NULL},
        {TWO, "demand u 0 -1 now-5000 10000 4", "'' -1", NULL},
        {TWO, "demand u 1 -1 now-5000 10000 4", "'' -1 u '' 0 0 0 0 now-5 -1 1 1 2", NULL},
        {TWO, "demand v 1 -1 now-5000 10000 4", "'' -1", NULL},
        /* The call begins within a topic: an earlier one has counted its first cells. */
        {TWO, "demand u 0 1 now-5000 10000 4", "'' -1 u '' 0 0 0 0 0 1 2", NULL},
        {TWO, "demand t 0 2 now-5000 10000 4", "'' -1 u '' 0 0 0 0 now-5 -1 1 1 2", NULL}, );
}
END_TEST

/* The answer has topics with settings even without jobs. Equal settings of neighbours come once. */
START_TEST(demand_tells_settings)
{
    CHECK_EXAMPLES( //
        {"rates: a=1700000000000000\n"
         "topics: a={\"rate\":{\"jobs\":1,\"per\":60,\"burst\":1}} b={\"paused\":true} c={\"paused\":true}\n",
         FIRST,
         "'' -1 a {\"rate\":{\"jobs\":1,\"per\":60,\"burst\":1}} 0 1700000000000000 0 0 0 '' b "
         "{\"paused\":true} "
         "0 0 0 0 0 '' c = 0 0 "
         "0 0 0 ''",
         NULL}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_demand");
    TCase *tests = examples_case("demand");
    tcase_add_test(tests, demand_counts_jobs_by_cell);
    tcase_add_test(tests, demand_goes_on_where_the_last_call_ended);
    tcase_add_test(tests, demand_tells_settings);
    suite_add_tcase(suite, tests);
    return suite;
}

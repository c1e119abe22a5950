/* Tests lanes: the jobs t/a of the key x, and t/b of the key y. */
#include "support/script_examples.h"
#include "support/suite.h"

#define MARK      "adc83b19e793" /* of a topic without settings, see lib/lanes.lua */
#define BUCKET    "bucket:t: t/a@now-1000 t/b@now-900\n"
#define JOBS      "jobs: t/a={r} t/b={r}\n"
#define LANES     "lanes: t=inf,5," MARK "\n"
#define RANKS     "ranks: t/a=5x t/b=5y\n"
#define PENDING   "lanes_pending:t: x@1 y@1\n"
#define IN_X      "lane:t|5x: t/a@now-1000\n"
#define IN_Y      "lane:t|5y: t/b@now-900\n"
#define TURNS     "lanes_turns:t: x@1 y@2\n"
#define WAITING   BUCKET JOBS IN_X IN_Y LANES PENDING TURNS RANKS "turns: t@1\n"
#define OF_T      "topics: t="
#define PULL      "{\"delivery\":\"pull\"}"
#define MARK_PULL "05df008e203e" /* of a topic with these settings */
#define LEASED_A  "holders:t: t/a=n1,now-1000\nlane_leases:t|x: t/a\nleases: t/a@now+3000\n"
#define CLAIM_ONE "claim 1 n5 5000 2 1000 0"

START_TEST(a_claim_takes_the_job_of_the_lane_whose_turn_it_is)
{
    CHECK_EXAMPLES( //
        {WAITING, CLAIM_ONE, "1 0 1 t/a now-1000 {r}",
         "bucket:t: t/b@now-900\nholders:t: t/a=n5,now-1000\n" JOBS IN_Y
         "lane_leases:t|x: t/a\n" LANES PENDING "lanes_turns:t: y@2\nleases: t/a@now+5000\n" RANKS
         "ready: t\nturns: t@1\n"}, );
}
END_TEST

#define BATCH      "{\"maxInFlight\":9,\"batch\":{\"size\":2,\"wait\":5}}"
#define MARK_BATCH "78bcff168b7a" /* of a topic with these settings */

START_TEST(each_lane_waits_for_its_batch)
{
    CHECK_EXAMPLES( //
        /* The lane x has two due jobs, y has one. */
        {"bucket:t: t/a@now-1000 t/b@now-900 t/c@now-800\njobs: t/a={r} t/b={r} t/c={r}\nlane:t|5x: "
         "t/a@now-1000 t/c@now-800\n" IN_Y "lanes: t=inf,5," MARK_BATCH
         "\nlanes_pending:t: x@2 y@1\nlanes_turns:t: x@1 y@2\nranks: t/a=5x t/b=5y t/c=5x\n" OF_T BATCH
         "\nturns: t@1\n",
         "claim 9 n5 5000 2 1000 0",
         "0 0 2 t/a now-1000 {r} t/c now-800 {r} t {\"maxInFlight\":9,\"batch\":{\"size\":2,\"wait\":5}} "
         "wake now+4100",
         "bucket:t: t/b@now-900\ndue: t@now+4100\nholders:t: t/a=n5,now-1000 t/c=n5,now-800\njobs: t/a={r} "
         "t/b={r} t/c={r}\nlane:t|5y: t/b@now-900\nlane_leases:t|x: t/a t/c\nlanes: "
         "t=inf,5,78bcff168b7a\nlanes_due:t: y@now+4100\nlanes_pending:t: y@1 x@2\nleases: t/a@now+5000 "
         "t/c@now+5000\nranks: t/a=5x t/b=5y t/c=5x\ntopics: "
         "t={\"maxInFlight\":9,\"batch\":{\"size\":2,\"wait\":5}}\n"},
        /* The first job of y has waited for 5 s. */
        {"bucket:t: t/b@now-5000\njobs: t/b={r}\nlane:t|5y: t/b@now-5000\n"
         "lanes: t=inf,5," MARK_BATCH "\nlanes_pending:t: y@1\nlanes_turns:t: y@2\nranks: t/b=5y\n" OF_T BATCH
         "\nturns: t@1\n",
         "claim 9 n5 5000 2 1000 0",
         "0 0 1 t/b now-5000 {r} t {\"maxInFlight\":9,\"batch\":{\"size\":2,\"wait\":5}}",
         "holders:t: t/b=n5,now-5000\njobs: t/b={r}\nlane_leases:t|y: t/b\nlanes: "
         "t=inf,5,78bcff168b7a\nlanes_pending:t: y@1\nleases: t/b@now+5000\nranks: t/b=5y\ntopics: "
         "t={\"maxInFlight\":9,\"batch\":{\"size\":2,\"wait\":5}}\n"},
        {"bucket:t: t/b@now-900\njobs: t/b={r}\n" IN_Y "lanes: t=inf,5," MARK_BATCH
         "\nlanes_due:t: y@now+4100\nlanes_pending:t: y@1\nranks: t/b=5y\n" OF_T BATCH "\ndue: t@now+4100\n",
         "keys t y 1 '' 1", "0 0 y '' 1 0 now-900 now+4100 batch", NULL}, );
}
END_TEST

START_TEST(the_end_of_an_attempt_ends_its_lane)
{
    CHECK_EXAMPLES( //
        {LEASED_A "jobs: t/a={r}\n" LANES "lanes_pending:t: x@1\nranks: t/a=5x\n", "complete t/a n1 ''", "1",
         ABSENT},
        {LEASED_A "jobs: t/a={r}\n" LANES "lanes_pending:t: x@1\nranks: t/a=5x\n", "cancel t/a ''", "1",
         "holders:t: t/a|n1=\nlane_leases:t|x: t/a|n1\n" LANES
         "lanes_pending:t: x@1\nlingering: t/a|n1@now+3000\nranks: t/a|n1=5x\n"}, );
}
END_TEST

START_TEST(a_key_has_values_of_its_own)
{
    CHECK_EXAMPLES( //
        {ABSENT, "key_set t x '' {\"weight\":2}", "1",
         "key_settings: t|x={\"weight\":2}\nlanes: =1\nlanes_pending:t: x@0\nmeta: format=6\n"},
        {ABSENT, "key_set t x {\"weight\":1} {\"weight\":2}", "0", NULL},
        {"key_settings: t|x={\"weight\":2}\nlanes: =1\nlanes_pending:t: x@0\n",
         "key_set t x {\"weight\":2} ''", "1", ABSENT}, );
}
END_TEST

START_TEST(keys_are_read_with_the_most_jobs_first)
{
    CHECK_EXAMPLES( //
        {ABSENT, "keys t '' 0 '' 9", "0 0", NULL},
        {WAITING, "keys t '' 0 '' 1", "1 0 y '' 1 0 now-900 '' ''", NULL},
        {WAITING, "keys t x 1 '' 1", "0 0 x '' 1 0 now-1000 '' ''", NULL}, );
}
END_TEST

START_TEST(a_worker_gets_jobs_of_one_key)
{
    CHECK_EXAMPLES( //
        {WAITING OF_T PULL "\n", "lease t 9 p1 30000 0 - =y",
         "(p1 0 0 -1 " PULL " t/b now-900 now now+30000 {r})",
         "bucket:t: t/a@now-1000\ndue: t@inf\nholders:t: t/b=p1,now,+,now-900\n" JOBS IN_X
         "lane_leases:t|y: t/b\nlanes: t=inf,5," MARK_PULL "\n" PENDING
         "lanes_turns:t: x@1\npulled: t/b@now+30000\n" RANKS OF_T PULL "\n"}, );
}
END_TEST

START_TEST(the_janitor_makes_the_index_right)
{
    CHECK_EXAMPLES( //
        {WAITING "lane_leases:t|x: t/z\n", "mend lanes 0", "(t lane t x", WAITING "ready: t\n"},
        {BUCKET JOBS LANES RANKS "turns: t@1\n", "mend turns 0", "0",
         BUCKET JOBS IN_X IN_Y LANES PENDING TURNS RANKS "ready: t\nturns: t@1\n"},
        {"ranks: t/z=5x\n" LANES, "mend ranks 0", "0 rank t/z", LANES}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_lanes");
    TCase *tests = examples_case("lanes");
    tcase_add_test(tests, a_claim_takes_the_job_of_the_lane_whose_turn_it_is);
    tcase_add_test(tests, the_end_of_an_attempt_ends_its_lane);
    tcase_add_test(tests, a_key_has_values_of_its_own);
    tcase_add_test(tests, keys_are_read_with_the_most_jobs_first);
    tcase_add_test(tests, a_worker_gets_jobs_of_one_key);
    tcase_add_test(tests, the_janitor_makes_the_index_right);
    tcase_add_test(tests, each_lane_waits_for_its_batch);
    suite_add_tcase(suite, tests);
    return suite;
}

/* Tests limits that several topics share: t and u share the limit x. */
#include "support/script_examples.h"
#include "support/suite.h"

#define CLAIM           "claim 10 n5 5000 2 1000 0"
#define ONE             "{\"maxInFlight\":1}"
#define TWO             "{\"maxInFlight\":2}"
#define STOPPED         "{\"paused\":true}"
#define NAMED           "{\"limit\":\"x\"}"
#define TOPICS          "topics: t=" NAMED " u=" NAMED "\n"
#define LIMIT(settings) "limits: x=" settings "\n"

#define WAIT_T   "bucket:t: t/a@now-1000\n"
#define WAIT_U   "bucket:u: u/b@now-900\n"
#define JOBS     "jobs: t/a={r} u/b={r}\n"
#define IN_TURNS "turns: t@1 u@2\n"
#define FIRST_T  "waiting:x: t@1 u@2\n"

START_TEST(a_claim_leases_no_more_than_the_limit_allows)
{
    CHECK_EXAMPLES( //
        {WAIT_T WAIT_U JOBS IN_TURNS FIRST_T TOPICS LIMIT(ONE), CLAIM, "0 0 1 t/a now-1000 {r} t " NAMED,
         "bucket:u: u/b@now-900\ndue: u@inf\nholders:t: t/a=n5,now-1000\njobs: t/a={r} u/b={r}\nleases: "
         "t/a@now+5000\n"
         "limited: t=1,x\nlimits: x=" ONE "\nlimits_used: x=1\n" TOPICS "waiting:x: u@2\n"},
        {WAIT_T WAIT_U JOBS IN_TURNS FIRST_T TOPICS LIMIT(TWO), CLAIM,
         "0 0 2 t/a now-1000 {r} u/b now-900 {r} t " NAMED " u " NAMED,
         "holders:t: t/a=n5,now-1000\nholders:u: u/b=n5,now-900\njobs: t/a={r} u/b={r}\nleases: t/a@now+5000 "
         "u/b@now+5000\nlimited: t=1,x u=1,x\nlimits: x=" TWO "\nlimits_used: x=2\n" TOPICS}, );
}
END_TEST

#define PULL_T "topics: t={\"delivery\":\"pull\",\"limit\":\"x\"} u=" NAMED "\n"
#define OVER                                                                                                 \
    "holders:u: u/b=n1,now-900 u/c=n1,now-900\nleases: u/b@now+3000 u/c@now+3000\nlimited: u=2,x\n"          \
    "limits_used: x=2\njobs: t/a={r} u/b={r} u/c={r}\n"

START_TEST(a_worker_waits_for_a_limit_that_was_lowered)
{
    CHECK_EXAMPLES( //
        {WAIT_T OVER PULL_T LIMIT(ONE), "lease t 1 p1 5000 3000 - ''",
         "(p1 0 0 -1 {\"delivery\":\"pull\",\"limit\":\"x\"})",
         WAIT_T OVER PULL_T "pull_waiters: t@now+3000\n" LIMIT(ONE)}, );
}
END_TEST

#define USED "holders:u: u/b=n1,now-900\nleases: u/b@now+3000\nlimited: u=1,x\nlimits_used: x=1\n"

START_TEST(a_topic_waits_for_its_limit_and_is_offered_when_a_place_is_free)
{
    CHECK_EXAMPLES( //
        {WAIT_T USED JOBS TOPICS LIMIT(ONE) "due: t@now-1000\n", "carry me 0 10 '' '' 5000 1000 -1",
         "me 1 -1 3000 1 ''",
         "carry: at=now beat=1 owner=me\n" WAIT_T USED JOBS TOPICS LIMIT(ONE) "due: t@inf\nwaiting:x: t@1\n"},
        {WAIT_T USED JOBS TOPICS LIMIT(ONE) "due: t@inf\nwaiting:x: t@1\n", "complete u/b n1 ''", "1",
         WAIT_T "jobs: t/a={r}\n" LIMIT(ONE) "ready: t\n" TOPICS "turns: t@1\nwaiting:x: t@1\n"}, );
}
END_TEST

START_TEST(a_limit_is_changed_and_deleted_under_the_text_that_was_read)
{
    CHECK_EXAMPLES( //
        {ABSENT, "limit_set x '' " ONE, "1", "limits: x=" ONE "\nmeta: format=5\n"},
        {ABSENT, "limit_set x " TWO " " ONE, "0", NULL}, {LIMIT(ONE), "limit_set x " TWO " " ONE, "0", NULL},
        {LIMIT(ONE), "limit_set x " ONE " ''", "1", ABSENT},
        {LIMIT(ONE) "limit_users:x: t@0 u*@0\n", "limit_set x " ONE " ''", "2 t u*", NULL},
        {WAIT_T JOBS LIMIT(STOPPED) TOPICS "due: t@inf\nwaiting:x: t@1\n", "limit_set x " STOPPED " " ONE,
         "1", WAIT_T JOBS LIMIT(ONE) "meta: format=5\nready: t\n" TOPICS "turns: t@1\nwaiting:x: t@1\n"}, );
}
END_TEST

START_TEST(settings_name_a_limit_that_exists)
{
    CHECK_EXAMPLES( //
        {ABSENT, "settings t '' " NAMED, "-37", NULL},
        {ABSENT, "set_patterns 0 '' 3 1 t* " NAMED, "-37", NULL},
        {LIMIT(ONE), "settings t '' " NAMED, "1", LIMIT(ONE) "limit_users:x: t@0\ntopics: t=" NAMED "\n"},
        {LIMIT(ONE) "limit_users:x: t@0\ntopics: t=" NAMED "\n", "settings t " NAMED " ''", "1",
         LIMIT(ONE)}, );
}
END_TEST

START_TEST(limits_are_read)
{
    CHECK_EXAMPLES( //
        {ABSENT, "limits x '' 1", "0", NULL}, {ABSENT, "limits '' '' 9", "0", NULL},
        {WAIT_T USED JOBS TOPICS LIMIT(ONE) "due: t@inf\nwaiting:x: t@1\n", "limits x '' 1",
         "0 x " ONE " 1 1 -1 t", NULL},
        {"limits: x=" ONE " y=" TWO "\n", "limits '' '' 1", "1 x " ONE " 0 0 -1 ''", NULL},
        {"limits: x=" ONE " y=" TWO "\n", "limits '' x 1", "0 y " TWO " 0 0 -1 ''", NULL}, );
}
END_TEST

START_TEST(the_janitor_counts_again)
{
    CHECK_EXAMPLES( //
        {"limited: t=2,x\nlimits: x=" ONE "\nlimits_used: x=5\n" TOPICS, "mend limited 0", "0 limit x",
         "limits: x=" ONE "\n" TOPICS}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_limits");
    TCase *tests = examples_case("limits");
    tcase_add_test(tests, a_claim_leases_no_more_than_the_limit_allows);
    tcase_add_test(tests, a_worker_waits_for_a_limit_that_was_lowered);
    tcase_add_test(tests, a_topic_waits_for_its_limit_and_is_offered_when_a_place_is_free);
    tcase_add_test(tests, a_limit_is_changed_and_deleted_under_the_text_that_was_read);
    tcase_add_test(tests, settings_name_a_limit_that_exists);
    tcase_add_test(tests, limits_are_read);
    tcase_add_test(tests, the_janitor_counts_again);
    suite_add_tcase(suite, tests);
    return suite;
}

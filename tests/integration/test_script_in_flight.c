/* Tests that the attempt of a cancelled job counts as in flight until it ends or its deadline passes. */
#include "support/script_examples.h"
#include "support/suite.h"

#define PLACE "holders:t: t/a|n1=\n"

/* The topic's limit is 1, so its next job waits until the attempt of the cancelled job is over. */
#define ONE  "topics: t={\"maxInFlight\":1}\n"
#define NEXT "bucket:t: t/b@now-1\njobs: t/b={b}\n"
#define HELD LINGERING ONE NEXT "due: t@inf\n"
#define FREE ONE NEXT "ready: t\nturns: t@1\n"

/* Job t/a was cancelled during its attempt. A new job has this id now, and is leased with the nonce n2. */
#define TWICE                                                                                                \
    "holders:t: t/a=n2,now-7 t/a|n1=\n"                                                                      \
    "jobs: t/a={r}\n"                                                                                        \
    "leases: t/a@now+4000\n"                                                                                 \
    "lingering: t/a|n1@now+3000\n"

START_TEST(cancel_leaves_a_running_attempt_its_place)
{
    CHECK_EXAMPLES( //
        {LEASED, "cancel t/a ''", "1", LINGERING},
        {LEASED_AGAIN, "cancel t/a ''", "1", "holders:t: t/a|n2=\nlingering: t/a|n2@now+3000\n"},
        {EXPIRED, "cancel t/a ''", "1", PLACE "lingering: t/a|n1@now\n"},
        {LEASED ONE "bucket:t: t/b@now-1\ndue: t@inf\n", "cancel t/a ''", "1",
         LINGERING ONE "bucket:t: t/b@now-1\ndue: t@inf\n"},
        /* Both attempts under the same id count as in flight. */
        {TWICE, "cancel t/a ''", "1",
         "holders:t: t/a|n1= t/a|n2=\nlingering: t/a|n1@now+3000 t/a|n2@now+4000\n"}, );
}
END_TEST

START_TEST(a_lingering_attempt_counts_against_the_limit)
{
    CHECK_EXAMPLES( //
        {HELD, "claim 10 n5 5000 2 1000 0", "0 0 0", NULL},
        {HELD, "schedule 0 86400000 t/a 0 \"x\":1} -", "now",
         LINGERING ONE
         "bucket:t: t/b@now-1 t/a@now\ndue: t@inf\njobs: t/a={\"createdAt\":now,\"x\":1} t/b={b}\n"},
        {HELD, "carry me 1 9 '' 0 5000 500", "me 1 -1 3000 0 ''", HELD "carry: at=now beat=1 owner=me\n"}, );
}
END_TEST

START_TEST(the_end_of_a_lingering_attempt_frees_its_place)
{
    CHECK_EXAMPLES( //
        {HELD, "complete t/a n1 ''", "0", FREE}, {HELD, "retry t/a n1 5 {x} ''", "0", FREE},
        {HELD, "bury t/a n1 {x} ''", "0", FREE}, {HELD, "release t/a n1 -1 now - 0", "0", FREE},
        {HELD, "release t/a n1 5 now - 0", "0", FREE}, {HELD, "complete t/a n2 ''", "0", NULL},
        {HELD, "complete t/b n1 ''", "0", NULL}, {HELD, "complete t/a n1 '' t/a n1 ''", "0 0", FREE},
        {HELD, "abandon n1 100", "0", FREE}, {HELD, "abandon n2 100", "0", NULL},
        {TWICE, "complete t/a n1 ''", "0", "holders:t: t/a=n2,now-7\njobs: t/a={r}\nleases: t/a@now+4000\n"},
        {TWICE, "complete t/a n2 ''", "1", LINGERING},
        {TWICE, "complete t/a n1 '' t/a n2 ''", "0 1", ABSENT}, );
}
END_TEST

START_TEST(renew_keeps_the_place_of_a_lingering_attempt)
{
    CHECK_EXAMPLES( //
        {LINGERING, "renew 5000 t/a n1", "2", PLACE "lingering: t/a|n1@now+5000\n"},
        {LINGERING, "renew 5000 t/a n2", "0", NULL}, {LINGERING, "renew 5000 t/b n1", "0", NULL},
        {TWICE, "renew 5000 t/a n1 t/a n2", "2 1",
         "holders:t: t/a=n2,now-7 t/a|n1=\njobs: t/a={r}\nleases: t/a@now+5000\nlingering: "
         "t/a|n1@now+5000\n"}, );
}
END_TEST

#define LOST_PLACE PLACE "lingering: t/a|n1@now\n" ONE NEXT "due: t@inf\n"
#define FAR_PLACE  PLACE "lingering: t/a|n1@now+6001\n" ONE NEXT "due: t@inf\n"

START_TEST(the_place_of_a_lost_attempt_expires)
{
    CHECK_EXAMPLES( //
        {LOST_PLACE, "carry me 1 9 '' 0 5000 500", "me 1 -1 0 0 ''",
         LOST_PLACE "carry: at=now beat=1 owner=me\n"},
        {LOST_PLACE, "recover 5000 now 10 1 !r", "0 0", FREE},
        {LOST_PLACE, "recover 5000 now+1001 10 1 !r", "-1", NULL},
        {HELD, "recover 5000 now 10 1 !r", "0 0", NULL},
        /* The deadline was written before Redis's clock stepped back. */
        {FAR_PLACE, "recover 5000 now 10 1 !r", "0 0", FREE},
        /* One call removes a bounded number of expired entries of cancelled jobs' attempts. */
        {"holders:t: t/a|n1= t/a|n2=\nlingering: t/a|n1@now-2 t/a|n2@now-1\n", "recover 5000 now 1 1 !r",
         "0 0", "holders:t: t/a|n2=\nlingering: t/a|n2@now-1\n"}, );
}
END_TEST

START_TEST(mend_knows_lingering_attempts)
{
    CHECK_EXAMPLES( //
        {HELD, "mend due 0", "0", NULL},
        {PLACE ONE NEXT "due: t@inf\n", "mend due 0", "0 holder t/a n1", FREE}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_in_flight");
    TCase *tests = examples_case("in flight");
    tcase_add_test(tests, cancel_leaves_a_running_attempt_its_place);
    tcase_add_test(tests, a_lingering_attempt_counts_against_the_limit);
    tcase_add_test(tests, the_end_of_a_lingering_attempt_frees_its_place);
    tcase_add_test(tests, renew_keeps_the_place_of_a_lingering_attempt);
    tcase_add_test(tests, the_place_of_a_lost_attempt_expires);
    tcase_add_test(tests, mend_knows_lingering_attempts);
    suite_add_tcase(suite, tests);
    return suite;
}

/* Tests that the attempt of a cancelled job counts as in flight until it ends or its deadline passes, and
 * that of the jobs that have lost several consumers (suspects), at most one is in flight. */
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

#define REPLACED                                                                                             \
    "bucket:t: t/a@now+5\ndue: t@now+5\nholders:t: t/a|n1=replaced\n"                                        \
    "jobs: t/a={\"createdAt\":now,\"x\"}\nlingering: t/a|n1@now+3000\n"
#define NEW "bucket:t: t/a@now+5\ndue: t@now+5\njobs: t/a={\"createdAt\":now,\"x\"}\n"

START_TEST(the_attempt_of_a_replaced_job_keeps_its_place_and_cannot_touch_the_new_job)
{
    CHECK_EXAMPLES( //
        {LEASED, "replace 0 t/a @now+5 \"x\"} ''", "(now+5 now 2) wake now+5", REPLACED},
        /* The lost consumers of the old job are not those of the new one. */
        {LEASED_AGAIN, "replace 0 t/a @now+5 \"x\"} ''", "(now+5 now 2) wake now+5",
         "bucket:t: t/a@now+5\ndue: t@now+5\nholders:t: t/a|n2=replaced\n"
         "jobs: t/a={\"createdAt\":now,\"x\"}\nlingering: t/a|n2@now+3000\n"},
        /* Recovery has leased the job to bury it: no attempt is running. */
        {"crashes: t/a=5,n9\nholders:t: t/a=!r,now-9\njobs: t/a={r}\nleases: t/a@now+9\n",
         "replace 0 t/a @now+5 \"x\"} ''", "(now+5 now 2) wake now+5", NEW},
        /* With a limit of 1, the new job is due and waits for the end of the old attempt. */
        {LEASED ONE, "replace 0 t/a @now \"x\"} ''", "(now now 2)",
         "bucket:t: t/a@now\ndue: t@inf\nholders:t: t/a|n1=replaced\n"
         "jobs: t/a={\"createdAt\":now,\"x\"}\nlingering: t/a|n1@now+3000\n" ONE},
        {REPLACED, "complete t/a n1 2", "-36", NEW}, {REPLACED, "retry t/a n1 5 {x} 2", "-36", NEW},
        {REPLACED, "bury t/a n1 {x} 2", "-36", NEW}, {REPLACED, "release t/a n1 5 now - 0", "-36", NEW},
        {REPLACED, "complete t/a n2 2", "0", NULL}, {REPLACED, "abandon n1 100 -9000 9000", "0", NEW},
        {REPLACED, "renew t/a n1 5000 ''", "-36",
         "bucket:t: t/a@now+5\ndue: t@now+5\nholders:t: t/a|n1=replaced\n"
         "jobs: t/a={\"createdAt\":now,\"x\"}\nlingering: t/a|n1@now+5000\n"},
        /* A second PUT replaces the job that waits; the attempt of the first one still lingers. */
        {REPLACED, "replace 0 t/a @now+6 \"y\"} ''", "(now+6 now 1)",
         "bucket:t: t/a@now+6\ndue: t@now+6\nholders:t: t/a|n1=replaced\n"
         "jobs: t/a={\"createdAt\":now,\"y\"}\nlingering: t/a|n1@now+3000\n"},
        /* A cancel of the new job does not meet the attempt of the old one. */
        {REPLACED, "cancel t/a ''", "0", "holders:t: t/a|n1=replaced\nlingering: t/a|n1@now+3000\n"}, );
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
        {HELD, "abandon n1 100 -9000 9000", "0", FREE}, {HELD, "abandon n2 100 -9000 9000", "0", NULL},
        {TWICE, "complete t/a n1 ''", "0", "holders:t: t/a=n2,now-7\njobs: t/a={r}\nleases: t/a@now+4000\n"},
        {TWICE, "complete t/a n2 ''", "1", LINGERING},
        {TWICE, "complete t/a n1 '' t/a n2 ''", "0 1", ABSENT}, );
}
END_TEST

START_TEST(renew_keeps_the_place_of_a_lingering_attempt)
{
    CHECK_EXAMPLES( //
        {LINGERING, "renew t/a n1 5000 ''", "-38", PLACE "lingering: t/a|n1@now+5000\n"},
        {LINGERING, "renew t/a n2 5000 ''", "0", NULL}, {LINGERING, "renew t/b n1 5000 ''", "0", NULL},
        {TWICE, "renew t/a n1 5000 '' t/a n2 5000 ''", "-38 now+5000",
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
        {LOST_PLACE, "recover consumers 5000 now 10 1 !r", "0 0", FREE},
        {LOST_PLACE, "recover consumers 5000 now+1001 10 1 !r", "-1", NULL},
        {HELD, "recover consumers 5000 now 10 1 !r", "0 0", NULL},
        /* The deadline was written before Redis's clock stepped back. */
        {FAR_PLACE, "recover consumers 5000 now 10 1 !r", "0 0", FREE},
        /* One call removes a bounded number of expired entries of cancelled jobs' attempts. */
        {"holders:t: t/a|n1= t/a|n2=\nlingering: t/a|n1@now-2 t/a|n2@now-1\n",
         "recover consumers 5000 now 1 1 !r", "0 0", "holders:t: t/a|n2=\nlingering: t/a|n2@now-1\n"}, );
}
END_TEST

START_TEST(mend_knows_lingering_attempts)
{
    CHECK_EXAMPLES( //
        {HELD, "mend due 0", "0", NULL},
        {PLACE ONE NEXT "due: t@inf\n", "mend due 0", "0 holder t/a n1", FREE}, );
}
END_TEST

/* The jobs a and b of topic t are suspects, c is not. */
#define LOSSES "crashes: t/a=2,n0 t/b=4,n0 t/c=1,n0\n"
#define JOBS   "jobs: t/a={1} t/b={2} t/c={3}\n"
#define CLAIM  "claim 10 n5 5000 10 1000 0"

/* Job a is in flight, and b was set aside at the time "now-9". */
#define ASIDE(time) "bucket:t: t/b@" time "\ndue: t@" time "\nheld: t@now-7\nheld:t: t/b@now-7\n"
#define FLIGHT      "holders:t: t/a=n1,now-8 t/c=n1,now-8\nleases: t/a@now+3000 t/c@now+3000\n" LOSSES
#define WAITS       "suspects: t/a|n1@0 t/b@now-9\n"
#define BEFORE      FLIGHT WAITS ASIDE("now+500") JOBS

#define MORTAL "{\"createdAt\":1,\"head\":\"1;now+9;0;0;-;19;\",\"url\":\"http://h/\"}"

START_TEST(a_claim_leases_one_suspect_beside_all_other_jobs)
{
    CHECK_EXAMPLES( //
        {"bucket:t: t/a@now-8 t/b@now-7 t/c@now-6\nturns: t@1\n" LOSSES JOBS, CLAIM,
         "0 0 2 t/a now-8 {1} t/c now-6 {3} wake now+600000",
         "holders:t: t/a=n5,now-8 t/c=n5,now-6\nleases: t/a@now+5000 t/c@now+5000\n" LOSSES JOBS
         "suspects: t/a|n5@0 t/b@now\n" ASIDE("now+600000")},
        /* The suspect in flight belongs to another topic. */
        {"bucket:t: t/b@now-7\nturns: t@1\njobs: t/b={2} u/a={1}\ncrashes: t/b=2,n0 u/a=2,n0\n"
         "holders:u: u/a=n1,now\nleases: u/a@now+9\nsuspects: u/a|n1@0\n",
         CLAIM, "0 0 0 wake now+600000",
         "jobs: t/b={2} u/a={1}\ncrashes: t/b=2,n0 u/a=2,n0\nholders:u: u/a=n1,now\nleases: u/a@now+9\n"
         "suspects: u/a|n1@0 t/b@now\n" ASIDE("now+600000")},
        /* The entry of the job that is set aside has the end of an earlier lease, and gets the job's expiry.
         */
        {"bucket:t: t/b@now-7\nturns: t@1\njobs: t/b=" MORTAL " u/a={1}\ncrashes: t/b=2,n0 u/a=2,n0\n"
         "expiries: t/b@now+3000\nholders:u: u/a=n1,now\nleases: u/a@now+9\nsuspects: u/a|n1@0\n",
         CLAIM, "0 0 0 wake now+600000",
         "jobs: t/b=" MORTAL " u/a={1}\ncrashes: t/b=2,n0 u/a=2,n0\nexpiries: t/b@now+9\n"
         "holders:u: u/a=n1,now\nleases: u/a@now+9\nsuspects: u/a|n1@0 t/b@now\n" ASIDE("now+600000")},
        /* The attempt of a cancelled suspect still runs. */
        {"bucket:t: t/b@now-7\nturns: t@1\njobs: t/b={2}\ncrashes: t/b=2,n0\n"
         "holders:t: t/a|n1=\nlingering: t/a|n1@now+9\nsuspects: t/a|n1@0\n",
         CLAIM, "0 0 0 wake now+600000",
         "jobs: t/b={2}\ncrashes: t/b=2,n0\nholders:t: t/a|n1=\nlingering: t/a|n1@now+9\n"
         "suspects: t/a|n1@0 t/b@now\n" ASIDE("now+600000")},
        /* The entry of an attempt that has ended has no effect; nor has a job that was offered and not
           claimed. */
        {"bucket:t: t/b@now-7\nturns: t@1\njobs: t/a={1} t/b={2}\ncrashes: t/b=2,n0\n"
         "holders:t: t/a=n2,now\nleases: t/a@now+9\nsuspects: t/a|n1@0\n",
         CLAIM, "0 0 1 t/b now-7 {2}",
         "jobs: t/a={1} t/b={2}\ncrashes: t/b=2,n0\nholders:t: t/a=n2,now t/b=n5,now-7\n"
         "leases: t/a@now+9 t/b@now+5000\nsuspects: t/b|n5@0\n"},
        {ASIDE("now") "jobs: t/b={2}\ncrashes: t/b=2,n0\nsuspects: t/a|@-now t/b@now-9\n",
         "claim 10 n5 5000 10 1000 2", "0 0 1 t/b now-7 now {2} -1",
         "jobs: t/b={2}\ncrashes: t/b=2,n0\nholders:t: t/b=n5,now-7\nleases: t/b@now+5000\n"
         "suspects: t/b|n5@0\n"},
        /* A hold that ends while the other suspect is still in flight begins again. */
        {"holders:t: t/a=n1,now-8\nleases: t/a@now+9\n" LOSSES WAITS
         "bucket:t: t/b@now\nturns: t@1\nheld: t@now-7\nheld:t: t/b@now-7\njobs: t/a={1} t/b={2}\n",
         CLAIM, "0 0 0 wake now+600000",
         "holders:t: t/a=n1,now-8\nleases: t/a@now+9\n" LOSSES
         "suspects: t/a|n1@0 t/b@now\n" ASIDE("now+600000") "jobs: t/a={1} t/b={2}\n"},
        /* A fifo topic keeps its order: it waits with its first job. */
        {"bucket:t: t/b@now-7 t/c@now-6\nturns: t@1\njobs: t/b={2} t/c={3} u/a={1}\ncrashes: t/b=2,n0 "
         "u/a=2,n0\n"
         "holders:u: u/a=n1,now\nleases: u/a@now+9\nsuspects: u/a|n1@0\ntopics: t={\"order\":\"fifo\"}\n",
         CLAIM, "0 0 0 t {\"order\":\"fifo\"} wake now+600000",
         "bucket:t: t/b@now-7 t/c@now-6\ndue: t@now+600000\nheld: t@now-7\nheld:t: t/b@now-7\n"
         "lines: t=now+600000,now-7,t/b\njobs: t/b={2} t/c={3} u/a={1}\ncrashes: t/b=2,n0 u/a=2,n0\n"
         "holders:u: u/a=n1,now\nleases: u/a@now+9\nsuspects: u/a|n1@0 t/b@now\ntopics: "
         "t={\"order\":\"fifo\"}\n"},
        /* The number of jobs that a claim sets aside is limited. */
        {"bucket:t: t/a@now-8 t/b@now-7 t/c@now-6\nturns: t@1\njobs: t/a={1} t/b={2} t/c={3} u/a={5}\n"
         "crashes: t/b=2,n0 t/a=2,n0 t/c=2,n0 u/a=2,n0\nholders:u: u/a=n1,now\nleases: u/a@now+9\n"
         "suspects: u/a|n1@0\n",
         "claim 2 n5 5000 10 1000 0", "1 0 0",
         "bucket:t: t/c@now-6 t/a@now+600000 t/b@now+600000.0005\nturns: t@1\njobs: t/a={1} t/b={2} t/c={3} "
         "u/a={5}\n"
         "crashes: t/a=2,n0 t/b=2,n0 t/c=2,n0 u/a=2,n0\nholders:u: u/a=n1,now\nleases: u/a@now+9\nready: t\n"
         "held: t@now-8\nheld:t: t/a@now-8 t/b@now-7\nsuspects: u/a|n1@0 t/a@now t/b@now\n"}, );
}
END_TEST

#define OFFERED "bucket:t: t/b@now-7\nready: t\nturns: t@1\nsuspects: t/b|@-now\n"

START_TEST(the_end_of_a_suspects_attempt_offers_the_next_suspect)
{
    CHECK_EXAMPLES( //
        {BEFORE, "complete t/a n1 ''", "1",
         OFFERED "jobs: t/b={2} t/c={3}\nholders:t: t/c=n1,now-8\nleases: t/c@now+3000\n"
                 "crashes: t/b=4,n0 t/c=1,n0\n"},
        {BEFORE, "retry t/a n1 60000 {x} ''", "1",
         "bucket:t: t/b@now-7 t/a@now+60001\ncrashes: t/b=4,n0 t/c=1,n0\nholders:t: t/c=n1,now-8\n"
         "jobs: t/a={x} t/b={2} t/c={3}\nleases: t/c@now+3000\nready: t\nsuspects: t/b|@-now\nturns: t@1\n"},
        {BEFORE, "release t/a n1 -1 now - 0", "1",
         "bucket:t: t/a@now-8 t/b@now-7\nholders:t: t/c=n1,now-8\nleases: t/c@now+3000\n" LOSSES JOBS
         "ready: t\nsuspects: t/b|@-now\nturns: t@1\n"},
        /* Other jobs' ends change nothing, nor does the cancellation of the suspect while its attempt runs.
         */
        {BEFORE, "complete t/c n1 ''", "1",
         WAITS ASIDE(
             "now+500") "jobs: t/a={1} t/b={2}\n"
                        "holders:t: t/a=n1,now-8\nleases: t/a@now+3000\ncrashes: t/a=2,n0 t/b=4,n0\n"},
        {BEFORE, "cancel t/a ''", "1",
         WAITS ASIDE(
             "now+500") "jobs: t/b={2} t/c={3}\n"
                        "holders:t: t/a|n1= t/c=n1,now-8\nleases: t/c@now+3000\nlingering: t/a|n1@now+3000\n"
                        "crashes: t/b=4,n0 t/c=1,n0\n"},
        {BEFORE, "release t/c n1 -1 now - 0", "1",
         "bucket:t: t/c@now-8 t/b@now+500\nheld: t@now-7\nheld:t: t/b@now-7\nholders:t: t/a=n1,now-8\n" JOBS
             LOSSES "leases: t/a@now+3000\nready: t\nturns: t@1\n" WAITS},
        /* A waiting job that was cancelled, or was changed by its owner, is not offered. */
        {FLIGHT "suspects: t/a|n1@0 t/x@now-20 t/y@now-19 t/b@now-9\nbucket:t: t/b@now+500 t/y@now+500\n"
                "due: t@now+500\nheld: t@now-7\nheld:t: t/b@now-7\njobs: t/a={1} t/b={2} t/c={3} t/y={y}\n",
         "complete t/a n1 ''", "1",
         "bucket:t: t/b@now-7 t/y@now+500\njobs: t/b={2} t/c={3} t/y={y}\nholders:t: t/c=n1,now-8\n"
         "leases: t/c@now+3000\ncrashes: t/b=4,n0 t/c=1,n0\nready: t\nsuspects: t/b|@-now\nturns: t@1\n"},
        /* The head of a fifo topic is claimed again, and its topic with it. */
        {"bucket:t: t/b@now-7 t/c@now-6\ndue: t@now+600000\nheld: t@now-7\nheld:t: t/b@now-7\n"
         "lines: t=now+600000,now-7,t/b\njobs: t/b={2} t/c={3} u/a={1}\ncrashes: t/b=2,n0 u/a=2,n0\n"
         "holders:u: u/a=n1,now\nleases: u/a@now+9\nsuspects: u/a|n1@0 t/b@now\ntopics: "
         "t={\"order\":\"fifo\"}\n",
         "complete u/a n1 ''", "1",
         "bucket:t: t/b@now-7 t/c@now-6\nlines: t=now-7,now-7,t/b\njobs: t/b={2} t/c={3}\ncrashes: t/b=2,n0\n"
         "ready: t\nturns: t@1\nsuspects: t/b|@-now\ntopics: t={\"order\":\"fifo\"}\n"},
        /* The suspect in flight has lost its consumer. */
        {"holders:u: u/a=n1,now\nleases: u/a@now\ncrashes: t/b=2,n0 u/a=2,n0\nsuspects: u/a|n1@0 "
         "t/b@now\n" ASIDE("now+600000") "jobs: t/b={2} u/a={1}\n",
         "recover consumers 5000 now 256 1 !r", "1 0 wake now+1665",
         OFFERED
         "bucket:u: u/a@now+1665\ncrashes: t/b=2,n0 u/a=3,n1\ndue: u@now+1665\njobs: t/b={2} u/a={1}\n"}, );
}
END_TEST

#define ON_OFFER(time)                                                                                       \
    "bucket:t: t/b@now+500\nbucket:u: u/a@now\nturns: u@1\nready: u\nheld: t@now-7\nheld:t: "                \
    "t/b@now-7\ndue: t@now+500\n"                                                                            \
    "crashes: t/b=2,n0 u/a=2,n0\njobs: t/b={2} u/a={1}\nsuspects: u/a|@-" time " t/b@now-9\n"
#define OFFERED_TOO                                                                                          \
    "bucket:t: t/b@now-7\nbucket:u: u/a@now\nturns: u@1 t@2\nready: u\ncrashes: t/b=2,n0 u/a=2,n0\n"         \
    "jobs: t/b={2} u/a={1}\nsuspects: t/b|@-now\ncarry: at=now beat=1 owner=me\n"
#define TICK "carry me 1 9 '' 0 5000 500"

START_TEST(a_suspect_on_offer_that_nobody_claims_keeps_the_others_waiting_for_a_second)
{
    CHECK_EXAMPLES( //
        {ON_OFFER("now-999"), TICK, "me 1 now+500 -1 0 t",
         ON_OFFER("now-999") "carry: at=now beat=1 owner=me\n"},
        {ON_OFFER("now-1000"), TICK, "me 1 -1 -1 0 t", OFFERED_TOO},
        /* Redis's clock has stepped back. */
        {ON_OFFER("now+1"), TICK, "me 1 -1 -1 0 t", OFFERED_TOO}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_in_flight");
    TCase *tests = examples_case("in flight");
    tcase_add_test(tests, cancel_leaves_a_running_attempt_its_place);
    tcase_add_test(tests, the_attempt_of_a_replaced_job_keeps_its_place_and_cannot_touch_the_new_job);
    tcase_add_test(tests, a_lingering_attempt_counts_against_the_limit);
    tcase_add_test(tests, the_end_of_a_lingering_attempt_frees_its_place);
    tcase_add_test(tests, renew_keeps_the_place_of_a_lingering_attempt);
    tcase_add_test(tests, the_place_of_a_lost_attempt_expires);
    tcase_add_test(tests, mend_knows_lingering_attempts);
    tcase_add_test(tests, a_claim_leases_one_suspect_beside_all_other_jobs);
    tcase_add_test(tests, the_end_of_a_suspects_attempt_offers_the_next_suspect);
    tcase_add_test(tests, a_suspect_on_offer_that_nobody_claims_keeps_the_others_waiting_for_a_second);
    suite_add_tcase(suite, tests);
    return suite;
}

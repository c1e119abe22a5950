/* Tests follow-ups, which are jobs that are scheduled when a lease ends, and jobs that recover lists because
 * they must be buried. */
#include "support/script_examples.h"
#include "support/suite.h"

/* ---- follow-ups ---- */

#define FOLLOWS(number) number " t~c/f 0 \"x\"} +1"
#define FOLLOW_UP       "bucket:t~c: t~c/f@now\njobs: t~c/f={\"createdAt\":now,\"x\"}\nready: t~c\nturns: t~c@1\n"
#define TWO_LEASED                                                                                           \
    "holders:t: t/a=n1,now-9 t/b=n1,now-9\njobs: t/a={a} t/b={b}\nleases: t/a@now+9 t/b@now+9\n"
#define B_LEASED "holders:t: t/b=n1,now-9\njobs: t/b={b}\nleases: t/b@now+9\n"

START_TEST(an_end_schedules_what_follows)
{
    CHECK_EXAMPLES( //
        {LEASED, "complete t/a n1 '' " FOLLOWS("1"), "1", FOLLOW_UP},
        {LEASED, "bury t/a n1 {d} '' " FOLLOWS("1"), "1", FOLLOW_UP DIED("now", "0,3,{d}")},
        {DELAYED, "change t/a * ! {d} " FOLLOWS("1"), "0", FOLLOW_UP DIED("now", "0,3,{d}")},
        {DELAYED, "change t/a x ! {d} " FOLLOWS("1"), "-4", NULL},
        {LEASED, "retry t/a n1 5 {d} '' " FOLLOWS("1"), "1 wake now+6",
         "bucket:t: t/a@now+6\nbucket:t~c: t~c/f@now\ndue: t@now+6\n"
         "jobs: t/a={d} t~c/f={\"createdAt\":now,\"x\"}\nready: t~c\nturns: t~c@1\n"},
        {LEASED, "complete t/a n1 '' 1 t~c/f 5 \"x\"} +1", "1 wake now+6",
         "bucket:t~c: t~c/f@now+6\ndue: t~c@now+6\njobs: t~c/f={\"createdAt\":now+1,\"x\"}\n"},
        /* In the first call, only the second of two items has a follow-up. In the second call, the only item
         * has several. */
        {TWO_LEASED, "complete t/a n2 '' t/b n1 '' " FOLLOWS("2"), "0 1",
         "holders:t: t/a=n1,now-9\nleases: t/a@now+9\nbucket:t~c: t~c/f@now\n"
         "jobs: t/a={a} t~c/f={\"createdAt\":now,\"x\"}\nready: t~c\nturns: t~c@1\n"},
        {LEASED, "complete t/a n1 '' 1 t~c/f 0 \"x\"} 1 t~d/f 0 \"y\"} +2", "1",
         "bucket:t~c: t~c/f@now\nbucket:t~d: t~d/f@now\n"
         "jobs: t~c/f={\"createdAt\":now,\"x\"} t~d/f={\"createdAt\":now,\"y\"}\n"
         "ready: t~c\nturns: t~c@1 t~d@2\n"},
        /* One job has two follow-ups in the same topic, one for its attempt and one for its end. They keep
         * this order. */
        {LEASED, "bury t/a n1 {d} '' 1 t~c/f 0 \"x\"} 1 t~c/g 0 \"y\"} +2", "1",
         "bucket:t~c: t~c/f@now t~c/g@now.0005\n"
         "jobs: t~c/f={\"createdAt\":now,\"x\"} t~c/g={\"createdAt\":now,\"y\"}\nready: t~c\nturns: "
         "t~c@1\n" DIED("now", "0,3,{d}")}, );
}
END_TEST

START_TEST(what_is_stale_schedules_nothing)
{
    CHECK_EXAMPLES( //
        {LEASED, "complete t/a n2 '' " FOLLOWS("1"), "0", NULL},
        {LEASED, "bury t/a n2 {d} '' " FOLLOWS("1"), "0", NULL},
        {LEASED, "retry t/a n2 5 {d} '' " FOLLOWS("1"), "0", NULL},
        {DELAYED, "complete t/a n1 '' " FOLLOWS("1"), "0", NULL},
        {LINGERING, "complete t/a n1 '' " FOLLOWS("1"), "0", ABSENT},
        {TWO_LEASED, "complete t/a n1 '' t/b n2 '' " FOLLOWS("2"), "1 0", B_LEASED},
        /* The same lease is ended twice in one call: only the first one schedules its follow-ups. */
        {LEASED, "complete t/a n1 '' t/a n1 '' 1 t~c/f 0 \"x\"} 2 t~c/g 0 \"y\"} +2", "1 0", FOLLOW_UP}, );
}
END_TEST

START_TEST(an_outcome_after_its_lease_is_followed_all_the_same)
{
    CHECK_EXAMPLES( //
        {LOST, "complete t/a n1 '' " FOLLOWS("1"), "1",
         "bucket:t~c: t~c/f@now\njobs: t~c/f={\"createdAt\":now,\"x\"}\nready: t\nturns: t~c@1\n"},
        {DEAD_BY_LOSSES, "complete t/a n1 '' " FOLLOWS("1"), "1", FOLLOW_UP},
        {LOST, "retry t/a n1 5 {d} '' " FOLLOWS("1"), "1 wake now+6",
         "bucket:t: t/a@now+6\nbucket:t~c: t~c/f@now\ndue: t@now+6\n"
         "jobs: t/a={d} t~c/f={\"createdAt\":now,\"x\"}\nready: t\nturns: t~c@1\n"},
        {DEAD_BY_LOSSES, "retry t/a n1 5 {d} '' " FOLLOWS("1"), "1 wake now+6",
         "bucket:t: t/a@now+6\nbucket:t~c: t~c/f@now\ndue: t@now+6\n"
         "jobs: t/a={d} t~c/f={\"createdAt\":now,\"x\"}\nready: t~c\nturns: t~c@1\n"}, );
}
END_TEST

START_TEST(a_follow_up_exists_once)
{
#define THERE "bucket:t~c: t~c/f@now+7\ndue: t~c@now+7\njobs: t~c/f={f}\n"
    CHECK_EXAMPLES( //
        {"holders:t: t/a=n1,now-9\nleases: t/a@now+9\nbucket:t~c: t~c/f@now+7\ndue: t~c@now+7\njobs: t/a={a} "
         "t~c/f={f}\n",
         "complete t/a n1 '' " FOLLOWS("1"), "1", THERE}, );
}
END_TEST

START_TEST(follow_ups_of_a_wrong_shape_change_nothing)
{
    static const char *const calls[] = {
        "complete t/a n1 '' 2 t~c/f 0 \"x\"} +1",  "complete t/a n1 '' 0 t~c/f 0 \"x\"} +1",
        "complete t/a n1 '' 1 u~c/f 0 \"x\"} +1",  "complete t/a n1 '' 1 t~c/f x \"x\"} +1",
        "complete t/a n1 '' 1 t~c/f -1 \"x\"} +1", "complete t/a n1 '' 1 t~c 0 \"x\"} +1",
        "complete t/a n1 '' 1 t~c/f 0 +1",         "complete t/a n1 '' 1 t~c/f 0 \"x\"} +2",
        "complete t/a n1 '' 1 t~c/f 0 \"x\"} +",   "bury t/a n1 {d} '' 1 u/f 0 \"x\"} +1",
        "retry t/a n1 5 {d} '' 1 u/f 0 \"x\"} +1",
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        check_example(&(struct example){LEASED, calls[i], "ERR", NULL});
}
END_TEST

/* ---- recovery ---- */

#define RECOVER    "recover consumers 5000 now 256 1 !r"
#define LAST_LEASE "crashes: t/a=4,n0\nholders:t: t/a=n1,now-1000\njobs: t/a={r}\nleases: t/a@now\n"
#define DOOMED(deadline)                                                                                     \
    "crashes: t/a=5,n1\nholders:t: t/a=!r,now-1000\njobs: t/a={r}\nleases: t/a@" deadline "\n"
#define TELLS  "topics: t={\"onDead\":\"http://h/\"}\n"
#define OF_ALL "patterns: *={\"onDead\":\"http://a/\",\"retention\":10}\n"

START_TEST(recovery_lists_what_it_gives_up_and_leases_it)
{
    CHECK_EXAMPLES( //
        {LAST_LEASE, RECOVER, "1 1 t/a !r now-1000 now {r}", DOOMED("now+5000")},
        {LAST_LEASE TELLS, RECOVER, "1 1 t/a !r now-1000 now {r} t {\"onDead\":\"http://h/\"}",
         DOOMED("now+5000") TELLS},
        {LAST_LEASE OF_ALL, RECOVER,
         "1 1 t/a !r now-1000 now {r} t {\"onDead\":\"http://a/\",\"retention\":10}",
         DOOMED("now+5000") OF_ALL},
        {LAST_LEASE TELLS OF_ALL, RECOVER,
         "1 1 t/a !r now-1000 now {r} t "
         "[{\"onDead\":\"http://h/\"},{\"onDead\":\"http://a/\",\"retention\":10}]",
         DOOMED("now+5000") TELLS OF_ALL},
        /* The caller did not bury the job before its lease ran out: the job is listed again, and the loss of
         * the caller is not counted. */
        {DOOMED("now+1"), RECOVER, "0 0", NULL},
        {DOOMED("now"), "recover consumers 5000 now 256 1 !s", "1 1 t/a !s now-1000 now {r}",
         "crashes: t/a=5,n1\nholders:t: t/a=!s,now-1000\njobs: t/a={r}\nleases: t/a@now+5000\n"},
        /* An id without a record is not listed. Its lease and its other data are removed. */
        {"attempts: t/a=1|\ncrashes: t/a=4,n0\nholders:t: t/a=n1,now-9\nleases: t/a@now\n", RECOVER, "1 0",
         ABSENT}, );
}
END_TEST

START_TEST(recovery_buries_what_it_listed)
{
    CHECK_EXAMPLES( //
        {DOOMED("now+9"), "bury t/a !r {r} ''", "1", DIED("now", "5/n1,3,{r}")},
        {DOOMED("now"), "bury t/a !r {r} ''", "1", DIED("now", "5/n1,3,{r}")},
        {DOOMED("now+9"), "bury t/a !s {r} ''", "0", NULL}, {LOST, "bury t/a !r {r} ''", "0", NULL}, );
}
END_TEST

START_TEST(whoever_comes_before_the_burial_wins)
{
    CHECK_EXAMPLES( //
        /* The consumer that was lost last reports its outcome, which is accepted. This consumer cannot renew
         * its lease. */
        {DOOMED("now+9"), "complete t/a n1 ''", "1", ABSENT},
        {DOOMED("now+9"), "complete t/a n0 ''", "0", NULL},
        {DOOMED("now+9"), "bury t/a n1 {d} ''", "1", DIED("now", "0,3,{d}")},
        {DOOMED("now+9"), "retry t/a n1 5 {d} ''", "1 wake now+6",
         "bucket:t: t/a@now+6\ndue: t@now+6\njobs: t/a={d}\n"},
        {DOOMED("now+9"), "retry t/a n1 -1 {d} ''", "1",
         "bucket:t: t/a@now-1000\njobs: t/a={d}\nready: t\nturns: t@1\n"},
        {DOOMED("now+9"), "release t/a n1 -1 now - 0", "0", NULL},
        {DOOMED("now+9"), "renew t/a n1 5000 ''", "0", NULL},
        /* A client cancels the job. No attempt is running, so none counts as in flight afterwards. */
        {DOOMED("now+9"), "cancel t/a ''", "1", ABSENT}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_follow_ups");
    TCase *tests = examples_case("follow_ups");
    tcase_add_test(tests, an_end_schedules_what_follows);
    tcase_add_test(tests, what_is_stale_schedules_nothing);
    tcase_add_test(tests, an_outcome_after_its_lease_is_followed_all_the_same);
    tcase_add_test(tests, a_follow_up_exists_once);
    tcase_add_test(tests, follow_ups_of_a_wrong_shape_change_nothing);
    tcase_add_test(tests, recovery_lists_what_it_gives_up_and_leases_it);
    tcase_add_test(tests, recovery_buries_what_it_listed);
    tcase_add_test(tests, whoever_comes_before_the_burial_wins);
    suite_add_tcase(suite, tests);
    return suite;
}

/* Tests that jobs that are due in the same ms keep the order of their arrival. */
#include <stdlib.h>

#include "support/keyspace.h"
#include "support/redis_server.h"
#include "support/script_examples.h"
#include "support/script_runner.h"
#include "support/suite.h"

/* The scores of two successive jobs of a ms are 1/2048 ms apart. Redis shows 17 digits of a score: .0005,
 * .001 and, for the last place of a ms, .9995. */
#define ONE "bucket:t: t/b@now+5\ndue: t@now+5\njobs: t/b={b}\n"

START_TEST(a_new_job_comes_behind_those_of_its_ms)
{
    CHECK_EXAMPLES( //
        {ONE, "schedule 0 86400000 t/a @now+5 \"x\"} -", "now+5",
         "bucket:t: t/b@now+5 t/a@now+5.0005\ndue: t@now+5\njobs: t/a={\"createdAt\":now,\"x\"} t/b={b}\n"},
        {ONE, "schedule 0 86400000 t/a @now+5 \"x\"} - t/0 @now+5 \"x\"} -", "now+5 now+5",
         "bucket:t: t/b@now+5 t/a@now+5.0005 t/0@now+5.001\ndue: t@now+5\n"
         "jobs: t/0={\"createdAt\":now,\"x\"} t/a={\"createdAt\":now,\"x\"} t/b={b}\n"},
        /* The new jobs are due in another ms, or belong to another topic. */
        {ONE, "schedule 0 86400000 t/a @now+6 \"x\"} - u/a @now+5 \"x\"} -", "now+6 now+5",
         "bucket:t: t/b@now+5 t/a@now+6\nbucket:u: u/a@now+5\ndue: t@now+5 u@now+5\n"
         "jobs: t/a={\"createdAt\":now,\"x\"} t/b={b} u/a={\"createdAt\":now,\"x\"}\n"},
        /* A job that is moved into a ms also becomes the last of this ms. */
        {"bucket:t: t/a@now+5 t/b@now+5.0005\ndue: t@now+5\njobs: t/a={a} t/b={b}\n",
         "replace 0 t/a @now+5 \"x\"} ''", "(now+5 now 1)",
         "bucket:t: t/b@now+5.0005 t/a@now+5.001\ndue: t@now+5\njobs: t/a={\"createdAt\":now,\"x\"} "
         "t/b={b}\n"},
        {"bucket:t: t/b@now+5\ndue: t@now+5\nholders:t: t/a=n1,now-1000\njobs: t/a={r} t/b={b}\nleases: "
         "t/a@now+3000\n",
         "release t/a n1 4 now - 0", "1",
         "bucket:t: t/b@now+5 t/a@now+5.0005\ndue: t@now+5\nheld: t@now-1000\nheld:t: t/a@now-1000\n"
         "jobs: t/a={r} t/b={b}\n"}, );
}
END_TEST

START_TEST(a_full_ms_goes_on_in_the_next_one_that_is_not)
{
    CHECK_EXAMPLES( //
        {"bucket:t: t/b@now+5.9995\ndue: t@now+5\njobs: t/b={b}\n",
         "schedule 0 86400000 t/a @now+5 \"x\"} - t/c @now+5 \"x\"} -", "now+6 now+6",
         "bucket:t: t/b@now+5.9995 t/a@now+6 t/c@now+6.0005\ndue: t@now+5\n"
         "jobs: t/a={\"createdAt\":now,\"x\"} t/b={b} t/c={\"createdAt\":now,\"x\"}\n"},
        {"bucket:t: t/1@now+5.9995 t/2@now+6.9995 t/3@now+7.9995 t/4@now+8.9995 t/5@now+9.9995 "
         "t/6@now+10.9995 "
         "t/7@now+11.5\ndue: t@now+5\njobs: t/1={} t/2={} t/3={} t/4={} t/5={} t/6={} t/7={}\n",
         "schedule 0 86400000 t/a @now+5 \"x\"} -", "now+11",
         "bucket:t: t/1@now+5.9995 t/2@now+6.9995 t/3@now+7.9995 t/4@now+8.9995 t/5@now+9.9995 "
         "t/6@now+10.9995 "
         "t/7@now+11.5 t/a@now+11.5005\ndue: t@now+5\njobs: t/1={} t/2={} t/3={} t/4={} t/5={} t/6={} t/7={} "
         "t/a={\"createdAt\":now,\"x\"}\n"}, );
}
END_TEST

#define LATE_OF_NOW "bucket:t: t/a@now.9995\njobs: t/a={r}\nturns: t@1\n"
#define NEXT_MS     "bucket:t: t/a@now+1.0005\ndue: t@now+1\njobs: t/a={r}\n"

START_TEST(a_job_is_due_when_its_ms_has_come)
{
    CHECK_EXAMPLES( //
        {LATE_OF_NOW, "claim 10 n5 5000 2 1000 0", "0 0 1 t/a now {r}",
         "holders:t: t/a=n5,now.9995\njobs: t/a={r}\nleases: t/a@now+5000\n"},
        {LATE_OF_NOW, "read t/a", "(ready now {r} 0 '')", NULL},
        {LATE_OF_NOW, "run 0 t/a 0 '' '' ''", "now", NULL},
        {"bucket:t: t/a@now.9995\ndue: t@now\njobs: t/a={r}\n", "carry me 2 9 '' 0 5000 250",
         "me 1 -1 -1 1 t", LATE_OF_NOW "carry: at=now beat=1 owner=me\nready: t\n"},
        {NEXT_MS, "read t/a", "(delayed now+1 {r} 0 '')", NULL},
        {NEXT_MS, "carry me 2 9 '' 0 5000 250", "me 1 now+1 -1 0 ''",
         NEXT_MS "carry: at=now beat=1 owner=me\n"},
        {"bucket:t: t/a@now+1.0005\njobs: t/a={r}\nturns: t@1\n", "claim 10 n5 5000 2 1000 0",
         "0 0 0 wake now+1", NEXT_MS}, );
}
END_TEST

#define LEASED_LATE                                                                                          \
    "holders:t: t/a=n1,now-9.0005\njobs: t/a={r} t/b={b}\nleases: t/a@now+9\nbucket:t: t/b@now-9\nturns: "   \
    "t@1\n"
#define BACK "bucket:t: t/b@now-9 t/a@now-9.0005\njobs: t/a={r} t/b={b}\nready: t\nturns: t@1\n"

START_TEST(a_job_that_is_given_back_has_its_old_place)
{
    CHECK_EXAMPLES( //
        {LEASED_LATE, "release t/a n1 -1 now - 0", "1", BACK},
        {LEASED_LATE, "abandon n1 10 -9000 9000", "1", BACK},
        {LEASED_LATE "numbers: waiting=1\n", "retry t/a n1 -1 {r} ''", "1", BACK},
        {"holders:t: t/a=n1,now-9.0005\njobs: t/a={r} t/b={b}\nleases: t/a@now\nbucket:t: t/b@now-9\nturns: "
         "t@1\n",
         "recover consumers 5000 now 10 1 !r", "1 0", "crashes: t/a=1,n1\n" BACK}, );
}
END_TEST

/* ---- many ---- */

enum { MANY = 3000, BATCH = 250 };

/* Jobs of one ms have names in an order that differs from their order of arrival; the scores keep the order
 * of arrival. */
START_TEST(thousands_of_one_ms_are_claimed_as_they_came)
{
    redisContext *redis = examples_redis();
    struct buffer call;
    buffer_init(&call, 64 * 1024);
    redis_do(redis, "FLUSHALL");
    redis_server_set_time(examples_server(), NOW_US);
    for (int first = 0; first < MANY; first += BATCH) {
        buffer_clear(&call);
        buffer_append(&call, SLICE("schedule 0 86400000"));
        for (int i = first; i < first + BATCH; i++)
            buffer_printf(&call, " t/%d-%d @now+5 \"x\"} -", i * 7919 % 1000, i);
        buffer_append_byte(&call, '\0');
        freeReplyObject(script_run_text(redis, call.data, NOW_MS));
    }
    redisReply *places = redis_command(redis, "ZRANGE " KEYSPACE_PREFIX "bucket:t 0 -1 WITHSCORES");
    ck_assert_uint_eq(places->elements, 2 * MANY);
    for (int i = 0; i < MANY; i++) {
        int hash, number;
        ck_assert_int_eq(sscanf(places->element[2 * i]->str, "t/%d-%d", &hash, &number), 2);
        ck_assert_int_eq(number, i);
        ck_assert_int_eq(strtoll(places->element[2 * i + 1]->str, NULL, 10), NOW_MS + 5 + i / 2048);
    }
    freeReplyObject(places);
    buffer_fini(&call);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_ties");
    TCase *tests = examples_case("ties");
    tcase_add_test(tests, a_new_job_comes_behind_those_of_its_ms);
    tcase_add_test(tests, a_full_ms_goes_on_in_the_next_one_that_is_not);
    tcase_add_test(tests, a_job_is_due_when_its_ms_has_come);
    tcase_add_test(tests, a_job_that_is_given_back_has_its_old_place);
    tcase_add_test(tests, thousands_of_one_ms_are_claimed_as_they_came);
    suite_add_tcase(suite, tests);
    return suite;
}

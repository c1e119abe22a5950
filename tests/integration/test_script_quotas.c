/* Tests quotas (maxPending): which new jobs the scripts refuse, and the index of the topics with a quota. */
#include "support/script_examples.h"
#include "support/suite.h"

#define QUOTA(number) "topics: t={\"maxPending\":" number "}\n"
#define COUNTED       "quotas: t@1\n" /* as the refusing call writes it */
#define FULL          DELAYED QUOTA("1") COUNTED
#define NEW(id)       " " id " 60000 \"x\"} -"
#define TWO                                                                                                  \
    "bucket:t: t/a@now+60000 t/b@now+60001\ndue: t@now+60000\n"                                              \
    "jobs: t/a={r} t/b={\"createdAt\":now+1,\"x\"}\n"
#define CHANGED(place) "bucket:t: t/a@" place "\ndue: t@" place "\njobs: t/a={\"createdAt\":now+1,\"x\"}\n"

START_TEST(a_new_job_needs_room)
{
    CHECK_EXAMPLES( //
        {DELAYED QUOTA("1"), "schedule 0 9" NEW("t/b"), "(quota t 1 1 60000)", FULL},
        {DELAYED QUOTA("2"), "schedule 0 9" NEW("t/b"), "now+60001", TWO QUOTA("2") "quotas: t@2\n"},
        {QUOTA("0"), "schedule 0 9" NEW("t/b"), "(quota t 0 0 1000)", NULL},
        {DELAYED QUOTA("1"), "schedule 0 9" NEW("u/b"), "now+60001",
         "bucket:t: t/a@now+60000\nbucket:u: u/b@now+60001\ndue: t@now+60000 u@now+60001\n"
         "jobs: t/a={r} u/b={\"createdAt\":now+1,\"x\"}\n" QUOTA("1")},
        /* The job that has the id is the answer, as always. */
        {DELAYED QUOTA("1"), "schedule 0 9" NEW("t/a"), "(delayed now+60000 {r})", FULL},
        /* The first jobs of a call get the room. */
        {DELAYED QUOTA("2"), "schedule 0 9" NEW("t/b") NEW("t/c") NEW("t/b"),
         "now+60001 (quota t 2 2 60000) (delayed now+60001 {\"createdAt\":now+1,\"x\"})",
         TWO QUOTA("2") "quotas: t@2\n"},
        /* A job in flight counts, and so does the attempt of a cancelled job. A dead job does not. */
        {LEASED QUOTA("1"), "schedule 0 9" NEW("t/b"), "(quota t 1 1 1000)", LEASED QUOTA("1") COUNTED},
        {LINGERING QUOTA("1"), "schedule 0 9" NEW("t/b"), "(quota t 1 1 1000)", LINGERING QUOTA("1") COUNTED},
        {DEAD QUOTA("1"), "schedule 0 9 t/a 60000 \"x\"} -", "now+60001 wake now+60001",
         DEAD CHANGED("now+60001") QUOTA("1") COUNTED},
        /* The maximum number of all jobs comes first. */
        {DELAYED QUOTA("1"), "schedule 1 9" NEW("t/b"), "-7", FULL}, );
}
END_TEST

START_TEST(the_wait_is_that_of_the_first_job)
{
    CHECK_EXAMPLES( //
        {"bucket:t: t/a@now+7000\ndue: t@now+7000\njobs: t/a={r}\n" QUOTA("1"), "schedule 0 9" NEW("t/b"),
         "(quota t 1 1 7000)", "bucket:t: t/a@now+7000\ndue: t@now+7000\njobs: t/a={r}\n" QUOTA("1") COUNTED},
        {"bucket:t: t/a@now+99000\ndue: t@now+99000\njobs: t/a={r}\n" QUOTA("1"), "schedule 0 9" NEW("t/b"),
         "(quota t 1 1 60000)",
         "bucket:t: t/a@now+99000\ndue: t@now+99000\njobs: t/a={r}\n" QUOTA("1") COUNTED},
        {READY QUOTA("1"), "schedule 0 9" NEW("t/b"), "(quota t 1 1 1000)", READY QUOTA("1") COUNTED},
        {COME "topics: t={\"paused\":true,\"maxPending\":1}\n", "schedule 0 9" NEW("t/b"),
         "(quota t 1 1 60000)", COME "topics: t={\"paused\":true,\"maxPending\":1}\n" COUNTED},
        {COME "topics: t={\"maxPending\":1,\"delivery\":\"pull\"}\n", "schedule 0 9" NEW("t/b"),
         "(quota t 1 1 1000)", COME "topics: t={\"maxPending\":1,\"delivery\":\"pull\"}\n" COUNTED}, );
}
END_TEST

START_TEST(a_sibling_topic_has_the_quota_of_its_owner)
{
    CHECK_EXAMPLES( //
        {DELAYED QUOTA("1"), "schedule 0 9 t~q/b 60000 \"x\"} - t~q/c 60000 \"x\"} -",
         "now+60001 (quota t~q 1 1 1000)",
         "bucket:t: t/a@now+60000\nbucket:t~q: t~q/b@now+60001\ndue: t@now+60000 t~q@now+60001\n"
         "jobs: t/a={r} t~q/b={\"createdAt\":now+1,\"x\"}\n" QUOTA("1") "quotas: t~q@1\n"},
        {DELAYED "patterns: t*={\"maxPending\":1}\n", "schedule 0 9" NEW("t/b"), "(quota t 1 1 60000)",
         DELAYED "patterns: t*={\"maxPending\":1}\n" COUNTED},
        {DELAYED "patterns: t*={\"maxPending\":1}\n" QUOTA("2"), "schedule 0 9" NEW("t/b"), "now+60001",
         TWO "patterns: t*={\"maxPending\":1}\n" QUOTA("2") "quotas: t@2\n"}, );
}
END_TEST

START_TEST(jobs_together_need_room_for_all)
{
    CHECK_EXAMPLES( //
        {DELAYED QUOTA("2"), "schedule_all 0 9 2" NEW("t/b") NEW("t/c"), "(quota t 2 1 60000)",
         DELAYED QUOTA("2") COUNTED},
        {DELAYED QUOTA("2"), "schedule_all 0 9 1" NEW("t/b") " 1" NEW("t/c"),
         "(now+60001) (quota t 2 2 60000)", TWO QUOTA("2") "quotas: t@2\n"},
        {DELAYED QUOTA("2"), "send 0 9 t/s 0 - m g 2 a \"r\"} b \"q\"}", "(quota t 2 1 60000)",
         DELAYED QUOTA("2") COUNTED},
        {DELAYED QUOTA("2"), "replace_send 0 t/s 0 '' m g 2 a \"r\"} b \"q\"}", "(quota t 2 1 60000)",
         DELAYED QUOTA("2") COUNTED}, );
}
END_TEST

START_TEST(what_replaces_or_moves_a_job_needs_no_room)
{
    CHECK_EXAMPLES( //
        {DELAYED QUOTA("1"), "replace 0 t/a 60000 \"x\"} ''", "(now+60001 now+1 1)",
         CHANGED("now+60001") QUOTA("1") COUNTED},
        {DELAYED QUOTA("1"), "replace 0 t/b 60000 \"x\"} ''", "(quota t 1 1 60000)", FULL},
        {DELAYED QUOTA("1"), "replace 0 t/a 60000 \"x\"} '' t/b 60000 \"x\"} ''",
         "(now+60001 now+1 1) (quota t 1 1 60000)", CHANGED("now+60001") QUOTA("1") COUNTED},
        {DELAYED QUOTA("0"), "run 0 t/a 0 '' '' ''", "now", DUE_NOW("{r}") QUOTA("0") COUNTED},
        {DEAD QUOTA("0"), "run 0 t/a 0 '' {r} {n}", "(quota t 0 0 1000)", NULL},
        {DEAD QUOTA("1"), "run 0 t/a 0 '' {r} {n}", "now", DUE_NOW("{n}") QUOTA("1") COUNTED},
        /* Cancelled and delivered jobs leave their places. */
        {FULL, "cancel t/a ''", "0", QUOTA("1")},
        {LEASED QUOTA("1") COUNTED, "complete t/a n1 ''", "1", QUOTA("1")},
        /* The index gets each topic with a quota whose jobs change. */
        {LEASED QUOTA("1"), "release t/a n1 60000 now - 0", "1 wake now+60001",
         "bucket:t: t/a@now+60001\ndue: t@now+60001\nheld: t@now-1000\nheld:t: t/a@now-1000\njobs: "
         "t/a={r}\n" QUOTA("1") COUNTED},
        {LEASED QUOTA("1") COUNTED, "cancel t/a ''", "1", LINGERING QUOTA("1") COUNTED}, );
}
END_TEST

START_TEST(a_schedule_tries_again_later)
{
    CHECK_EXAMPLES( //
        {DELAYED QUOTA(
             "1") "fired: t/s=T,-,0,0,0,\nfires: t/s@now-10\nschedule_names: t/s@0\nschedules: t/s=d\n",
         "fire 0 9 t/s T now-10 now+60 fire now-10 0 0 = t/s~1 @now-10 \"url\":\"u\"} - 0", "-11",
         FULL "fired: t/s=T,quota,0,now-10,now,\nfires: t/s@now+60000\nschedule_names: t/s@0\n"
              "schedules: t/s=d\n"},
        /* An occurrence that a client requests is refused. */
        {DELAYED QUOTA(
             "1") "fired: t/s=T,-,0,0,0,\nfires: t/s@now+10\nschedule_names: t/s@0\nschedules: t/s=d\n",
         "fire 0 9 t/s T - - fire now-10 0 0 = t/s~1 @now-10 \"url\":\"u\"} - 0", "(quota t 1 1 60000)",
         FULL "fired: t/s=T,-,0,0,0,\nfires: t/s@now+10\nschedule_names: t/s@0\nschedules: t/s=d\n"}, );
}
END_TEST

START_TEST(a_quota_raises_the_format)
{
    CHECK_EXAMPLES( //
        {ABSENT, "settings t '' {\"maxPending\":1}", "1", "meta: format=5\n" QUOTA("1")},
        {ABSENT, "set_patterns 0 '' 3 1 t* {\"maxPending\":1}", "1700000000123456",
         "meta: format=5 patterns=1700000000123456 redate=0\npatterns: t*={\"maxPending\":1}\n"},
        /* The index has a topic only while it has a quota and jobs. */
        {DELAYED, "settings t '' {\"maxPending\":3}", "1", DELAYED "meta: format=5\n" QUOTA("3") COUNTED},
        {FULL, "settings t {\"maxPending\":1} ''", "1", DELAYED}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_quotas");
    TCase *group = examples_case("script_quotas");
    tcase_add_test(group, a_new_job_needs_room);
    tcase_add_test(group, the_wait_is_that_of_the_first_job);
    tcase_add_test(group, a_sibling_topic_has_the_quota_of_its_owner);
    tcase_add_test(group, jobs_together_need_room_for_all);
    tcase_add_test(group, what_replaces_or_moves_a_job_needs_no_room);
    tcase_add_test(group, a_schedule_tries_again_later);
    tcase_add_test(group, a_quota_raises_the_format);
    suite_add_tcase(suite, group);
    return suite;
}

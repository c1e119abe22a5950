/* Tests every script on every state of a job. support/script_examples.h explains how the examples are
 * written. */
#include <stdlib.h>

#include "support/keyspace.h"
#include "support/redis_server.h"
#include "support/script_examples.h"
#include "support/script_runner.h"
#include "support/suite.h"

/* The tag of job t/a in each of its states: the SHA-1 of "<state> <place> {r}". The place is the job's due
 * time in ms, for example. */
#define TAG_DELAYED "d74a780c6934b45530b7b8afa03e7941663fbeca"
#define TAG_READY   "d783316faf348ef12ac92b392c47145b378a7266"
#define TAG_LEASED  "51e09f62bcf1c20da7e481af71728a796f5c07bd"
#define TAG_DEAD    "3bf4faf0b3e199b4a82ef3451c92f50a14380fb1"
#define TAG_THRICE  "ec48308b3b9aab114a3c8abfd27b18d103d05e2e" /* tag of t/a in the state LOST_THRICE */
#define TAG_OTHER   "0000000000000000000000000000000000000000"

/* ---- owners ---- */

#define SCHEDULED(due, created)                                                                              \
    "bucket:t: t/a@" due "\n"                                                                                \
    "due: t@" due "\n"                                                                                       \
    "jobs: t/a={\"createdAt\":" created ",\"x\":1}\n"

START_TEST(schedule_accepts_a_job_once)
{
    static const char delay[] = "schedule 0 86400000 t/a 60000 \"x\":1} -";
    CHECK_EXAMPLES( //
        {ABSENT, delay, "now+60001 wake now+60001", SCHEDULED("now+60001", "now+1")},
        {ABSENT, "schedule 0 86400000 t/a 1 \"x\":1} -", "now+2 wake now+2", SCHEDULED("now+2", "now+1")},
        {ABSENT, "schedule 0 86400000 t/a @now+60000 \"x\":1} -", "now+60000 wake now+60000",
         SCHEDULED("now+60000", "now")},
        {ABSENT, "schedule 0 86400000 t/a 0 \"x\":1} -", "now", DUE_NOW("{\"createdAt\":now,\"x\":1}")},
        {ABSENT, "schedule 0 86400000 t/a @now-9000 \"x\":1} -", "now",
         DUE_NOW("{\"createdAt\":now,\"x\":1}")},
        {ABSENT, "schedule 0 86400000 t/a @-9000 \"x\":1} -", "now", DUE_NOW("{\"createdAt\":now,\"x\":1}")},
        {DELAYED, delay, "(delayed now+60000 {r})", NULL}, {COME, delay, "(ready now-1000 {r})", NULL},
        {READY, delay, "(ready now-1000 {r})", NULL}, {LEASED, delay, "(leased now+3000 {r})", NULL},
        {LEASED_AGAIN, delay, "(leased now+3000 {r})", NULL}, {EXPIRED, delay, "(leased now {r})", NULL},
        {LOST, delay, "(ready now-1000 {r})", NULL}, {LOST_THRICE, delay, "(delayed now+7000 {r})", NULL},
        /* A dead job does not occupy its id. */
        {DEAD, delay, "now+60001 wake now+60001", DEAD SCHEDULED("now+60001", "now+1")},
        {DEAD_BY_LOSSES, delay, "now+60001 wake now+60001", DEAD_BY_LOSSES SCHEDULED("now+60001", "now+1")},
        {DEAD DELAYED, delay, "(delayed now+60000 {r})", NULL}, );
}
END_TEST

START_TEST(schedule_keeps_an_answer_without_a_job)
{
    static const char kept[] = "idempotency: k=f,now+60000,now+9,t/a\nwindows: k@now+9\n";
    static const char with_job[] =
        "bucket:t: t/a@now+60000\ndue: t@now+60000\nidempotency: k=f,now+60000,now+9,t/a\n"
        "jobs: t/a={r}\nwindows: k@now+9\n";
    CHECK_EXAMPLES( //
        {ABSENT, "schedule 1 9 t/a @now+60000 '' 'f,k'", "now+60000", kept},
        {DELAYED, "schedule 1 9 t/a @now+60000 '' 'f,k'", "now+60000", with_job},
        {kept, "schedule 0 9 t/a @now+1 '' 'f,k' t/a 0 \"x\":1} 'f,k'",
         "(repeated now+60000 t/a) (repeated now+60000 t/a)", NULL},
        {kept, "schedule 0 9 t/a @now+60000 '' 'g,k'", "-8", NULL}, );
}
END_TEST

START_TEST(schedule_lets_one_job_stand_for_those_with_its_key)
{
#define THROTTLED "idempotency: t/-k=throttle,now,now+60000,t/a\nwindows: t/-k@now+60000\n"
    CHECK_EXAMPLES( //
        {ABSENT, "schedule 0 86400000 t/a 0 \"x\":1} '-\nthrottle,60000,t/-k'", "now",
         "bucket:t: t/a@now\nidempotency: t/-k=throttle,now,now+60000,t/a\njobs: "
         "t/a={\"createdAt\":now,\"x\":1}\n"
         "ready: t\nturns: t@1\nwindows: t/-k@now+60000\n"},
        {THROTTLED, "schedule 0 86400000 t/b 0 \"x\":1} '-\nthrottle,60000,t/-k'", "(throttled now t/a)",
         NULL},
        {THROTTLED, "schedule 0 86400000 t/b 0 \"x\":1} '-\nthrottle,9,t/-k'", "(throttled now t/a)", NULL},
        /* The answer is also that of the request's own key. */
        {THROTTLED, "schedule 0 9 t/b 0 \"x\":1} 'f,t/q\nthrottle,60000,t/-k'", "(throttled now t/a)",
         "idempotency: t/-k=throttle,now,now+60000,t/a t/q=f,+now,now+9,t/a\nwindows: t/q@now+9 "
         "t/-k@now+60000\n"},
        /* A repeated request gets the same answer, also when the time of the throttle is over. */
        {"idempotency: t/q=f,+now-5,now+9,t/a\nwindows: t/q@now+9\n",
         "schedule 0 9 t/b 0 \"x\":1} 'f,t/q\nthrottle,60000,t/-k'", "(throttled now-5 t/a)", NULL},
        {"idempotency: t/-k=throttle,now-9,now,t/a\nwindows: t/-k@now\n",
         "schedule 0 86400000 t/b 0 \"x\":1} '-\nthrottle,60000,t/-k'", "now",
         "bucket:t: t/b@now\nidempotency: t/-k=throttle,now,now+60000,t/b\njobs: "
         "t/b={\"createdAt\":now,\"x\":1}\n"
         "ready: t\nturns: t@1\nwindows: t/-k@now+60000\n"}, );
}
END_TEST

START_TEST(schedule_takes_each_item_after_the_one_before)
{
    CHECK_EXAMPLES({ABSENT, "schedule 0 86400000 t/a 60000 \"x\":1} - t/a 5 \"y\":1} -",
                    "now+60001 (delayed now+60001 {\"createdAt\":now+1,\"x\":1}) wake now+60001",
                    SCHEDULED("now+60001", "now+1")},
                   {ABSENT, "schedule 0 86400000 t/a 0 \"x\":1} - t/a 5 \"y\":1} -",
                    "now (ready now {\"createdAt\":now,\"x\":1})", DUE_NOW("{\"createdAt\":now,\"x\":1}")},
                   {ABSENT, "schedule 0 86400000 u/b 0 \"1\"} - t/b 9 \"2\"} - u/a 9 \"3\"} - t/a 8 \"4\"} -",
                    "now now+10 now+10 now+9 wake now+9",
                    "bucket:t: t/a@now+9 t/b@now+10\n"
                    "bucket:u: u/b@now u/a@now+10\n"
                    "due: t@now+9\n"
                    "jobs: t/a={\"createdAt\":now+1,\"4\"} t/b={\"createdAt\":now+1,\"2\"} "
                    "u/a={\"createdAt\":now+1,\"3\"} u/b={\"createdAt\":now,\"1\"}\n"
                    "ready: u\n"
                    "turns: u@1\n"},
                   /* A new job publishes a wake-up only if its due time is the earliest of all topics. */
                   {"bucket:s: s/a@now+5\ndue: s@now+5\njobs: s/a={r}\n",
                    "schedule 0 86400000 t/a @now+9 \"x\"} -", "now+9",
                    "bucket:s: s/a@now+5\n"
                    "bucket:t: t/a@now+9\n"
                    "due: s@now+5 t@now+9\n"
                    "jobs: s/a={r} t/a={\"createdAt\":now,\"x\"}\n"},
                   {"bucket:t: t/b@now+9\ndue: t@now+9\njobs: t/b={r}\n",
                    "schedule 0 86400000 t/a @now+5 \"x\"} -", "now+5 wake now+5",
                    "bucket:t: t/a@now+5 t/b@now+9\n"
                    "due: t@now+5\n"
                    "jobs: t/a={\"createdAt\":now,\"x\"} t/b={r}\n"}, );
}
END_TEST

START_TEST(schedule_keeps_to_the_most_jobs)
{
    CHECK_EXAMPLES( //
        {DELAYED, "schedule 1 86400000 t/b 60000 \"x\":1} -", "-7", NULL},
        {DELAYED, "schedule 1 86400000 t/a 60000 \"x\":1} -", "(delayed now+60000 {r})", NULL},
        {DEAD, "schedule 1 86400000 t/a 60000 \"x\":1} -", "now+60001 wake now+60001",
         DEAD SCHEDULED("now+60001", "now+1")},
        {ABSENT, "schedule 1 86400000 t/a 60000 \"x\":1} - t/b 60000 \"y\":1} - t/a 1 \"y\":1} -",
         "now+60001 -7 (delayed now+60001 {\"createdAt\":now+1,\"x\":1}) wake now+60001",
         SCHEDULED("now+60001", "now+1")}, );
}
END_TEST

START_TEST(a_job_without_a_url_needs_a_topic_with_one)
{
#define NO_URL       "\"url\":\"\",\"x\":1}"
#define MADE(record) "bucket:t: t/a@now\njobs: t/a=" record "\nready: t\n" URL "turns: t@1\n"
#define URL          "topics: t={\"url\":\"http://h/\"}\n"
    CHECK_EXAMPLES( //
        {ABSENT, "schedule 0 86400000 t/a 0 " NO_URL " -", "-5", NULL},
        {ABSENT, "replace 0 t/a 0 " NO_URL " ''", "-5", NULL},
        {DELAYED, "replace 0 t/a 0 " NO_URL " ''", "-5", NULL},
        {DELAYED, "change t/a " TAG_DELAYED " - {\"createdAt\":1," NO_URL, "-5", NULL},
        {DELAYED, "schedule 0 86400000 t/a 0 " NO_URL " -", "(delayed now+60000 {r})", NULL},
        {URL, "schedule 0 86400000 t/a 0 " NO_URL " -", "now", MADE("{\"createdAt\":now," NO_URL)},
        {URL, "replace 0 t/a 0 " NO_URL " ''", "(now now 0)", MADE("{\"createdAt\":now," NO_URL)},
        {DELAYED URL, "change t/a " TAG_DELAYED " 0 {\"createdAt\":1," NO_URL, "now",
         MADE("{\"createdAt\":1," NO_URL)},
        /* A member at a deeper level belongs to the body, and does not count as the url. */
        {ABSENT, "schedule 0 86400000 t/a 0 \"url\":\"x\",\"body\":{" NO_URL "} -", "now",
         DUE_NOW("{\"createdAt\":now,\"url\":\"x\",\"body\":{" NO_URL "}")}, );
}
END_TEST

#define REPLACE "replace 0 t/a 60000 \"x\":1} "
#define LINGERS(nonce, until)                                                                                \
    SCHEDULED("now+60001", "now+1") "holders:t: t/a|" nonce "=replaced\nlingering: t/a|" nonce "@" until "\n"
#define REPLACED "(now+60001 now+1 1)"

START_TEST(replace_puts_a_new_job_in_the_place_of_any)
{
    static const char replace[] = REPLACE "''", added[] = "(now+60001 now+1 0) wake now+60001";
    CHECK_EXAMPLES( //
        {ABSENT, replace, added, SCHEDULED("now+60001", "now+1")},
        {DELAYED, replace, REPLACED, SCHEDULED("now+60001", "now+1")},
        {COME, replace, REPLACED, SCHEDULED("now+60001", "now+1")},
        {READY, replace, REPLACED " wake now+60001", SCHEDULED("now+60001", "now+1") BELL},
        /* The attempt of a leased job lingers, see test_script_in_flight.c. */
        {LEASED, replace, "(now+60001 now+1 2) wake now+60001", LINGERS("n1", "now+3000")},
        {LEASED_AGAIN, replace, "(now+60001 now+1 2) wake now+60001", LINGERS("n2", "now+3000")},
        {EXPIRED, replace, "(now+60001 now+1 2) wake now+60001", LINGERS("n1", "now")},
        {LOST, replace, REPLACED " wake now+60001", SCHEDULED("now+60001", "now+1") BELL},
        {LOST_THRICE, replace, REPLACED, SCHEDULED("now+60001", "now+1")},
        {DEAD, replace, added, DEAD SCHEDULED("now+60001", "now+1")},
        {DEAD_BY_LOSSES, replace, added, DEAD_BY_LOSSES SCHEDULED("now+60001", "now+1")},
        {DEAD DELAYED, replace, REPLACED, DEAD SCHEDULED("now+60001", "now+1")},
        /* The new job may have any due time. */
        {DELAYED, "replace 0 t/a 0 \"x\":1} ''", "(now now 1)", DUE_NOW("{\"createdAt\":now,\"x\":1}")},
        {READY, "replace 0 t/a @-9 \"x\":1} ''", "(now now 1)", DUE_NOW("{\"createdAt\":now,\"x\":1}")},
        {DELAYED, "replace 0 t/a @now+5 \"x\":1} ''", "(now+5 now 1) wake now+5", SCHEDULED("now+5", "now")},
        {DEAD, "replace 0 t/a 1 \"x\":1} ''", "(now+2 now+1 0) wake now+2", DEAD SCHEDULED("now+2", "now+1")},
        /* The old job has a record in jobs, but is in no bucket. */
        {"jobs: t/a={r}\n", replace, REPLACED " wake now+60001", SCHEDULED("now+60001", "now+1")}, );
}
END_TEST

START_TEST(replace_lets_the_last_job_stand_for_those_with_its_key)
{
#define DEBOUNCED(id, first, due, record)                                                                    \
    "bucket:t: t/" id "@" due "\n"                                                                           \
    "due: t@" due "\n"                                                                                       \
    "idempotency: t/-k=debounce," first ",now+3620000,t/" id "\n"                                            \
    "jobs: t/" id "=" record "\n"                                                                            \
    "windows: t/-k@now+3620000\n"
#define FIRST "{\"createdAt\":1,\"head\":\"1;0;0;0;-;27;\",\"x\":1}"
#define TRIED "{\"createdAt\":1,\"head\":\"1;0;0;0;a;27;\",\"x\":1}"
    static const char debounce[] = "replace 0 t/b 0 \"x\":1} '~5000,20000,t/-k'";
    CHECK_EXAMPLES( //
        {ABSENT, debounce, "(now+5001 now 0 t/b) wake now+5001",
         DEBOUNCED("b", "now+1", "now+5001", "{\"createdAt\":now,\"x\":1}")},
        {DEBOUNCED("a", "now-3000", "now+2000", FIRST), debounce, "(now+5001 now 1 t/a)",
         DEBOUNCED("a", "now-3000", "now+5001", "{\"createdAt\":now,\"x\":1}")},
        /* Never later than the longest wait after the first job. */
        {DEBOUNCED("a", "now-18000", "now+2000", FIRST), debounce, "(now+2000 now 1 t/a)",
         "bucket:t: t/a@now+2000.0005\ndue: t@now+2000\nidempotency: "
         "t/-k=debounce,now-18000,now+3620000,t/a\n"
         "jobs: t/a={\"createdAt\":now,\"x\":1}\nwindows: t/-k@now+3620000\n"},
        /* The call itself has put the job in place. */
        {ABSENT, "replace 0 t/b 0 \"y\":1} '~5000,20000,t/-k' t/c 0 \"x\":1} '~5000,20000,t/-k'",
         "(now+5001 now 0 t/b) (now+5001 now 1 t/b) wake now+5001",
         "bucket:t: t/b@now+5001.0005\ndue: t@now+5001\n"
         "idempotency: t/-k=debounce,now+1,now+3620000,t/b\n"
         "jobs: t/b={\"createdAt\":now,\"x\":1}\nwindows: t/-k@now+3620000\n"},
        /* An attempt has failed, or the job is under way: the next one begins anew. */
        {DEBOUNCED("a", "now-3000", "now+2000", TRIED), debounce, "(now+5001 now 0 t/b)",
         "bucket:t: t/a@now+2000 t/b@now+5001\ndue: t@now+2000\n"
         "idempotency: t/-k=debounce,now+1,now+3620000,t/b\n"
         "jobs: t/a=" TRIED " t/b={\"createdAt\":now,\"x\":1}\nwindows: t/-k@now+3620000\n"},
        {LEASED "idempotency: t/-k=debounce,now-3000,now+3620000,t/a\nwindows: t/-k@now+3620000\n", debounce,
         "(now+5001 now 0 t/b) wake now+5001",
         "bucket:t: t/b@now+5001\ndue: t@now+5001\nholders:t: t/a=n1,now-1000\n"
         "idempotency: t/-k=debounce,now+1,now+3620000,t/b\njobs: t/a={r} t/b={\"createdAt\":now,\"x\":1}\n"
         "leases: t/a@now+3000\nwindows: t/-k@now+3620000\n"}, );
}
END_TEST

START_TEST(replace_takes_each_item_after_the_one_before)
{
    CHECK_EXAMPLES( //
        {DELAYED, "replace 0 t/a 0 \"y\":1} '' t/a 60000 \"x\":1} ''", "(now now 1) " REPLACED,
         SCHEDULED("now+60001", "now+1")},
        {ABSENT, "replace 0 t/a 60000 \"y\":1} '' t/a 0 \"x\":1} ''", "(now+60001 now+1 0) (now now 1)",
         DUE_NOW("{\"createdAt\":now,\"x\":1}")},
        /* Existing jobs count for the limit, too. */
        {ABSENT, "replace 1 t/a 60000 \"x\":1} '' t/b 0 \"y\"} '' t/a 60000 \"x\":1} ''",
         "(now+60001 now+1 0) -7 " REPLACED " wake now+60001",
         "bucket:t: t/a@now+60001.0005\ndue: t@now+60001\njobs: t/a={\"createdAt\":now+1,\"x\":1}\n"},
        {DELAYED, "replace 1 t/b 0 \"y\"} '' t/a 60000 \"x\":1} ''", "-7 " REPLACED,
         SCHEDULED("now+60001", "now+1")}, );
}
END_TEST

START_TEST(replace_leaves_what_is_not_as_it_was_seen)
{
    CHECK_EXAMPLES( //
        {ABSENT, REPLACE "*", "-4", NULL}, {ABSENT, REPLACE TAG_DELAYED, "-4", NULL},
        {DELAYED, REPLACE "*", REPLACED, SCHEDULED("now+60001", "now+1")},
        {DELAYED, REPLACE TAG_DELAYED, REPLACED, SCHEDULED("now+60001", "now+1")},
        {DELAYED, REPLACE TAG_OTHER "," TAG_DELAYED, REPLACED, SCHEDULED("now+60001", "now+1")},
        {DELAYED, REPLACE TAG_OTHER, "-4", NULL}, {DELAYED, REPLACE TAG_THRICE, "-4", NULL},
        {DELAYED, REPLACE "-", "-4", NULL},
        {COME, REPLACE TAG_READY, REPLACED, SCHEDULED("now+60001", "now+1")},
        {READY, REPLACE TAG_DELAYED, "-4", NULL}, {LEASED, REPLACE TAG_DELAYED, "-4", NULL},
        {LEASED, REPLACE TAG_LEASED, "(now+60001 now+1 2) wake now+60001", LINGERS("n1", "now+3000")},
        {DEAD, REPLACE TAG_DEAD, "(now+60001 now+1 0) wake now+60001", DEAD SCHEDULED("now+60001", "now+1")},
        {DEAD, REPLACE "*", "(now+60001 now+1 0) wake now+60001", DEAD SCHEDULED("now+60001", "now+1")},
        {DEAD, REPLACE TAG_OTHER, "-4", NULL}, {DEAD DELAYED, REPLACE TAG_DEAD, "-4", NULL},
        {DEAD DELAYED, REPLACE TAG_DELAYED, REPLACED, DEAD SCHEDULED("now+60001", "now+1")},
        {LOST_THRICE, REPLACE TAG_THRICE, REPLACED, SCHEDULED("now+60001", "now+1")},
        {"jobs: t/a={r}\n", REPLACE TAG_READY, "-4", NULL}, /* the job is neither waiting nor leased */
        /* The job has the same due time, but another record, so its tag differs. */
        {"bucket:t: t/a@now+60000\ndue: t@now+60000\njobs: t/a={q}\n", REPLACE TAG_DELAYED, "-4", NULL}, );
    CHECK_EXAMPLES( //
        {ABSENT, REPLACE "!*", "(now+60001 now+1 0) wake now+60001", SCHEDULED("now+60001", "now+1")},
        {DELAYED, REPLACE "!*", "-4", NULL}, {LEASED, REPLACE "!*", "-4", NULL},
        {READY, REPLACE "!*", "-4", NULL},
        {DEAD, REPLACE "!*", "(now+60001 now+1 0) wake now+60001", DEAD SCHEDULED("now+60001", "now+1")},
        {DELAYED, REPLACE "!-," TAG_OTHER "," TAG_DELAYED, "-4", NULL},
        {LEASED, REPLACE "!-," TAG_LEASED, "-4", NULL},
        {LEASED, REPLACE "!-," TAG_OTHER, "(now+60001 now+1 2) wake now+60001", LINGERS("n1", "now+3000")},
        {DELAYED, REPLACE "!-," TAG_OTHER, REPLACED, SCHEDULED("now+60001", "now+1")}, );
}
END_TEST

#define MOVED(due)                                                                                           \
    "bucket:t: t/a@" due "\n"                                                                                \
    "due: t@" due "\n"                                                                                       \
    "jobs: t/a={n}\n"

START_TEST(change_writes_another_record_if_the_job_is_as_it_was_seen)
{
    CHECK_EXAMPLES( //
        {ABSENT, "change t/a " TAG_DELAYED " - {n}", "-4", NULL},
        {DELAYED, "change t/a " TAG_DELAYED " - {n}", "0", MOVED("now+60000")},
        {DELAYED, "change t/a " TAG_OTHER " - {n}", "-4", NULL},
        {COME, "change t/a " TAG_READY " - {n}", "0",
         "bucket:t: t/a@now-1000\ndue: t@now-1000\njobs: t/a={n}\n"},
        {READY, "change t/a " TAG_READY " - {n}", "0",
         "bucket:t: t/a@now-1000\njobs: t/a={n}\nready: t\nturns: t@1\n"},
        {READY, "change t/a " TAG_DELAYED " - {n}", "-4", NULL},
        {LEASED, "change t/a " TAG_LEASED " - {n}", "-3", NULL},
        {LEASED_AGAIN, "change t/a " TAG_LEASED " - {n}", "-3", NULL},
        {EXPIRED, "change t/a " TAG_LEASED " - {n}", "-3", NULL},
        /* The change removes the entry in crashes, so the outcome of the lost consumer will not apply to the
         * changed job. */
        {LOST, "change t/a " TAG_READY " - {n}", "0",
         "bucket:t: t/a@now-1000\njobs: t/a={n}\nready: t\nturns: t@1\n"},
        {LOST_THRICE, "change t/a " TAG_THRICE " - {n}", "0", MOVED("now+7000")},
        {DEAD, "change t/a " TAG_DEAD " - {n}", "0", DIED("now-5000", "0,3,{n}")},
        {DEAD_BY_LOSSES, "change t/a " TAG_DEAD " - {n}", "0", DIED("now-5000", "0,3,{n}")},
        {DEAD, "change t/a " TAG_DEAD " 5 {n}", "-4", NULL},
        {DELAYED, "change t/a " TAG_DELAYED " ! {d}", "0", DIED("now", "0,3,{d}")},
        {READY, "change t/a " TAG_READY " ! {d}", "0", DIED("now", "0,3,{d}") BELL},
        {LOST_THRICE, "change t/a " TAG_THRICE " ! {d}", "0", DIED("now", "0,3,{d}")},
        {DELAYED, "change t/a " TAG_OTHER " ! {d}", "-4", NULL},
        {LEASED, "change t/a " TAG_LEASED " ! {d}", "-3", NULL},
        {DEAD, "change t/a " TAG_DEAD " ! {d}", "-4", NULL},
        {DEAD DELAYED, "change t/a " TAG_DEAD " - {n}", "0", DIED("now-5000", "0,3,{n}") DELAYED},
        {DEAD DELAYED, "change t/a " TAG_DELAYED " - {n}", "0", DEAD MOVED("now+60000")}, );
}
END_TEST

START_TEST(change_moves_a_job)
{
    CHECK_EXAMPLES( //
        {DELAYED, "change t/a " TAG_DELAYED " 5 {n}", "now+6 wake now+6", MOVED("now+6")},
        {DELAYED, "change t/a " TAG_DELAYED " 90000 {n}", "now+90001", MOVED("now+90001")},
        {DELAYED, "change t/a " TAG_DELAYED " 0 {n}", "now", DUE_NOW("{n}")},
        {DELAYED, "change t/a " TAG_DELAYED " @now-9 {n}", "now", DUE_NOW("{n}")},
        {READY, "change t/a " TAG_READY " @now+5 {n}", "now+5 wake now+5", MOVED("now+5") BELL},
        {LOST, "change t/a " TAG_READY " 5 {n}", "now+6 wake now+6", MOVED("now+6") BELL},
        {LOST_THRICE, "change t/a " TAG_THRICE " 5 {n}", "now+6 wake now+6", MOVED("now+6")},
        {LEASED, "change t/a " TAG_LEASED " 5 {n}", "-3", NULL},
        /* When two clients change the job that they read, the first one wins. */
        {DELAYED, "change t/a " TAG_DELAYED " 5 {n} t/a " TAG_DELAYED " 0 {m}", "now+6 -4 wake now+6",
         MOVED("now+6")},
        {DELAYED, "change t/a " TAG_DELAYED " - {n} t/a " TAG_DELAYED " 0 {m}", "0 -4",
         MOVED("now+60000")}, );
}
END_TEST

START_TEST(change_moves_a_job_that_keeps_its_record)
{
#define WITH(place, record) "bucket:t: t/a@" place "\ndue: t@" place "\njobs: t/a=" record "\n"
    CHECK_EXAMPLES( //
        {DELAYED, "change t/a " TAG_DELAYED " @now+9 ''", "now+9 wake now+9", WITH("now+9", "{r}")},
        {DELAYED, "change t/a " TAG_DELAYED " 0 ''", "now", DUE_NOW("{r}")},
        {DELAYED, "change t/a " TAG_OTHER " 0 ''", "-4", NULL},
        {LEASED, "change t/a " TAG_LEASED " 5 ''", "-3", NULL},
        {LOST, "change t/a " TAG_READY " @now+6 ''", "now+6 wake now+6", WITH("now+6", "{r}") BELL},
        {DEAD, "change t/a " TAG_DEAD " 5 ''", "-4", NULL},
        {DELAYED, "change t/a " TAG_DELAYED " - ''", "ERR", NULL},
        /* The second item is checked after the writes of the first. */
        {DELAYED, "change t/a " TAG_DELAYED " @now+5 '' t/a " TAG_DELAYED " 0 ''", "now+5 -4 wake now+5",
         WITH("now+5", "{r}")}, );
}
END_TEST

START_TEST(a_call_of_the_wrong_shape_changes_nothing)
{
    CHECK_EXAMPLES( //
        {ABSENT, "schedule 0 86400000 t/a 5 \"x\"} - t/b", "ERR", NULL},
        {ABSENT, "schedule 0 86400000 t/a 5 \"x\"} - t/b soon \"y\"} -", "ERR", NULL},
        {ABSENT, "schedule 0 86400000 t/a 5 \"x\"} - t 5 \"y\"} -", "ERR", NULL},
        {ABSENT, "replace 0 t/a 5 \"x\"} '' t/b soon \"y\"} ''", "ERR", NULL},
        {ABSENT, "replace 0 t/a 5 \"x\"} '' t/b", "ERR", NULL}, {ABSENT, "replace 0", "", NULL},
        {DELAYED, "change t/a " TAG_DELAYED " soon {n}", "ERR", NULL},
        {DELAYED, "change t/a " TAG_DELAYED " ! ''", "ERR", NULL},
        {DELAYED, "change t/a " TAG_DELAYED " 5", "ERR", NULL}, {DELAYED, "change", "", NULL},
        {LEASED, "retry t/a n1 1.5 {e} ''", "ERR", NULL}, {LEASED, "complete t/a n1 '' t/b", "ERR", NULL},
        {LEASED, "release t/a n1 5 soon - 0", "ERR", NULL},
        {LEASED, "release t/a n1 soon now - 0", "ERR", NULL},
        {LEASED, "bury t/a n1 {d} '' '' '' ''", "ERR", NULL}, {LEASED, "cancel t/a '' t", "ERR", NULL},
        {ABSENT, "schedule 0 86400000", "", NULL}, {LEASED, "complete", "", NULL},
        {LEASED, "renew", "", NULL}, {LEASED, "cancel", "", NULL}, {LEASED, "run 0", "", NULL},
        {LEASED, "read", "", NULL}, );
}
END_TEST

START_TEST(cancel_removes_a_job_from_any_state)
{
    CHECK_EXAMPLES( //
        {ABSENT, "cancel t/a ''", "-1", NULL}, {DELAYED, "cancel t/a ''", "0", ABSENT},
        {COME, "cancel t/a ''", "0", ABSENT}, {READY, "cancel t/a ''", "0", BELL},
        {LEASED, "cancel t/a ''", "1", LINGERING},
        {LEASED_AGAIN, "cancel t/a ''", "1", "holders:t: t/a|n2=\nlingering: t/a|n2@now+3000\n"},
        {EXPIRED, "cancel t/a ''", "1", "holders:t: t/a|n1=\nlingering: t/a|n1@now\n"},
        {LOST, "cancel t/a ''", "0", BELL}, {LOST_THRICE, "cancel t/a ''", "0", ABSENT},
        {DEAD, "cancel t/a ''", "0", ABSENT}, {DEAD_BY_LOSSES, "cancel t/a ''", "0", ABSENT},
        {DELAYED, "cancel t/a '' t/a ''", "0 -1", ABSENT}, {DEAD DELAYED, "cancel t/a ''", "0", DEAD},
        {DEAD DELAYED, "cancel t/a '' t/a ''", "0 0", ABSENT},
        {LEASED, "cancel t/b '' u/a '' t/a ''", "-1 -1 1", LINGERING},
        /* The topic's time in "due" becomes that of its next job, which may be the earliest of all topics. */
        {"bucket:t: t/a@now+5 t/b@now+9\ndue: t@now+5\njobs: t/a={r} t/b={r}\n", "cancel t/a ''", "0",
         "bucket:t: t/b@now+9\ndue: t@now+9\njobs: t/b={r}\n"},
        {"bucket:t: t/a@now-5 t/b@now+9\njobs: t/a={r} t/b={r}\nturns: t@1\n", "cancel t/a ''",
         "0 wake now+9", "bucket:t: t/b@now+9\ndue: t@now+9\njobs: t/b={r}\n"}, );
}
END_TEST

START_TEST(cancel_leaves_what_is_not_as_it_was_seen)
{
    CHECK_EXAMPLES( //
        {ABSENT, "cancel t/a *", "-1", NULL}, {ABSENT, "cancel t/a " TAG_DELAYED, "-1", NULL},
        {DELAYED, "cancel t/a *", "0", ABSENT}, {DELAYED, "cancel t/a " TAG_DELAYED, "0", ABSENT},
        {DELAYED, "cancel t/a " TAG_OTHER, "-4", NULL}, {LEASED, "cancel t/a *", "1", LINGERING},
        {LEASED, "cancel t/a " TAG_LEASED, "1", LINGERING},
        {EXPIRED, "cancel t/a " TAG_LEASED, "1", "holders:t: t/a|n1=\nlingering: t/a|n1@now\n"},
        {LEASED, "cancel t/a " TAG_READY, "-4", NULL}, {READY, "cancel t/a " TAG_READY, "0", BELL},
        {DEAD, "cancel t/a " TAG_DEAD, "0", ABSENT}, {DEAD, "cancel t/a " TAG_READY, "-4", NULL},
        /* A tag selects the job of the pool or the dead job with the same id. */
        {DEAD DELAYED, "cancel t/a " TAG_DEAD, "0", DELAYED},
        {DEAD DELAYED, "cancel t/a " TAG_DELAYED, "0", DEAD},
        {DEAD DELAYED, "cancel t/a " TAG_OTHER, "-4", NULL}, );
}
END_TEST

START_TEST(run_makes_a_job_due)
{
    CHECK_EXAMPLES( //
        {ABSENT, "run 0 t/a 0 '' '' ''", "-1", NULL},
        {DELAYED, "run 0 t/a 0 '' '' ''", "now", DUE_NOW("{r}")},
        {COME, "run 0 t/a 0 '' '' ''", "now-1000", NULL}, {READY, "run 0 t/a 0 '' '' ''", "now-1000", NULL},
        {LEASED, "run 0 t/a 0 '' '' ''", "-3", NULL}, {LEASED_AGAIN, "run 0 t/a 0 '' '' ''", "-3", NULL},
        {EXPIRED, "run 0 t/a 0 '' '' ''", "-3", NULL}, {LOST, "run 0 t/a 0 '' '' ''", "now-1000", READY},
        {LOST_THRICE, "run 0 t/a 0 '' '' ''", "now", DUE_NOW("{r}")},
        {DELAYED, "run 1 t/a 0 '' '' ''", "now", DUE_NOW("{r}")},
        {DELAYED, "run 0 t/a 0 '' '' '' t/a 0 '' '' ''", "now now",
         "bucket:t: t/a@now.0005\njobs: t/a={r}\nready: t\nturns: t@1\n"}, );
}
END_TEST

START_TEST(run_brings_a_dead_job_back)
{
    CHECK_EXAMPLES( //
        {DEAD, "run 0 t/a 0 '' '' ''", "-9", NULL}, {DEAD, "run 0 t/a 0 '' {q} {f}", "-9", NULL},
        {DEAD, "run 0 t/a 0 '' {r} {f}", "now", DUE_NOW("{f}")},
        {DEAD_BY_LOSSES, "run 0 t/a 0 '' {q} {f}", "-9", NULL},
        {DEAD_BY_LOSSES, "run 0 t/a 0 '' {r} {f}", "now", DUE_NOW("{f}")},
        /* A dead job returns to the pool only if no job of the pool has its id. If two items of a call name
         * the job, only the first item runs it. */
        {DELAYED, "run 0 t/a 0 '' {r} {f}", "-6", NULL}, {DEAD LEASED, "run 0 t/a 0 '' {r} {f}", "-3", NULL},
        {DEAD DELAYED, "run 0 t/a 0 '' '' ''", "now", DEAD DUE_NOW("{r}")},
        {DEAD, "run 0 t/a 0 '' {r} {f} t/a 0 '' {r} {f}", "now -6", DUE_NOW("{f}")},
        {DEAD, "run 1 t/a 0 '' {r} {f}", "now", DUE_NOW("{f}")},
        /* With a tag, the job is run only if it has this tag. */
        {ABSENT, "run 0 t/a 0 " TAG_DEAD " '' ''", "-1", NULL},
        {DEAD, "run 0 t/a 0 " TAG_DEAD " {r} {f}", "now", DUE_NOW("{f}")},
        {DEAD, "run 0 t/a 0 " TAG_DEAD " {q} {f}", "-9", NULL},
        {DEAD, "run 0 t/a 0 " TAG_READY " {r} {f}", "-4", NULL},
        {DEAD, "run 0 t/a 0 " TAG_OTHER " {r} {f}", "-4", NULL},
        {DELAYED, "run 0 t/a 0 " TAG_DEAD " {r} {f}", "-4", NULL},
        {DELAYED, "run 0 t/a 0 " TAG_DELAYED " '' ''", "now", DUE_NOW("{r}")},
        {LEASED, "run 0 t/a 0 " TAG_DEAD " {r} {f}", "-3", NULL},
        {DEAD DELAYED, "run 0 t/a 0 " TAG_DEAD " '' ''", "-6", NULL},
        {DEAD DELAYED, "run 0 t/a 0 " TAG_DELAYED " '' ''", "now", DEAD DUE_NOW("{r}")},
        {DEAD, "run 0 t/a 0 " TAG_DEAD " {r} {f} t/a 0 " TAG_DEAD " {r} {f}", "now -4", DUE_NOW("{f}")},
        {"bucket:t: t/b@now+9\ndue: t@now+9\njobs: t/b={b}\n" DEAD, "run 1 t/a 0 '' {r} {f}", "-7", NULL}, );
}
END_TEST

START_TEST(read_says_how_a_job_is)
{
    CHECK_EXAMPLES( //
        {ABSENT, "read t/a", "()", NULL}, {DELAYED, "read t/a", "(delayed now+60000 {r} 0 '')", NULL},
        {COME, "read t/a", "(ready now-1000 {r} 0 '')", NULL},
        {READY, "read t/a", "(ready now-1000 {r} 0 '')", NULL},
        {LEASED, "read t/a", "(leased now+3000 {r} 0 '')", NULL},
        {LEASED_AGAIN, "read t/a", "(leased now+3000 {r} 1 '')", NULL},
        {EXPIRED, "read t/a", "(leased now {r} 0 '')", NULL},
        {LOST, "read t/a", "(ready now-1000 {r} 1 '')", NULL},
        {LOST_THRICE, "read t/a", "(delayed now+7000 {r} 3 '')", NULL},
        {DEAD, "read t/a", "(dead now-5000 {r} 0 '' 0 '')", NULL},
        {DEAD_BY_LOSSES, "read t/a", "(dead now-5000 {r} 5 '' 0 '')", NULL},
        {DEAD DELAYED, "read t/a", "(delayed now+60000 {r} 0 '')", NULL},
        {DEAD, "read t/b t/a t/a", "() (dead now-5000 {r} 0 '' 0 '') (dead now-5000 {r} 0 '' 0 '')", NULL}, );
}
END_TEST

START_TEST(list_shows_the_jobs_of_a_state)
{
    static const char both[] = "bucket:t: t/a@now-5 t/b@now t/c@now+1\n"
                               "jobs: t/a={a} t/b={b} t/c={c}\n"
                               "turns: t@1\n";
    static const char dead[] =
        "dead: t/a@now-9 u/a@now-9 t/b@now-8\n"
        "dead:t: t/a@now-9 t/b@now-8\ndead:u: u/a@now-9\n"
        "kept: t/a=dead,now-9,0,3,{a} t/b=dead,now-8,0,3,{b} u/a=dead,now-9,5/n1,3,{c}\n";
    static const char kept[] = "cancelled:t: t/a@now-9\ndelivered:t: t/b@now-8\n"
                               "kept: t/a=cancelled,now-9,0,3,{a} t/b=delivered,now-8,1,3,{b}1|2|\n"
                               "kept_until: t/a@now+1 t/b@now+2\n";
    CHECK_EXAMPLES( //
        {ABSENT, "list delayed t 10 '' '' 100 1000 -inf +inf '' jobs 0 '' '' '' ''", "'' '' 0", NULL},
        {both, "list delayed t 10 '' '' 100 1000 -inf +inf '' jobs 0 '' '' '' ''",
         "'' '' 1 t/c now+1 {c} 0 '' 0 ''", NULL},
        {both, "list ready t 10 '' '' 100 1000 -inf +inf '' jobs 0 '' '' '' ''",
         "'' '' 2 t/a now-5 {a} 0 '' 0 '' t/b now {b} 0 '' 0 ''", NULL},
        {both, "list ready t 1 '' '' 100 1000 -inf +inf '' jobs 0 '' '' '' ''",
         "now-5 t/a 1 t/a now-5 {a} 0 '' 0 ''", NULL},
        {both, "list ready t 1 now-5 t/a 100 1000 -inf +inf '' jobs 0 '' '' '' ''",
         "'' '' 1 t/b now {b} 0 '' 0 ''", NULL},
        {both, "list ready t 1 now t/b 100 1000 -inf +inf '' jobs 0 '' '' '' ''", "'' '' 0", NULL},
        {LEASED, "list leased '' 10 '' '' 100 1000 -inf +inf '' jobs 0 t/a '' '' ''",
         "'' '' 1 t/a now+3000 {r} 0 '' 0 ''", NULL},
        {LEASED, "list leased '' 10 '' '' 100 1000 -inf +inf '' count 0 '' '' '' ''", "'' '' 1", NULL},
        {LEASED, "list leased u 10 '' '' 100 1000 -inf +inf '' jobs 0 t/a '' '' ''", "'' '' 0", NULL},
        {dead, "list dead '' 10 '' '' 100 1000 -inf +inf '' jobs 0 '' '' '' ''",
         "'' '' 3 t/a now-9 {a} 0 '' 0 '' u/a now-9 {c} 5 '' 0 '' t/b now-8 {b} 0 '' 0 ''", NULL},
        {kept, "list delivered t 10 '' '' 100 1000 -inf +inf '' jobs 0 '' '' '' ''",
         "'' '' 1 t/b now-8 {b} 1 '' now+2 2\n", NULL},
        {kept, "list cancelled t 10 '' '' 100 1000 -inf +inf '' jobs 0 '' '' '' ''",
         "'' '' 1 t/a now-9 {a} 0 '' now+1 ''", NULL},
        {kept, "list delivered u 10 '' '' 100 1000 -inf +inf '' jobs 0 '' '' '' ''", "'' '' 0", NULL},
        {dead, "list dead t 10 '' '' 100 1000 -inf +inf '' jobs 0 '' '' '' ''",
         "'' '' 2 t/a now-9 {a} 0 '' 0 '' t/b now-8 {b} 0 '' 0 ''", NULL},
        /* A page is limited in jobs, in examined entries and in bytes. The entry after which a page begins
         * may have been removed. */
        {dead, "list dead '' 2 '' '' 100 1000 -inf +inf '' jobs 0 '' '' '' ''",
         "now-9 u/a 2 t/a now-9 {a} 0 '' 0 '' u/a now-9 {c} 5 '' 0 ''", NULL},
        {LEASED, "list leased u 2 '' '' 1 1000 -inf +inf '' jobs 0 t/a '' '' ''", "'' '' 0", NULL},
        {dead, "list dead '' 2 '' '' 1 1000 -inf +inf '' jobs 0 '' '' '' ''",
         "now-9 t/a 1 t/a now-9 {a} 0 '' 0 ''", NULL},
        {dead, "list dead '' 9 '' '' 100 1 -inf +inf '' jobs 0 '' '' '' ''",
         "now-9 t/a 1 t/a now-9 {a} 0 '' 0 ''", NULL},
        {dead, "list dead '' 1 now-9 t/zz 100 1000 -inf +inf '' jobs 0 '' '' '' ''",
         "now-9 u/a 1 u/a now-9 {c} 5 '' 0 ''", NULL},
        {dead, "list dead '' 1 now-8 t/a 100 1000 -inf +inf '' jobs 0 '' '' '' ''",
         "'' '' 1 t/b now-8 {b} 0 '' 0 ''", NULL}, );
}
END_TEST

START_TEST(leased_finds_ids_behind_another)
{
    static const char some[] = "leases: t/c@now+1 t/a@now+2 u/a@now+3 t/b@now+4\n";
    CHECK_EXAMPLES( //
        {ABSENT, "leased '' '' 0 100", "0", NULL}, {some, "leased u '' 0 100", "0 u/a", NULL},
        {some, "leased t t/a 0 100", "0 t/c t/b", NULL}, {some, "leased '' t/c 0 100", "0 u/a", NULL},
        {some, "list leased '' 2 0 t/a 100 1000 -inf +inf '' jobs 0 t/b '' '' ''", "'' '' 0", NULL}, );
}
END_TEST

START_TEST(heads_finds_the_first_jobs_of_topics)
{
    static const char some[] = "bucket:a: a/1@now+5 a/2@now+5 a/3@now+7\n"
                               "bucket:b: b/1@now+5 b/2@now+9\n"
                               "bucket:c: c/1@now-1 c/2@now+6\n"
                               "due: a@now+5 b@now+5\n"
                               "jobs: a/1={r} a/2={r} a/3={r} b/1={r} b/2={r} c/1={r} c/2={r}\n"
                               "names: a@0 b@0 c@0 d@0\n"
                               "turns: c@1\n";
    CHECK_EXAMPLES( //
        {some, "heads delayed '' 9 '' '' -inf +inf 0 oldest heads", "'' 0 now+5 a/1 now+5 b/1 now+6 c/2",
         NULL},
        {some, "heads ready '' 9 '' '' -inf +inf 0 oldest heads", "'' 0 now-1 c/1", NULL},
        {some, "heads delayed '' 2 '' '' -inf +inf 0 oldest heads", "b 0 now+5 a/1 now+5 b/1", NULL},
        {some, "heads delayed b 2 '' '' -inf +inf 0 oldest heads", "d 0 now+6 c/2", NULL},
        {some, "heads delayed d 2 '' '' -inf +inf 0 oldest heads", "'' 0", NULL},
        {some, "heads delayed '' 9 now+5 b/1 -inf +inf 0 oldest heads", "'' 0 now+7 a/3 now+9 b/2 now+6 c/2",
         NULL},
        {some, "heads delayed '' 9 now+5 a/1 -inf +inf 0 oldest heads", "'' 0 now+5 a/2 now+5 b/1 now+6 c/2",
         NULL},
        {some, "heads delayed '' 9 now+5 a/0 -inf now+6 0 oldest heads", "'' 0 now+5 a/1 now+5 b/1", NULL},
        {some, "heads delayed '' 9 '' '' -inf +inf 0 newest heads", "'' 0 now+7 a/3 now+9 b/2 now+6 c/2",
         NULL},
        {some, "heads delayed '' 9 now+5 a/2 -inf +inf 0 newest heads", "'' 0 now+5 a/1", NULL},
        {some, "heads delayed '' 9 now+5 b/1 -inf +inf 0 newest heads", "'' 0 now+5 a/2", NULL},
        {some, "heads delayed '' 9 '' '' -inf +inf 0 oldest count", "'' 6", NULL},
        {some, "heads delayed '' 9 '' '' now+6 now+9 0 oldest count", "'' 2", NULL}, );
}
END_TEST

/* Redis sorts these names as a, a-b, a.b, a0, ab, a~b, a~c, b. */
START_TEST(heads_and_leased_find_the_jobs_of_an_owner)
{
    static const char some[] = "bucket:a: a/1@now+5\n"
                               "bucket:ab: ab/1@now+1\n"
                               "bucket:a~b: a~b/1@now+3\n"
                               "bucket:a~c: a~c/1@now+4\n"
                               "bucket:b: b/1@now+2\n"
                               "due: ab@now+1 b@now+2 a~b@now+3 a~c@now+4 a@now+5\n"
                               "jobs: a/1={r} ab/1={r} a~b/1={r} a~c/1={r} b/1={r}\n"
                               "names: a@0 a-b@0 ab@0 a~b@0 a~c@0 b@0\n";
    static const char leased[] = "leases: a/1@now+1 a~b/1@now+2 ab/1@now+3 b/1@now+4\n";
    CHECK_EXAMPLES( //
        {some, "heads delayed '' 9 '' '' -inf +inf 0 oldest heads a",
         "'' 0 now+5 a/1 now+3 a~b/1 now+4 a~c/1", NULL},
        {some, "heads delayed '' 1 '' '' -inf +inf 0 oldest heads a", "a 0 now+5 a/1", NULL},
        {some, "heads delayed a 1 '' '' -inf +inf 0 oldest heads a", "a~b 0 now+3 a~b/1", NULL},
        {some, "heads delayed a~b 9 '' '' -inf +inf 0 oldest heads a", "'' 0 now+4 a~c/1", NULL},
        {some, "heads delayed '' 9 '' '' -inf +inf 0 oldest count a", "'' 3", NULL},
        {some, "heads delayed '' 9 '' '' -inf +inf 0 oldest heads b", "'' 0 now+2 b/1", NULL},
        {leased, "leased '' '' 0 100 a", "0 a/1 a~b/1", NULL},
        {leased, "leased '' a/1 0 100 a", "0 a~b/1", NULL}, );
}
END_TEST

#define LABELLED "{\"createdAt\":1,\"labels\":[\"x\",\"eu\"],\"body\":1}"
#define QUOTING  "{\"createdAt\":1,\"labels\":[\"x\"],\"body\":\"\\\"eu\\\"\",\"more\":\"eu\"}"

START_TEST(list_finds_labels)
{
    static const char some[] = "bucket:t: t/a@now-5 t/b@now-4 t/c@now-3\n"
                               "jobs: t/a=" LABELLED " t/b=" QUOTING " t/c=\"eu\"\n"
                               "turns: t@1\n";
    CHECK_EXAMPLES( //
        {some, "list ready t 10 '' '' 100 4000 -inf +inf '' jobs 0 '' '' '' '' oldest '' '' eu",
         "'' '' 1 t/a now-5 " LABELLED " 0 '' 0 ''", NULL},
        {some, "list ready t 10 '' '' 100 4000 -inf +inf '' count 0 '' '' '' '' oldest '' '' x", "'' '' 2",
         NULL},
        {some, "list ready t 10 '' '' 100 4000 -inf +inf '' count 0 '' '' '' '' oldest '' '' e", "'' '' 0",
         NULL}, );
}
END_TEST

#define KEYED(key) "{\"createdAt\":1,\"head\":\"1;0;0;5;k;9;" key "\",\"body\":1}"
#define KEYLESS    "{\"createdAt\":1,\"head\":\"1;0;0;0;-;9;\",\"body\":\"c1\"}"
#define QUOTED     "a\\\"b"

/* A job with a priority and without a key, and one without a head, have no key. */
START_TEST(list_finds_keys)
{
    static const char some[] =
        "bucket:t: t/a@now-5 t/b@now-4 t/c@now-3 t/d@now-2 t/e@now-1 t/f@now-1\n"
        "jobs: t/a=" KEYED("c1") " t/b=" KEYED("c12") " t/c=" KEYED(QUOTED) " t/d=" KEYED(
            "") " t/e=" KEYLESS " t/f={\"createdAt\":1,\"body\":\"c1\"}\n"
                "turns: t@1\n";
#define COUNT(key)                                                                                           \
    "list ready t 10 '' '' 100 4000 -inf +inf '' count 0 '' '' '' '' oldest '' '' '' '' '' " key
    CHECK_EXAMPLES( //
        {some, "list ready t 10 '' '' 100 4000 -inf +inf '' jobs 0 '' '' '' '' oldest '' '' '' '' '' \"c1\"",
         "'' '' 1 t/a now-5 " KEYED("c1") " 0 '' 0 ''", NULL},
        {some, COUNT("\"c12\""), "'' '' 1", NULL}, {some, COUNT("\"" QUOTED "\""), "'' '' 1", NULL},
        {some, COUNT("\"a\\\\\""), "'' '' 0", NULL}, {some, COUNT("\"c\""), "'' '' 0", NULL},
        {some, COUNT("\"\""), "'' '' 3", NULL}, {some, COUNT("''"), "'' '' 6", NULL}, );
#undef COUNT
}
END_TEST

START_TEST(list_puts_the_jobs_of_several_topics_in_one_order)
{
    static const char some[] = "bucket:a: a/1@now+5 a/2@now+5 a/3@now+7\n"
                               "bucket:b: b/1@now+5 b/2@now+9\n"
                               "due: a@now+5 b@now+5\n"
                               "jobs: a/1={3} a/2={4} a/3={5} b/1={1} b/2={2}\n";
#define LIST "list delayed '' "
#define OF   " 100 1000 -inf +inf '' jobs 0 a\nb\n '' '' '' "
    CHECK_EXAMPLES( //
        {some, LIST "3 '' ''" OF "oldest '' ''",
         "now+5 b/1 3 a/1 now+5 {3} 0 '' 0 '' a/2 now+5 {4} 0 '' 0 '' b/1 now+5 {1} 0 '' 0 ''", NULL},
        {some, LIST "9 now+5 b/1" OF "oldest '' ''",
         "'' '' 2 a/3 now+7 {5} 0 '' 0 '' b/2 now+9 {2} 0 '' 0 ''", NULL},
        {some, LIST "9 now+5 a/2" OF "oldest now+7 a/3",
         "now+7 a/3 2 b/1 now+5 {1} 0 '' 0 '' a/3 now+7 {5} 0 '' 0 ''", NULL},
        {some, LIST "2 '' ''" OF "newest '' ''",
         "now+7 a/3 2 b/2 now+9 {2} 0 '' 0 '' a/3 now+7 {5} 0 '' 0 ''", NULL},
        {some, LIST "9 now+7 a/3" OF "newest '' ''",
         "'' '' 3 b/1 now+5 {1} 0 '' 0 '' a/2 now+5 {4} 0 '' 0 '' a/1 now+5 {3} 0 '' 0 ''", NULL},
        {some, "list delayed a 2 now+7 a/3 100 1000 -inf +inf '' jobs 0 '' '' '' '' newest '' ''",
         "'' '' 2 a/2 now+5 {4} 0 '' 0 '' a/1 now+5 {3} 0 '' 0 ''", NULL}, );
}
END_TEST

START_TEST(list_names_jobs_as_they_are)
{
    CHECK_EXAMPLES( //
        {DELAYED, "list delayed t 10 '' '' 100 1000 -inf +inf '' seen 0 '' '' '' ''",
         "'' '' 1 t/a " TAG_DELAYED, NULL},
        {READY, "list ready t 10 '' '' 100 1000 -inf +inf '' seen 0 '' '' '' ''", "'' '' 1 t/a " TAG_READY,
         NULL},
        {LEASED, "list leased '' 10 '' '' 100 1000 -inf +inf '' seen 0 t/a '' '' ''",
         "'' '' 1 t/a " TAG_LEASED, NULL},
        {DEAD, "list dead '' 10 '' '' 100 1000 -inf +inf '' seen 0 '' '' '' ''", "'' '' 1 t/a " TAG_DEAD,
         NULL}, );
}
END_TEST

START_TEST(list_leaves_out_what_came_after_the_walk_began)
{
#define CREATED(at) "{\"createdAt\":" at ",\"url\":\"http://h/\"}"
    static const char some[] =
        "bucket:t: t/a@now-5 t/b@now t/c@now+1 t/d@now+9\n"
        "dead: u/a@now-9 u/b@now-8 u/c@now\n"
        "kept: u/a=dead,now-9,0,3,{c} u/b=dead,now-8,0,3,{d} u/c=dead,now,0,3,{e}\n"
        "due: t@now-5\n"
        "jobs: t/a={a} t/b={b} t/c=" CREATED("1") " t/d=" CREATED("99999999999999") "\n";
    CHECK_EXAMPLES( //
        {some, "list dead '' 9 '' '' 100 1000 -inf +inf '' count now-7 '' '' '' ''", "'' '' 2", NULL},
        {some, "list dead '' 9 now-9 u/a 100 1000 -inf +inf '' jobs now-7 '' '' '' ''",
         "'' '' 1 u/b now-8 {d} 0 '' 0 ''", NULL},
        {some, "list dead '' 9 now-8 u/b 100 1000 -inf +inf '' jobs now-7 '' '' '' ''", "'' '' 0", NULL},
        {some, "list ready t 9 '' '' 100 1000 -inf +inf '' jobs now-1 '' '' '' ''",
         "'' '' 1 t/a now-5 {a} 0 '' 0 ''", NULL},
        {some, "list delayed t 9 '' '' 100 1000 -inf +inf '' jobs now '' '' '' ''",
         "'' '' 1 t/c now+1 " CREATED("1") " 0 '' 0 ''", NULL}, );
}
END_TEST

START_TEST(list_tells_what_passes_its_filters)
{
#define RECORD(url) "{\"createdAt\":1,\"url\":\"" url "\"}"
    static const char some[] =
        "bucket:t: t/a@now-5 t/b@now t/c@now+1 t/d@now+9\n"
        "dead: t/e@now-9 u/a@now-8\n"
        "dead:t: t/e@now-9\ndead:u: u/a@now-8\n"
        "due: t@now-5\n"
        "jobs: t/a=" RECORD("http://h/") " t/b=" RECORD("https://H:81?q") " t/c=" RECORD(
            "http://hh/") " t/d=x\nkept: t/e=dead,now-9,0,39," RECORD("http://[::1]:5/") " u/"
                                                                                         "a=dead,now-8,0,"
                                                                                         "32," RECORD(
                                                                                             "http:/"
                                                                                             "/h") "\n";
    CHECK_EXAMPLES( //
        {some, "list ready t 9 '' '' 100 1000 now +inf '' jobs 0 '' '' '' ''",
         "'' '' 1 t/b now " RECORD("https://H:81?q") " 0 '' 0 ''", NULL},
        {some, "list ready t 9 '' '' 100 1000 -inf now '' jobs 0 '' '' '' ''",
         "'' '' 1 t/a now-5 " RECORD("http://h/") " 0 '' 0 ''", NULL},
        {some, "list delayed t 9 '' '' 100 1000 now+2 now+9 '' jobs 0 '' '' '' ''", "'' '' 0", NULL},
        {some, "list delayed t 9 '' '' 100 1000 now+2 now+10 '' jobs 0 '' '' '' ''",
         "'' '' 1 t/d now+9 x 0 '' 0 ''", NULL},
        {some, "list dead '' 9 '' '' 100 1000 now-8 now-7 '' jobs 0 '' '' '' ''",
         "'' '' 1 u/a now-8 " RECORD("http://h") " 0 '' 0 ''", NULL},
        {some, "list ready t 9 '' '' 100 1000 -inf +inf h jobs 0 '' '' '' ''",
         "'' '' 2 t/a now-5 " RECORD("http://h/") " 0 '' 0 '' t/b now " RECORD("https://H:81?q") " 0 '' 0 ''",
         NULL},
        {some, "list ready t 9 '' '' 100 1000 -inf +inf h:81 jobs 0 '' '' '' ''",
         "'' '' 1 t/b now " RECORD("https://H:81?q") " 0 '' 0 ''", NULL},
        {some, "list delayed t 9 '' '' 100 1000 -inf +inf h jobs 0 '' '' '' ''", "'' '' 0", NULL},
        {some, "list dead '' 9 '' '' 100 1000 -inf +inf [::1] jobs 0 '' '' '' ''",
         "'' '' 1 t/e now-9 " RECORD("http://[::1]:5/") " 0 '' 0 ''", NULL},
        {"bucket:t: t/a@now t/b@now\ndue: t@now\n"
         "jobs: t/a=" RECORD("") " t/b=" RECORD("http://g/") "\ntopics: t={\"url\":\"http://H/\"}\n",
         "list ready t 9 '' '' 100 1000 -inf +inf h jobs 0 '' '' '' ''",
         "'' '' 1 t/a now " RECORD("") " 0 {\"url\":\"http://H/\"} 0 ''", NULL},
        /* The url of a job is found at any position in the record, because another version may write it
         * elsewhere. */
        {"bucket:t: t/a@now t/b@now\ndue: t@now\n"
         "jobs: t/a={\"body\":{\"url\":\"http://g/\"},\"url\":\"http://h/\"} "
         "t/b={\"body\":{\"url\":\"http://h/\"},\"url\":\"http://g/\"}\n",
         "list ready t 9 '' '' 100 1000 -inf +inf h jobs 0 '' '' '' ''",
         "'' '' 1 t/a now {\"body\":{\"url\":\"http://g/\"},\"url\":\"http://h/\"} 0 '' 0 ''", NULL},
        {some, "list ready t 9 '' '' 100 1000 -inf +inf '' count 0 '' '' '' ''", "'' '' 2", NULL},
        {some, "list delayed t 9 '' '' 100 1000 -inf now+9 '' count 0 '' '' '' ''", "'' '' 1", NULL},
        {some, "list dead '' 9 '' '' 100 1000 -inf +inf '' count 0 '' '' '' ''", "'' '' 2", NULL},
        {some, "list dead u 9 '' '' 100 1000 -inf +inf '' count 0 '' '' '' ''", "'' '' 1", NULL},
        {some, "list ready t 9 '' '' 1 1000 -inf +inf h count 0 '' '' '' ''", "now-5 t/a 1", NULL},
        {some, "list ready t 9 now-5 t/a 1 1000 -inf +inf h count 0 '' '' '' ''", "'' '' 1", NULL}, );
}
END_TEST

/* ---- consumers ---- */

#define LACKS "{\"needs\":[\"later\"]}"

/* A topic whose settings need a later version of duepost stays in "turns". A topic with unreadable settings
 * is moved to "due". */
START_TEST(claim_passes_over_what_it_may_not_serve)
{
#define PASSED "bucket:t: t/a@now-9\njobs: t/a={1} u/a={5}\n"
    CHECK_EXAMPLES(
        {PASSED "bucket:u: u/a@now-9\ntopics: t=" LACKS "\nturns: t@3 u@4\n", "claim 10 n5 5000 2 1000 0",
         "1 0 1 u/a now-9 {5} t " LACKS,
         PASSED "holders:u: u/a=n5,now-9\nleases: u/a@now+5000\nready: t\ntopics: t=" LACKS "\nturns: t@4\n"},
        /* No other topic has due jobs, so the script writes no entry to "ready", and its answer counts no
         * ready topics. */
        {PASSED "topics: t=" LACKS "\nturns: t@3\n", "claim 10 n5 5000 2 1000 0", "0 0 0 t " LACKS,
         PASSED "topics: t=" LACKS "\nturns: t@3\n"},
        {PASSED "topics: t={\"needs\":[\"later\"],\"paused\":1}\nturns: t@3\n", "claim 10 n5 5000 2 1000 0",
         "0 0 0 t {\"needs\":[\"later\"],\"paused\":1}",
         PASSED "topics: t={\"needs\":[\"later\"],\"paused\":1}\nturns: t@3\n"},
        {PASSED "topics: t={\"rate\":{\"jobs\":1}}\nturns: t@3\n", "claim 10 n5 5000 2 1000 0",
         "0 0 0 t {\"rate\":{\"jobs\":1}}", PASSED "due: t@inf\ntopics: t={\"rate\":{\"jobs\":1}}\n"}, );
}
END_TEST

/* Settings that cannot be read hold only the jobs of their own topic. The claim still leases jobs of other
 * topics. */
START_TEST(settings_that_cannot_be_read_hold_up_their_topic_only)
{
    static const char *const broken[] = {
        "x",
        "null",
        "1",
        "\"a\"",
        "{",
        "{\"paused\":1}",
        "{\"maxInFlight\":\"1\"}",
        "{\"maxInFlight\":0}",
        "{\"maxInFlight\":null}",
        "{\"rate\":1}",
        "{\"rate\":false}",
        "{\"rate\":{\"jobs\":1,\"per\":0,\"burst\":1}}",
        "{\"rate\":{\"jobs\":1,\"per\":1,\"burst\":{}}}",
        "{\"url\":1}",
        "{\"onDead\":[]}",
        "{\"retention\":\"1\"}",
        "{\"retention\":1e99}",
        "{\"needs\":1}",
    };
    char before[512], answer[512], after[512];
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        snprintf(
            before, sizeof before,
            "bucket:t: t/a@now-9\nbucket:u: u/a@now-9\njobs: t/a={1} u/a={5}\ntopics: t=%s\nturns: t@3 u@4\n",
            broken[i]);
        snprintf(answer, sizeof answer, "0 0 1 u/a now-9 {5} t %s", broken[i]);
        snprintf(after, sizeof after,
                 "bucket:t: t/a@now-9\ndue: t@inf\nholders:u: u/a=n5,now-9\njobs: t/a={1} u/a={5}\n"
                 "leases: u/a@now+5000\ntopics: t=%s\n",
                 broken[i]);
        check_example(&(struct example){before, "claim 10 n5 5000 2 1000 0", answer, after});
    }
}
END_TEST

#define CLAIM "claim 10 n5 5000 2 1000 0"
#define CLAIMED                                                                                              \
    "holders:t: t/a=n5,now-1000\n"                                                                           \
    "jobs: t/a={r}\n"                                                                                        \
    "leases: t/a@now+5000\n"

START_TEST(claim_leases_what_is_ready)
{
    CHECK_EXAMPLES( //
        {ABSENT, CLAIM, "0 0 0", NULL}, {DELAYED, CLAIM, "0 0 0", NULL}, {COME, CLAIM, "0 0 0", NULL},
        {READY, CLAIM, "0 0 1 t/a now-1000 {r}", CLAIMED BELL}, {LEASED, CLAIM, "0 0 0", NULL},
        {LEASED_AGAIN, CLAIM, "0 0 0", NULL}, {EXPIRED, CLAIM, "0 0 0", NULL},
        {LOST, CLAIM, "0 0 1 t/a now-1000 {r}", "crashes: t/a=1,n1\n" CLAIMED BELL},
        {LOST_THRICE, CLAIM, "0 0 0", NULL}, {DEAD, CLAIM, "0 0 0", NULL},
        {DEAD_BY_LOSSES, CLAIM, "0 0 0", NULL}, );
}
END_TEST

/* Three topics: t has three due jobs and one later job, u has two due jobs, v has one later job. */
#define MANY                                                                                                 \
    "bucket:t: t/a@now-9 t/b@now-8 t/c@now t/d@now+5\n"                                                      \
    "bucket:u: u/a@now-9 u/b@now-9\n"                                                                        \
    "bucket:v: v/a@now+9\n"                                                                                  \
    "due: v@now+9\n"                                                                                         \
    "jobs: t/a={1} t/b={2} t/c={3} t/d={4} u/a={5} u/b={6} v/a={7}\n"

START_TEST(claim_goes_by_turns_within_its_bounds)
{
    CHECK_EXAMPLES(
        /* A claim of one job: the topic that was served moves to the end of "turns". */
        {MANY "turns: t@3 u@4\n", "claim 1 n5 5000 2 1000 0", "2 0 1 t/a now-9 {1}",
         "bucket:t: t/b@now-8 t/c@now t/d@now+5\n"
         "bucket:u: u/a@now-9 u/b@now-9\n"
         "bucket:v: v/a@now+9\n"
         "due: v@now+9\n"
         "holders:t: t/a=n5,now-9\n"
         "jobs: t/a={1} t/b={2} t/c={3} t/d={4} u/a={5} u/b={6} v/a={7}\n"
         "leases: t/a@now+5000\n"
         "ready: u\n"
         "turns: u@4 t@1048579\n"},
        /* The claim takes one job of each topic in turn. When t reaches its limit of two jobs in flight, it
         * moves to "due" with the time inf. */
        {MANY "turns: t@3 u@4\n", "claim 10 n5 5000 1 1000 0",
         "0 0 4 t/a now-9 {1} u/a now-9 {5} t/b now-8 {2} u/b now-9 {6}",
         "bucket:t: t/c@now t/d@now+5\n"
         "bucket:v: v/a@now+9\n"
         "due: v@now+9 t@inf\n"
         "holders:t: t/a=n5,now-9 t/b=n5,now-8\n"
         "holders:u: u/a=n5,now-9 u/b=n5,now-9\n"
         "jobs: t/a={1} t/b={2} t/c={3} t/d={4} u/a={5} u/b={6} v/a={7}\n"
         "leases: t/a@now+5000 t/b@now+5000 u/a@now+5000 u/b@now+5000\n"},
        /* The limit is 1 byte: one job is returned all the same, and the jobs beyond the limit stay as they
         * are. */
        {MANY "ready: t\nturns: t@3 u@4\n", "claim 10 n5 5000 2 1 0", "2 0 1 t/a now-9 {1}",
         "bucket:t: t/b@now-8 t/c@now t/d@now+5\n"
         "bucket:u: u/a@now-9 u/b@now-9\n"
         "bucket:v: v/a@now+9\n"
         "due: v@now+9\n"
         "holders:t: t/a=n5,now-9\n"
         "jobs: t/a={1} t/b={2} t/c={3} t/d={4} u/a={5} u/b={6} v/a={7}\n"
         "leases: t/a@now+5000\n"
         "ready: t\n"
         "turns: u@4 t@1048579\n"},
        {MANY "ready: t\nturns: u@4\n", "claim 10 n5 5000 2 4 0", "1 0 1 u/a now-9 {5}",
         "bucket:t: t/a@now-9 t/b@now-8 t/c@now t/d@now+5\n"
         "bucket:u: u/b@now-9\n"
         "bucket:v: v/a@now+9\n"
         "due: v@now+9\n"
         "holders:u: u/a=n5,now-9\n"
         "jobs: t/a={1} t/b={2} t/c={3} t/d={4} u/a={5} u/b={6} v/a={7}\n"
         "leases: u/a@now+5000\n"
         "ready: t\n"
         "turns: u@4\n"},
        /* The topic's next job has the earliest due time of all topics, so the carry worker is woken. */
        {"bucket:t: t/a@now-9 t/b@now+5\njobs: t/a={1} t/b={2}\nturns: t@1\n", "claim 10 n5 5000 2 1000 0",
         "0 0 1 t/a now-9 {1} wake now+5",
         "bucket:t: t/b@now+5\n"
         "due: t@now+5\n"
         "holders:t: t/a=n5,now-9\n"
         "jobs: t/a={1} t/b={2}\n"
         "leases: t/a@now+5000\n"},
        /* The topic is in "turns" although no job is due, because the clock has stepped back. */
        {"bucket:t: t/a@now+5\njobs: t/a={1}\nturns: t@1\n", "claim 10 n5 5000 2 1000 0", "0 0 0 wake now+5",
         "bucket:t: t/a@now+5\ndue: t@now+5\njobs: t/a={1}\n"},
        /* The topic is in "turns" although it has reached its limit, because another process has a higher
         * limit. */
        {"bucket:t: t/a@now-5\nholders:t: t/b=n1,now-9 t/c=n1,now-9\njobs: t/a={1} t/b={2} t/c={3}\n"
         "leases: t/b@now+9 t/c@now+9\nturns: t@1\n",
         "claim 10 n5 5000 2 1000 0", "0 0 0",
         "bucket:t: t/a@now-5\n"
         "due: t@inf\n"
         "holders:t: t/b=n1,now-9 t/c=n1,now-9\n"
         "jobs: t/a={1} t/b={2} t/c={3}\n"
         "leases: t/b@now+9 t/c@now+9\n"},
        /* Entries whose jobs do not exist are removed, with the jobs' counts of lost consumers. */
        {"bucket:t: t/a@now-5 t/b@now-4\ncrashes: t/a=2,n1\njobs: t/b={2}\nturns: t@1\n",
         "claim 10 n5 5000 2 1000 0", "0 0 1 t/b now-4 {2}",
         "holders:t: t/b=n5,now-4\njobs: t/b={2}\nleases: t/b@now+5000\n"}, );
}
END_TEST

/* ---- operators ---- */

#define PAUSED       "topics: t={\"paused\":true}\n"
#define ONE_EACH_2_S "{\"rate\":{\"jobs\":1,\"per\":2,\"burst\":1}}"
#define HELD                                                                                                 \
    "bucket:t: t/a@now-1000\n"                                                                               \
    "due: t@inf\n"                                                                                           \
    "jobs: t/a={r}\n"

START_TEST(settings_hold_a_topic_and_let_it_go)
{
    CHECK_EXAMPLES( //
        {ABSENT, "settings t '' {\"paused\":true}", "1", PAUSED},
        {READY, "settings t '' {\"paused\":true}", "1", HELD BELL PAUSED},
        {DELAYED, "settings t '' {\"paused\":true}", "1", DELAYED PAUSED},
        {HELD PAUSED, "carry x 2 10 '' '' 5000 250", "x 1 -1 -1 0 ''",
         "bucket:t: t/a@now-1000\ncarry: at=now beat=1 owner=x\ndue: t@inf\njobs: t/a={r}\n" PAUSED},
        {HELD PAUSED, "schedule 0 86400000 t/b 0 \"x\"} -", "now",
         "bucket:t: t/a@now-1000 t/b@now\ndue: t@inf\njobs: t/a={r} t/b={\"createdAt\":now,\"x\"}\n" PAUSED},
        {HELD PAUSED, "settings t {\"paused\":true} ''", "1", READY},
        /* Another client has changed the settings since they were read. */
        {HELD PAUSED, "settings t '' {\"paused\":false}", "0", NULL},
        {HELD PAUSED, "settings t {\"paused\":false} ''", "0", NULL},
        {READY, "settings t '' {\"maxInFlight\":1}", "1",
         "bucket:t: t/a@now-1000\njobs: t/a={r}\nready: t\ntopics: t={\"maxInFlight\":1}\nturns: t@1\n"},
        /* When a topic loses its rate, the state of the rate is removed. */
        {"rates: t=1700000002123456\ntopics: t=" ONE_EACH_2_S "\n", "settings t " ONE_EACH_2_S " ''", "1",
         ""}, );
}
END_TEST

#define BURIED(record) DIED("now", "0,3," record)

START_TEST(claim_keeps_to_the_settings)
{
    CHECK_EXAMPLES( //
        /* The topic is in "turns" although it is paused. */
        {READY PAUSED, CLAIM, "0 0 0", HELD BELL PAUSED},
        {"bucket:t: t/a@now-9 t/b@now-8\njobs: t/a={1} t/b={2}\ntopics: t={\"maxInFlight\":1}\nturns: t@1\n",
         CLAIM, "0 0 1 t/a now-9 {1} t {\"maxInFlight\":1}",
         "bucket:t: t/b@now-8\ndue: t@inf\nholders:t: t/a=n5,now-9\njobs: t/a={1} t/b={2}\nleases: "
         "t/a@now+5000\n"
         "topics: t={\"maxInFlight\":1}\n"},
        /* The topic's own limit is higher than the default limit. */
        {"bucket:t: t/a@now-9 t/b@now-8 t/c@now-7\njobs: t/a={1} t/b={2} t/c={3}\ntopics: "
         "t={\"maxInFlight\":3}\n"
         "turns: t@1\n",
         CLAIM, "0 0 3 t/a now-9 {1} t/b now-8 {2} t/c now-7 {3} t {\"maxInFlight\":3}",
         "holders:t: t/a=n5,now-9 t/b=n5,now-8 t/c=n5,now-7\njobs: t/a={1} t/b={2} t/c={3}\n"
         "leases: t/a@now+5000 t/b@now+5000 t/c@now+5000\ntopics: t={\"maxInFlight\":3}\n"}, );
}
END_TEST

START_TEST(claim_of_a_topic_far_behind_takes_what_fell_due_last_too)
{
    CHECK_EXAMPLES( //
        {"bucket:t: t/a@now-900 t/b@now-800 t/c@now-700 t/d@now-600 t/e@now-1\n"
         "jobs: t/a={1} t/b={2} t/c={3} t/d={4} t/e={5}\ntopics: t={\"maxInFlight\":8}\nturns: t@1\n",
         "claim 4 n5 5000 2 1000 0",
         "1 0 4 t/a now-900 {1} t/b now-800 {2} t/c now-700 {3} t/e now-1 {5} t {\"maxInFlight\":8}",
         "bucket:t: t/d@now-600\nready: t\nturns: t@1\nholders:t: t/a=n5,now-900 t/b=n5,now-800 "
         "t/c=n5,now-700 "
         "t/e=n5,now-1\n"
         "jobs: t/a={1} t/b={2} t/c={3} t/d={4} t/e={5}\n"
         "leases: t/a@now+5000 t/b@now+5000 t/c@now+5000 t/e@now+5000\ntopics: t={\"maxInFlight\":8}\n"},
        /* A topic with a limit below 8 keeps the order of its jobs. */
        {"bucket:t: t/a@now-900 t/b@now-800 t/e@now-1\njobs: t/a={1} t/b={2} t/e={5}\n"
         "topics: t={\"maxInFlight\":7}\nturns: t@1\n",
         "claim 1 n4 5000 2 1000 0", "1 0 1 t/a now-900 {1} t {\"maxInFlight\":7}",
         "bucket:t: t/b@now-800 t/e@now-1\nholders:t: t/a=n4,now-900\njobs: t/a={1} t/b={2} t/e={5}\n"
         "leases: t/a@now+5000\nready: t\ntopics: t={\"maxInFlight\":7}\nturns: t@1\n"}, );
}
END_TEST

START_TEST(topics_tells_what_there_is)
{
    static const char some[] = "bucket:t: t/a@now-5 t/b@now t/c@now+1\n"
                               "bucket:u: u/a@now-9\n"
                               "dead:t: t/d@now-9\ndead:v: v/a@now-8 v/b@now-8\n"
                               "dead_due: t@inf v@inf\n"
                               "due: u@inf\n"
                               "holders:w: w/a=n1,now-9\n"
                               "jobs: t/a={1} t/b={1} t/c={1} u/a={1} w/a={1}\n"
                               "leases: w/a@now+9\n"
                               "topics: u={\"paused\":true} x={\"maxInFlight\":1}\n"
                               "turns: t@1\n";
    CHECK_EXAMPLES( //
        {ABSENT, "topics '' '' 10", "0", NULL},
        {ABSENT, "topics t '' 10", "0 t '' 0 0 0 0 -1 -1 0 0 0 0 '' '' '' 0 0 0 0 '' -1 -1 0", NULL},
        {some, "topics t '' 10", "0 t '' 1 2 0 1 now-5 -1 0 0 0 0 '' '' '' 0 0 0 0 '' -1 -1 0", NULL},
        {some, "topics u '' 10",
         "0 u {\"paused\":true} 0 1 0 0 now-9 -2 0 0 0 0 {\"paused\":true} '' '' 0 0 0 0 '' -1 -1 0", NULL},
        {some, "topics '' '' 2",
         "1 t '' 1 2 0 1 now-5 -1 0 0 0 0 '' '' '' 0 0 0 0 '' -1 -1 0 u {\"paused\":true} 0 1 0 0 now-9 -2 0 "
         "0 "
         "0 "
         "0 "
         "{\"paused\":true} '' '' 0 0 0 0 '' -1 -1 0",
         NULL},
        {some, "topics '' u 9",
         "0 v '' 0 0 0 2 -1 -1 0 0 0 0 '' '' '' 0 0 0 0 '' -1 -1 0 w '' 0 0 1 0 -1 -1 0 0 0 0 '' '' '' 0 0 0 "
         "0 "
         "'' "
         "-1 -1 0 x "
         "{\"maxInFlight\":1} 0 "
         "0 0 0 "
         "-1 -1 0 0 0 "
         "0 {\"maxInFlight\":1} '' '' 0 0 0 0 '' -1 -1 0",
         NULL},
        {some, "topics v '' 9", "0 v '' 0 0 0 2 -1 -1 0 0 0 0 '' '' '' 0 0 0 0 '' -1 -1 0", NULL},
        /* The most urgent topics: those that have been overdue longest, then those that are due next. */
        {some, "topics '' '' 2 1",
         "0 u {\"paused\":true} 0 1 0 0 now-9 -2 0 0 0 0 {\"paused\":true} '' '' 0 0 0 0 '' -1 -1 0 t '' 1 2 "
         "0 "
         "1 "
         "now-5 -1 "
         "0 "
         "0 0 "
         "0 "
         "'' '' '' 0 0 0 0 '' -1 -1 0",
         NULL},
        {"bucket:a: a/a@now+9\nbucket:b: b/a@now+7\nbucket:c: c/a@now+8\ndue: b@now+7 c@now+8 a@now+9\nheld: "
         "c@now-5\n"
         "held:c: c/a@now-5\njobs: a/a={1} b/a={1} c/a={1}\n",
         "topics '' '' 2 1",
         "1 c '' 0 0 0 0 now-5 -1 1 0 0 0 '' '' '' 0 0 0 0 '' -1 -1 0 b '' 1 0 0 0 now+7 -1 0 0 0 0 '' '' '' "
         "0 "
         "0 "
         "0 0 "
         "'' -1 -1 0",
         NULL},
        {ABSENT, "topics '' '' 2 1", "0", NULL},
        /* The jobs b and c were held until the next check of their receiver. For b, the time of this check
         * has come. */
        {"bucket:t: t/a@now-5 t/b@now-4 t/c@now+7\nheld: t@now-90\nheld:t: t/c@now-90 t/b@now-80\n"
         "jobs: t/a={1} t/b={1} t/c={1}\nturns: t@1\n",
         "topics t '' 1", "0 t '' 0 1 0 0 now-90 -1 2 0 0 0 '' '' '' 0 0 0 0 '' -1 -1 0", NULL},
        /* The topic's rate does not allow an attempt yet. */
        {"bucket:t: t/a@now-9\ndue: t@now+2001\njobs: t/a={1}\nrates: t=1700000002123456\ntopics: "
         "t=" ONE_EACH_2_S "\n",
         "topics t '' 1",
         "0 t " ONE_EACH_2_S " 0 1 0 0 now-9 now+2001 0 0 0 0 " ONE_EACH_2_S " '' '' 0 0 0 0 '' -1 -1 0",
         NULL}, );
}
END_TEST

/* Checks the figures about the last hour of topic t in the answer of the script topics. */
static void check_counts(redisContext *redis, const char *expected)
{
    struct buffer answer;
    buffer_init(&answer, 4096);
    redisReply *reply = script_run_text(redis, "topics t '' 1", NOW_MS);
    script_answer_text(&answer, reply, NOW_US);
    freeReplyObject(reply);
    const char *end = buffer_text(&answer) + answer.size - strlen(expected);
    ck_assert_msg(strcmp(end, expected) == 0, "%s\ninstead of ...%s", buffer_text(&answer), expected);
    buffer_fini(&answer);
}

static void check_hour(const char *before, const char *const *calls, const char *expected)
{
    redisContext *redis = examples_redis();
    keyspace_load(redis, before, NOW_MS);
    for (; *calls; calls++)
        freeReplyObject(script_run_text(redis, *calls, NOW_MS));
    check_counts(redis, expected);
}

START_TEST(an_attempt_that_ends_a_round_is_not_counted_as_a_retry)
{
    static const char *const words[] = {"retry", "t/a", "n1", "5",   "{x}",      "1@2 1 1 202 \"\"",
                                        "t/b",   "n1",  "5",  "{x}", "1 1 1 500"};
    redisContext *redis = examples_redis();
    keyspace_load(redis,
                  "holders:t: t/a=n1,now-1000 t/b=n1,now-1000\n"
                  "jobs: t/a={r} t/b={r}\nleases: t/a@now+3000 t/b@now+3000\n",
                  NOW_MS);
    freeReplyObject(script_run(redis, sizeof words / sizeof *words, words));
    check_counts(redis, " 0 1 0 '' '' '' 0 0 0 1 500 -1 -1 0");
}
END_TEST

START_TEST(topics_that_fail_are_found_by_their_failures)
{
    static const char hours[] =
        "hour:5666655: ra=3\nhour:5666666: rb=2 xb=3 ab=503 dc=99 rc=9 rd=1 ad=500 re=9\n"
        "numbers: hours=5666655,5666666\n";
    redisContext *redis = examples_redis();
    struct buffer answer;
    buffer_init(&answer, 4096);
    keyspace_load(redis, hours, NOW_MS);
    redis_do(redis, "ZADD " KEYSPACE_PREFIX "failures:5666655 3 a");
    redis_do(redis, "ZADD " KEYSPACE_PREFIX "failures:5666666 5 b 9 c 1 d 9 e");
    redisReply *reply = script_run_text(redis, "topics '' '' 3 2", NOW_MS);
    script_answer_text(&answer, reply, NOW_US);
    freeReplyObject(reply);
    ck_assert_str_eq(buffer_text(&answer), "0 e '' 0 0 0 0 -1 -1 0 0 9 0 '' '' '' 0 0 0 1 '' -1 -1 0 "
                                           "b '' 0 0 0 0 -1 -1 0 0 2 3 '' '' '' 0 0 0 1 503 -1 -1 0 "
                                           "a '' 0 0 0 0 -1 -1 0 0 3 0 '' '' '' 0 0 0 1 '' -1 -1 0");
    buffer_fini(&answer);
}
END_TEST

START_TEST(outcomes_are_counted_for_an_hour)
{
    static const char two[] = "holders:t: t/a=n1,now-1000 t/b=n1,now-1000\n"
                              "jobs: t/a={r} t/b={r}\nleases: t/a@now+3000 t/b@now+3000\n";
    static const char old[] = LEASED "hour:5666654: dt=9\nhour:5666655: dt=4\nhour:5666667: dt=9\n"
                                     "numbers: hours=5666654,5666655,5666667\n";
    check_hour(two, (const char *const[]){"complete t/a n1 '' t/b n1 ''", NULL},
               " 2 0 0 '' '' '' 0 0 0 0 '' -1 -1 0");
    check_hour(two,
               (const char *const[]){"complete t/a n2 ''", "retry t/a n1 5 {x} l", "bury t/b n1 {x} l", NULL},
               " 0 1 1 '' '' '' 0 0 0 1 '' -1 -1 0");
    check_hour(two, (const char *const[]){"release t/a n1 -1 now - 0", "cancel t/b ''", NULL},
               " 0 0 0 '' '' '' 0 0 0 0 '' -1 -1 0");
    check_hour(LOST, (const char *const[]){"complete t/a n1 ''", NULL}, " 1 0 0 '' '' '' 0 0 0 0 '' -1 -1 0");
    /* The last hour has twelve parts, including the current part 5666666, which contains NOW_MS. */
    check_hour("hour:5666654: dt=9\nhour:5666655: dt=1\nhour:5666660: rt=3 ru=6\nhour:5666661: rt=4\n"
               "hour:5666666: dt=2 xt=5 xt/a=6\nhour:5666667: dt=9\n"
               "numbers: hours=5666654,5666655,5666660,5666661,5666666,5666667\n",
               (const char *const[]){NULL}, " 3 7 5 '' '' '' 0 0 0 1 '' -1 -1 0");
    /* The present and the previous part decide whether a topic fails, if they have ten outcomes; else the
     * hour. */
    check_hour("hour:5666665: dt=10\nhour:5666660: at=500 rt=90\nnumbers: hours=5666660,5666665\n",
               (const char *const[]){NULL}, " 10 90 0 '' '' '' 0 0 0 0 500 -1 -1 0");
    check_hour("hour:5666664: dt=9\nhour:5666665: dt=9 rt=1 at=timeout\nhour:5666660: at=500 rt=1\n"
               "numbers: hours=5666660,5666664,5666665\n",
               (const char *const[]){NULL}, " 18 2 0 '' '' '' 0 0 0 1 timeout -1 -1 0");
    check_hour("hour:5666666: dt=91 rt=9\nnumbers: hours=5666666\n", (const char *const[]){NULL},
               " 91 9 0 '' '' '' 0 0 0 0 '' -1 -1 0");
    check_hour(old, (const char *const[]){"complete t/a n1 ''", NULL}, " 5 0 0 '' '' '' 0 0 0 0 '' -1 -1 0");
    redisContext *redis = examples_redis();
    redisReply *parts = redis_command(redis, "HGET %snumbers hours", KEYSPACE_PREFIX);
    ck_assert_str_eq(parts->str, "5666655,5666666");
    freeReplyObject(parts);
    redisReply *keys = redis_command(redis, "KEYS %shour:*", KEYSPACE_PREFIX);
    ck_assert_uint_eq(keys->elements, 2); /* older parts are removed */
    freeReplyObject(keys);
}
END_TEST

START_TEST(complete_takes_a_known_success_as_long_as_it_is_nobody_elses_job)
{
    CHECK_EXAMPLES( //
        {ABSENT, "complete t/a n1 ''", "0", NULL}, {DELAYED, "complete t/a n1 ''", "0", NULL},
        {COME, "complete t/a n1 ''", "0", NULL}, {READY, "complete t/a n1 ''", "0", NULL},
        {LEASED, "complete t/a n1 ''", "1", ABSENT}, {LEASED, "complete t/a nx ''", "0", NULL},
        {LEASED, "complete t/a n ''", "0", NULL}, {LEASED_AGAIN, "complete t/a n1 ''", "0", NULL},
        {LEASED_AGAIN, "complete t/a n2 ''", "1", ABSENT}, {LEASED_AGAIN, "complete t/a nx ''", "0", NULL},
        {EXPIRED, "complete t/a n1 ''", "1", ABSENT}, {EXPIRED, "complete t/a nx ''", "0", NULL},
        {LOST, "complete t/a n1 ''", "1", BELL}, {LOST, "complete t/a nx ''", "0", NULL},
        {LOST_THRICE, "complete t/a n1 ''", "1", ABSENT}, {LOST_THRICE, "complete t/a nx ''", "0", NULL},
        {DEAD, "complete t/a n1 ''", "0", NULL}, {DEAD_BY_LOSSES, "complete t/a n1 ''", "1", ABSENT},
        {DEAD_BY_LOSSES, "complete t/a nx ''", "0", NULL}, );
}
END_TEST

#define RETRIED                                                                                              \
    "bucket:t: t/a@now+5001\n"                                                                               \
    "due: t@now+5001\n"                                                                                      \
    "jobs: t/a={e}\n"

/* Like READY, but with {e}, the record that a retry has written. */
#define READY_E "bucket:t: t/a@now-1000\njobs: t/a={e}\nready: t\nturns: t@1\n"

START_TEST(retry_lets_a_job_wait_from_now)
{
    static const char stale[] = "retry t/a nx 5000 {e} ''", retry[] = "retry t/a n1 5000 {e} ''";
    CHECK_EXAMPLES( //
        {ABSENT, retry, "0", NULL}, {DELAYED, retry, "0", NULL}, {COME, retry, "0", NULL},
        {READY, retry, "0", NULL}, {LEASED, retry, "1 wake now+5001", RETRIED}, {LEASED, stale, "0", NULL},
        {LEASED_AGAIN, retry, "0", NULL},
        {LEASED_AGAIN, "retry t/a n2 5000 {e} ''", "1 wake now+5001", RETRIED},
        {LEASED_AGAIN, stale, "0", NULL}, {EXPIRED, retry, "1 wake now+5001", RETRIED},
        {EXPIRED, stale, "0", NULL}, {LOST, retry, "1 wake now+5001", RETRIED BELL}, {LOST, stale, "0", NULL},
        {LOST_THRICE, retry, "1 wake now+5001", RETRIED}, {LOST_THRICE, stale, "0", NULL},
        {LOST_THRICE, "retry t/a n1 6999 {r} ''", "1",
         "bucket:t: t/a@now+7000\ndue: t@now+7000\njobs: t/a={r}\n"},
        {LEASED, "retry t/a n1 -1 {e} ''", "1", READY_E},
        {LOST, "retry t/a n1 -1 {e} ''", "1", DUE_NOW("{e}")}, {DEAD, retry, "0", NULL},
        {DEAD_BY_LOSSES, retry, "1 wake now+5001", RETRIED}, {DEAD_BY_LOSSES, stale, "0", NULL}, );
}
END_TEST

START_TEST(bury_keeps_a_dead_job)
{
    static const char stale[] = "bury t/a nx {d} ''", bury[] = "bury t/a n1 {d} ''";
    CHECK_EXAMPLES( //
        {ABSENT, bury, "0", NULL}, {DELAYED, bury, "0", NULL}, {COME, bury, "0", NULL},
        {READY, bury, "0", NULL}, {LEASED, bury, "1", BURIED("{d}")}, {LEASED, stale, "0", NULL},
        {LEASED_AGAIN, bury, "0", NULL}, {LEASED_AGAIN, "bury t/a n2 {d} ''", "1", BURIED("{d}")},
        {LEASED_AGAIN, stale, "0", NULL}, {EXPIRED, bury, "1", BURIED("{d}")}, {EXPIRED, stale, "0", NULL},
        {LOST, bury, "1", BURIED("{d}") BELL}, {LOST, stale, "0", NULL},
        {LOST_THRICE, bury, "1", BURIED("{d}")}, {LOST_THRICE, stale, "0", NULL}, {DEAD, bury, "0", NULL},
        {DEAD_BY_LOSSES, bury, "1", BURIED("{d}")}, {DEAD_BY_LOSSES, stale, "0", NULL}, );
}
END_TEST

START_TEST(release_gives_a_lease_back_and_nothing_else)
{
    static const char stale[] = "release t/a nx -1 now - 0", release[] = "release t/a n1 -1 now - 0";
    CHECK_EXAMPLES( //
        {ABSENT, release, "0", NULL}, {DELAYED, release, "0", NULL}, {COME, release, "0", NULL},
        {READY, release, "0", NULL}, {LEASED, release, "1", READY}, {LEASED, stale, "0", NULL},
        {LEASED_AGAIN, release, "0", NULL}, {LEASED_AGAIN, "release t/a n2 -1 now - 0", "1", LOST},
        {LEASED_AGAIN, stale, "0", NULL}, {EXPIRED, release, "1", READY}, {EXPIRED, stale, "0", NULL},
        {LOST, release, "0", NULL}, {LOST, stale, "0", NULL}, {LOST_THRICE, release, "0", NULL},
        {LOST_THRICE, stale, "0", NULL}, {DEAD, release, "0", NULL}, {DEAD_BY_LOSSES, release, "0", NULL},
        {DEAD_BY_LOSSES, stale, "0", NULL}, );
}
END_TEST

#define HELD_BACK                                                                                            \
    "bucket:t: t/a@now+5001\n"                                                                               \
    "due: t@now+5001\n" HELD_T "jobs: t/a={r}\n"

#define HELD_T "held: t@now-1000\nheld:t: t/a@now-1000\n"

START_TEST(release_holds_a_job_back)
{
    static const char stale[] = "release t/a nx 5000 now - 0", release[] = "release t/a n1 5000 now - 0";
    CHECK_EXAMPLES( //
        {LEASED, release, "1 wake now+5001", HELD_BACK}, {LEASED, stale, "0", NULL},
        {LEASED, "release t/a n1 0 now - 0", "1 wake now+1",
         "bucket:t: t/a@now+1\ndue: t@now+1\n" HELD_T "jobs: t/a={r}\n"},
        {LEASED_AGAIN, release, "0", NULL},
        {LEASED_AGAIN, "release t/a n2 5000 now - 0", "1 wake now+5001",
         "bucket:t: t/a@now+5001\ncrashes: t/a=1,n1\ndue: t@now+5001\n" HELD_T "jobs: t/a={r}\n"},
        {EXPIRED, release, "1 wake now+5001", HELD_BACK}, {LOST, release, "0", NULL},
        /* The clock has stepped back since its claim. */
        {"holders:t: t/a=n1,now+9000\njobs: t/a={r}\nleases: t/a@now+3000\n", release, "1 wake now+9000",
         "bucket:t: t/a@now+9000\ndue: t@now+9000\nheld: t@now+9000\nheld:t: t/a@now+9000\njobs: t/a={r}\n"},
        /* A held job leaves its bucket when it is cancelled. A claim of a held job returns the time when the
         * job was due. */
        {HELD_BACK, "cancel t/a ''", "0", ABSENT},
        {"bucket:t: t/a@now-5\n" HELD_T "jobs: t/a={r}\nturns: t@1\n", "claim 1 n1 3000 2 1000 0",
         "0 0 1 t/a now-1000 now-5 {r}", LEASED}, );
}
END_TEST

#define GUIDE           "breaker:h:1: t/a@now+5001\n"
#define HELD_BY_BREAKER "bucket:t: t/a@now+5001\n" GUIDE "due: t@now+5001\n" HELD_T "jobs: t/a={r}\n"

START_TEST(resume_puts_held_jobs_back_to_when_they_were_due)
{
    static const char resume[] = "resume h:1 9";
    static const char two[] = "bucket:t: t/a@now+5001 t/b@now+5003\n"
                              "breaker:h:1: t/a@now+5001 t/b@now+5003\ndue: t@now+5001\n"
                              "held: t@now-1000\nheld:t: t/a@now-1000 t/b@now-2000\njobs: t/a={r} t/b={r}\n";
    CHECK_EXAMPLES( //
        {LEASED, "release t/a n1 5000 now h:1 0", "1 wake now+5001", HELD_BY_BREAKER},
        {HELD_BY_BREAKER, resume, "1", READY}, {HELD_BY_BREAKER, "resume h:2 9", "0", NULL},
        {HELD_BY_BREAKER, "resume h:1 0", "ERR", NULL}, {HELD_BY_BREAKER, "resume h:1", "ERR", NULL},
        /* The ids belong to jobs that are no longer held. */
        {GUIDE, resume, "1", ""}, {LEASED GUIDE, resume, "1", LEASED},
        {"bucket:t: t/a@now+9000\n" GUIDE "due: t@now+9000\njobs: t/a={r}\n", resume, "1",
         "bucket:t: t/a@now+9000\ndue: t@now+9000\njobs: t/a={r}\n"},
        /* The clock has stepped back, so the time at which the job was due is later than now. */
        {"bucket:t: t/a@now+5001\n" GUIDE
         "due: t@now+5001\nheld: t@now+700\nheld:t: t/a@now+700\njobs: t/a={r}\n",
         resume, "1 wake now+700", "bucket:t: t/a@now+700\ndue: t@now+700\njobs: t/a={r}\n"},
        {two, "resume h:1 1", "1",
         "bucket:t: t/a@now-1000 t/b@now+5003\nbreaker:h:1: t/b@now+5003\n"
         "held: t@now-2000\nheld:t: t/b@now-2000\njobs: t/a={r} t/b={r}\n" BELL "turns: t@1\n"},
        {two, resume, "2",
         "bucket:t: t/b@now-2000 t/a@now-1000\njobs: t/a={r} t/b={r}\n" BELL "turns: t@1\n"},
        /* Entries whose time has been over for a minute are removed. */
        {"breaker:h:1: t/x@now-60001 t/y@now-59000\n" LEASED, "release t/a n1 5000 now h:1 0",
         "1 wake now+5001",
         "bucket:t: t/a@now+5001\nbreaker:h:1: t/y@now-59000 t/a@now+5001\ndue: t@now+5001\n" HELD_T
         "jobs: t/a={r}\n"},
        /* A changed job is not held any more, because it may have another receiver. */
        {HELD_BACK, "change t/a * - {n}", "0",
         "bucket:t: t/a@now-1000\njobs: t/a={n}\n" BELL "turns: t@1\n"}, );
}
END_TEST

START_TEST(abandon_gives_back_what_one_claim_has_leased)
{
    static const char abandon[] = "abandon n1 9 -9000 9000", stale[] = "abandon nx 9 -9000 9000";
    static const char three[] = "holders:t: t/a=n1,now-3 t/b=n2,now-2\nholders:u: u/a=n1,now-1\n"
                                "jobs: t/a={r} t/b={r} u/a={r}\nleases: t/a@now+5 t/b@now+6 u/a@now+7\n";
    CHECK_EXAMPLES( //
        {ABSENT, abandon, "0", NULL}, {DELAYED, abandon, "0", NULL}, {COME, abandon, "0", NULL},
        {READY, abandon, "0", NULL}, {LEASED, abandon, "1", READY}, {LEASED, stale, "0", NULL},
        {LEASED, "abandon n 9 -9000 9000", "0", NULL}, {LEASED_AGAIN, abandon, "0", NULL},
        {LEASED_AGAIN, "abandon n2 9 -9000 9000", "1", LOST}, {EXPIRED, abandon, "1", READY},
        {LOST, abandon, "0", NULL}, {LOST_THRICE, abandon, "0", NULL}, {DEAD, abandon, "0", NULL},
        {DEAD_BY_LOSSES, abandon, "0", NULL},
        {three, abandon, "2",
         "bucket:t: t/a@now-3\nbucket:u: u/a@now-1\nholders:t: t/b=n2,now-2\n"
         "jobs: t/a={r} t/b={r} u/a={r}\nleases: t/b@now+6\nready: t\nturns: t@1 u@2\n"},
        /* The script examines at most this number of leases. */
        {three, "abandon n1 2 -9000 9000", "1",
         "bucket:t: t/a@now-3\nholders:t: t/b=n2,now-2\nholders:u: u/a=n1,now-1\n"
         "jobs: t/a={r} t/b={r} u/a={r}\nleases: t/b@now+6 u/a@now+7\nready: t\nturns: t@1\n"},
        /* Only leases with a deadline that the claim can have given are examined. */
        {LEASED, "abandon n1 9 9000 9999", "0", NULL},
        /* The clock has stepped back since the claim. */
        {"holders:t: t/a=n1,now+9000\njobs: t/a={r}\nleases: t/a@now+14000\n", "abandon n1 9 -9000 14000",
         "1 wake now+9000", "bucket:t: t/a@now+9000\ndue: t@now+9000\njobs: t/a={r}\n"}, );
}
END_TEST

#define RENEWED(nonce)                                                                                       \
    "holders:t: t/a=" nonce ",now-1000\n"                                                                    \
    "jobs: t/a={r}\n"                                                                                        \
    "leases: t/a@now+5000\n"

START_TEST(renew_lets_a_held_lease_live_on)
{
    static const char stale[] = "renew t/a nx 5000 ''", renew[] = "renew t/a n1 5000 ''";
    CHECK_EXAMPLES( //
        {ABSENT, renew, "0", NULL}, {DELAYED, renew, "0", NULL}, {COME, renew, "0", NULL},
        {READY, renew, "0", NULL}, {LEASED, renew, "now+5000", RENEWED("n1")}, {LEASED, stale, "0", NULL},
        {LEASED_AGAIN, renew, "0", NULL},
        {LEASED_AGAIN, "renew t/a n2 5000 ''", "now+5000", "crashes: t/a=1,n1\n" RENEWED("n2")},
        {LEASED_AGAIN, stale, "0", NULL}, {EXPIRED, renew, "now+5000", RENEWED("n1")},
        {EXPIRED, stale, "0", NULL}, {LOST, renew, "0", NULL}, {LOST, stale, "0", NULL},
        {LOST_THRICE, renew, "0", NULL}, {LOST_THRICE, stale, "0", NULL}, {DEAD, renew, "0", NULL},
        {DEAD_BY_LOSSES, renew, "0", NULL}, {DEAD_BY_LOSSES, stale, "0", NULL}, );
}
END_TEST

#define LEASED_BY_N2 "holders:t: t/a=n2,now-1000\njobs: t/a={q}\nleases: t/a@now+3000\n"

START_TEST(of_two_items_of_one_id_the_first_that_holds_the_lease_counts)
{
    CHECK_EXAMPLES(
        {LEASED, "complete t/a n1 '' t/a n1 ''", "1 0", ABSENT},
        {LEASED, "complete t/a nx '' t/a n1 ''", "0 1", ABSENT},
        {LOST, "complete t/a n1 '' t/a n1 ''", "1 0", BELL},
        /* a late success of a dead job is stale as long as another job has its id, also if this other job
         * ends in the same call */
        {DEAD_BY_LOSSES LEASED_BY_N2, "complete t/a n1 ''", "0", NULL},
        {DEAD_BY_LOSSES LEASED_BY_N2, "complete t/a n1 '' t/a n2 ''", "0 1", DEAD_BY_LOSSES},
        {DEAD_BY_LOSSES LEASED_BY_N2, "complete t/a n2 '' t/a n1 ''", "1 0", DEAD_BY_LOSSES},
        {LEASED, "retry t/a nx 1 {x} '' t/a n1 5000 {e} '' t/a n1 1 {x} ''", "0 1 0 wake now+5001", RETRIED},
        {LEASED, "bury t/a nx {x} '' t/a n1 {d} '' t/a n1 {x} ''", "0 1 0", BURIED("{d}")},
        {LEASED, "release t/a nx -1 now - 0 t/a n1 -1 now - 0 t/a n1 5 now - 0", "0 1 0", READY},
        {LEASED, "renew t/a n1 5000 '' t/a nx 5000 '' t/a n1 5000 ''", "now+5000 0 now+5000",
         RENEWED("n1")}, );
}
END_TEST

/* Two topics: t has reached its limit of jobs in flight, and has another due job. */
#define BUSY                                                                                                 \
    "bucket:t: t/c@now-1\n"                                                                                  \
    "due: t@inf\n"                                                                                           \
    "holders:t: t/a=n1,now-9 t/b=n2,now-8\n"                                                                 \
    "holders:u: u/a=n1,now-7\n"                                                                              \
    "jobs: t/a={1} t/b={2} t/c={3} u/a={4}\n"                                                                \
    "leases: t/a@now+9 t/b@now+9 u/a@now+9\n"

START_TEST(the_end_of_a_lease_makes_room_below_the_limit)
{
    CHECK_EXAMPLES( //
        {BUSY, "claim 10 n5 5000 2 1000 0", "0 0 0", NULL},
        {BUSY, "complete u/a n1 '' t/a n2 '' t/a n1 ''", "1 0 1",
         "bucket:t: t/c@now-1\n"
         "holders:t: t/b=n2,now-8\n"
         "jobs: t/b={2} t/c={3}\n"
         "leases: t/b@now+9\n"
         "ready: t\n"
         "turns: t@1\n"},
        {BUSY, "bury u/a n1 {d} '' t/b n2 {d} ''", "1 1",
         "bucket:t: t/c@now-1\n"
         "dead: t/b@now u/a@now\n"
         "dead:t: t/b@now\n"
         "dead:u: u/a@now\n"
         "dead_due: t@inf u@inf\n"
         "holders:t: t/a=n1,now-9\n"
         "jobs: t/a={1} t/c={3}\n"
         "kept: t/b=dead,now,0,3,{d} u/a=dead,now,0,3,{d}\n"
         "leases: t/a@now+9\n"
         "ready: t\n"
         "turns: t@1\n"},
        {BUSY, "release u/a n1 -1 now - 0 t/b n2 -1 now - 0", "1 1",
         "bucket:t: t/b@now-8 t/c@now-1\n"
         "bucket:u: u/a@now-7\n"
         "holders:t: t/a=n1,now-9\n"
         "jobs: t/a={1} t/b={2} t/c={3} u/a={4}\n"
         "leases: t/a@now+9\n"
         "ready: u\n"
         "turns: u@1 t@2\n"},
        /* The attempt of the cancelled job t/b continues, and counts for the limit. */
        {BUSY, "cancel t/b ''", "1",
         "bucket:t: t/c@now-1\n"
         "due: t@inf\n"
         "holders:t: t/a=n1,now-9 t/b|n2=\n"
         "holders:u: u/a=n1,now-7\n"
         "jobs: t/a={1} t/c={3} u/a={4}\n"
         "leases: t/a@now+9 u/a@now+9\n"
         "lingering: t/b|n2@now+9\n"}, );
}
END_TEST

/* ---- receivers ---- */

/* The fields of a receiver's record, which the head of report.lua explains: failures, opened, time of the
 * next probe, wait, probe, limit, halved, failed, cause, reported. */
#define KNOWN(record)   "receivers: h:80=" record " version=7\nreported: h:80@7\n"
#define NEXT(record)    "receivers: h:80=" record " version=8\nreported: h:80@8\n"
#define FAILED_19       "19,0,0,0,0,0,0,now-9,503,now-9"
#define OPEN            "20,now-9000,now+5000,30000,0,0,0,now-9000,503,now-9000"
#define OVERDUE         "20,now-30001,now,30000,0,0,0,now-30001,503,now-30001"
#define PROBED          "20,now-30001,now+30000,30000,7,0,0,now-30001,503,now-9"
#define RUNS_LONG(wait) "20,now-30001,now-1," wait ",5,0,0,now-30001,503,now-9"
#define PROBED_BY_TWO   "20,now-30001,now+4000,30000,5,0,0,now-30001,503,now-9"
#define PATHS(record)   "receivers: h:80/a=" record " h:8/b=" OPEN " version=7\nreported: h:8/b@6 h:80/a@7\n"
#define LIMITED(n)      "0,0,0,0,0," n ",now-1000,0,-,now-1000"
#define WELL            "0,0,0,0,0,0,0,now-9,503,now"

START_TEST(report_counts_failures_in_a_row)
{
    CHECK_EXAMPLES( //
        {ABSENT, "report 30000 h:80 1 0 - 0 5 0 -", "(0 0 0 '')", NULL},
        {ABSENT, "report 30000 h:80 0 3 connect 0 0 0 -", "(0 0 1 3 0 0 0 0 0 0 now connect now)",
         "receivers: h:80=3,0,0,0,0,0,0,now,connect,now version=1\nreported: h:80@1\n"},
        {KNOWN(FAILED_19), "report 30000 h:80 1 0 - 0 0 0 -", "(0 0 8 0 0 0 0 0 0 0 now-9 503 now)",
         NEXT(WELL)},
        /* Failures before the last success no longer count. */
        {KNOWN(FAILED_19), "report 30000 h:80 1 2 tls 0 1 0 -", "(0 0 8 2 0 0 0 0 0 0 now tls now)",
         NEXT("2,0,0,0,0,0,0,now,tls,now")},
        {KNOWN(WELL), "report 30000 h:80 1 0 - 0 1 0 -", "(0 0 7 0 0 0 0 0 0 0 now-9 503 now)", NULL},
        /* Several reports in one call, each applied after the previous one. */
        {ABSENT, "report 30000 h:80 0 1 reset 0 0 0 - h:81 0 1 502 0 0 0 - h:80 1 0 - 0 0 0 -",
         "(0 0 1 1 0 0 0 0 0 0 now reset now) (0 0 2 1 0 0 0 0 0 0 now 502 now) "
         "(0 0 3 0 0 0 0 0 0 0 now reset now)",
         "receivers: h:80=0,0,0,0,0,0,0,now,reset,now h:81=1,0,0,0,0,0,0,now,502,now version=3\n"
         "reported: h:81@2 h:80@3\n"}, );
}
END_TEST

#define ASK "report 30000 h:80 0 0 - 0 0 0 probe"

START_TEST(a_breaker_opens_is_probed_and_closes)
{
    CHECK_EXAMPLES( //
        {KNOWN(FAILED_19), "report 30000 h:80 0 1 timeout 0 0 0 -",
         "(0 1 8 20 now now+30001 30000 0 0 0 now timeout now) wake receivers",
         NEXT("20,now,now+30001,30000,0,0,0,now,timeout,now")},
        {ABSENT, "report 1000 h:80 1 25 reset 0 0 0 -",
         "(0 1 1 25 now now+1001 1000 0 0 0 now reset now) wake receivers",
         "receivers: h:80=25,now,now+1001,1000,0,0,0,now,reset,now version=1\nreported: h:80@1\n"},
        /* The report is about an attempt that began before the breaker opened. */
        {KNOWN(OPEN), "report 30000 h:80 0 2 connect 0 0 0 -",
         "(0 0 8 22 now-9000 now+5000 30000 0 0 0 now connect now)",
         NEXT("22,now-9000,now+5000,30000,0,0,0,now,connect,now")},
        {KNOWN(OPEN), "report 30000 h:80 1 0 - 0 1 0 -",
         "(0 2 8 0 0 0 0 0 0 0 now-9000 503 now) wake receivers", NEXT("0,0,0,0,0,0,0,now-9000,503,now")},
        /* The right to probe is refused before the time of the next probe, granted once, and granted again
         * when the outcome of the probe is overdue. */
        {KNOWN(OPEN), ASK, "(0 0 7 20 now-9000 now+5000 30000 0 0 0 now-9000 503 now-9000)", NULL},
        {KNOWN(OVERDUE), ASK, "(8 0 8 20 now-30001 now+5001 30000 8 0 0 now-30001 503 now) wake receivers",
         NEXT("20,now-30001,now+5001,30000,8,0,0,now-30001,503,now")},
        {KNOWN(PROBED), ASK, "(0 0 7 20 now-30001 now+30000 30000 7 0 0 now-30001 503 now-9)", NULL},
        {KNOWN(OVERDUE), ASK " h:80 0 0 - 0 0 0 probe",
         "(8 0 8 20 now-30001 now+5001 30000 8 0 0 now-30001 503 now) "
         "(0 0 8 20 now-30001 now+5001 30000 8 0 0 now-30001 503 now) wake receivers",
         NEXT("20,now-30001,now+5001,30000,8,0,0,now-30001,503,now")},
        {ABSENT, ASK, "(0 0 0 '')", NULL},
        {KNOWN(FAILED_19), ASK, "(0 0 7 19 0 0 0 0 0 0 now-9 503 now-9)", NULL},
        /* The clock has stepped back by hours. */
        {KNOWN("20,now+9000000,now+9030000,30000,0,0,0,now+9000000,503,now+9000000"), ASK,
         "(8 0 8 20 now+9000000 now+5001 30000 8 0 0 now+9000000 503 now) wake receivers",
         NEXT("20,now+9000000,now+5001,30000,8,0,0,now+9000000,503,now")},
        /* While a probe still runs, another probe may begin after a sixth of the wait, but not before a
         * second has passed. */
        {KNOWN(RUNS_LONG("30000")), ASK,
         "(8 0 8 20 now-30001 now+5001 30000 5 0 0 now-30001 503 now) wake receivers",
         NEXT("20,now-30001,now+5001,30000,5,0,0,now-30001,503,now")},
        {KNOWN(RUNS_LONG("3000")), ASK,
         "(8 0 8 20 now-30001 now+1001 3000 5 0 0 now-30001 503 now) wake receivers",
         NEXT("20,now-30001,now+1001,3000,5,0,0,now-30001,503,now")},
        /* The first probe that fails ends the round of probes, and doubles the wait. A second failure of this
         * round does not double the wait again. If a probe of the round was not sent, another one may begin
         * at once. If it was inconclusive, nothing changes. */
        {KNOWN(RUNS_LONG("30000")), "report 30000 h:80 0 1 504 0 0 6 -",
         "(0 0 8 21 now-30001 now+60001 60000 0 0 0 now 504 now)",
         NEXT("21,now-30001,now+60001,60000,0,0,0,now,504,now")},
        {KNOWN(RUNS_LONG("30000")), "report 30000 h:80 0 1 504 0 0 5 - h:80 0 1 504 0 0 6 -",
         "(0 0 8 21 now-30001 now+60001 60000 0 0 0 now 504 now) "
         "(0 0 9 22 now-30001 now+60001 60000 0 0 0 now 504 now)",
         "receivers: h:80=22,now-30001,now+60001,60000,0,0,0,now,504,now version=9\nreported: h:80@9\n"},
        {KNOWN(PROBED_BY_TWO), "report 30000 h:80 0 0 - 0 0 6 -",
         "(0 0 8 20 now-30001 now 30000 5 0 0 now-30001 503 now)",
         NEXT("20,now-30001,now,30000,5,0,0,now-30001,503,now")},
        {KNOWN(PROBED_BY_TWO), "report 30000 h:80 0 0 dns 0 0 6 -",
         "(0 0 7 20 now-30001 now+4000 30000 5 0 0 now-30001 503 now-9)", NULL},
        /* The probe fails: the wait doubles, up to ten minutes. A failure of another attempt does not change
         * the wait. */
        {KNOWN(PROBED), "report 30000 h:80 0 1 504 0 0 7 -",
         "(0 0 8 21 now-30001 now+60001 60000 0 0 0 now 504 now)",
         NEXT("21,now-30001,now+60001,60000,0,0,0,now,504,now")},
        {KNOWN(PROBED), "report 30000 h:80 0 1 504 0 0 6 -",
         "(0 0 8 21 now-30001 now+30000 30000 7 0 0 now 504 now)",
         NEXT("21,now-30001,now+30000,30000,7,0,0,now,504,now")},
        {KNOWN("99,now-9,now+9,400000,7,0,0,now-9,503,now-9"), "report 30000 h:80 0 1 reset 0 0 7 -",
         "(0 0 8 100 now-9 now+600001 600000 0 0 0 now reset now)",
         NEXT("100,now-9,now+600001,600000,0,0,0,now,reset,now")},
        /* The first report says that the probe succeeded. The second one says that the probe was not sent, so
         * another probe may begin at once. */
        {KNOWN(PROBED), "report 30000 h:80 1 0 - 0 1 7 -",
         "(0 2 8 0 0 0 0 0 0 0 now-30001 503 now) wake receivers", NEXT("0,0,0,0,0,0,0,now-30001,503,now")},
        {KNOWN(PROBED), "report 30000 h:80 0 0 - 0 0 7 -",
         "(0 0 8 20 now-30001 now 30000 0 0 0 now-30001 503 now)",
         NEXT("20,now-30001,now,30000,0,0,0,now-30001,503,now")},
        /* The probe was inconclusive: the next probe may begin after the same wait. */
        {KNOWN(PROBED), "report 30000 h:80 0 0 dns 0 0 7 -",
         "(0 0 8 20 now-30001 now+30001 30000 0 0 0 now-30001 503 now)",
         NEXT("20,now-30001,now+30001,30000,0,0,0,now-30001,503,now")},
        {KNOWN(PROBED), "report 30000 h:80 0 0 dns 0 0 6 -",
         "(0 0 7 20 now-30001 now+30000 30000 7 0 0 now-30001 503 now-9)", NULL},
        {KNOWN(PROBED), "report 30000 h:80 0 0 - 0 0 6 -",
         "(0 0 7 20 now-30001 now+30000 30000 7 0 0 now-30001 503 now-9)", NULL},
        /* The breaker of h:80 is closed on request, and with it that of its path, h:80/a. That of h:8/b is
         * not. */
        {PATHS("20,now-9000,now+5000,30000,0,0,0,now-9000,503,now-9000"), "report 0 h:80 0 0 - 0 0 0 close",
         "(0 2 8 0 0 0 0 0 0 0 0 - now) wake receivers",
         "receivers: h:8/b=" OPEN
         " h:80/a=0,0,0,0,0,0,0,now-9000,503,now version=8\nreported: h:8/b@6 h:80/a@8\n"},
        {PATHS("3,0,0,0,0,0,0,now-9000,503,now-9000"), "report 0 h:80 0 0 - 0 0 0 close",
         "(0 0 8 0 0 0 0 0 0 0 0 - now)",
         "receivers: h:8/b=" OPEN
         " h:80/a=0,0,0,0,0,0,0,now-9000,503,now version=8\nreported: h:8/b@6 h:80/a@8\n"},
        {ABSENT, "report 0 h:80 0 0 - 0 0 0 close", "(0 0 0 '')", NULL},
        {KNOWN(OPEN), "report 0 h:80 0 0 - 0 0 0 close",
         "(0 2 8 0 0 0 0 0 0 0 now-9000 503 now) wake receivers", NEXT("0,0,0,0,0,0,0,now-9000,503,now")},
        {KNOWN(LIMITED("3")), "report 0 h:80 0 0 - 0 0 0 close", "(0 0 8 0 0 0 0 0 0 now-1000 0 - now)",
         NEXT("0,0,0,0,0,0,now-1000,0,-,now")}, );
}
END_TEST

START_TEST(a_limit_is_halved_once_a_second_and_grows_by_each_success)
{
    CHECK_EXAMPLES( //
        {ABSENT, "report 30000 h:80 1 0 - 9 0 0 -", "(0 4 1 0 0 0 0 0 4 now 0 - now) wake receivers",
         "receivers: h:80=0,0,0,0,0,4,now,0,-,now version=1\nreported: h:80@1\n"},
        {ABSENT, "report 30000 h:80 0 1 502 1 0 0 -", "(0 4 1 1 0 0 0 0 1 now now 502 now) wake receivers",
         "receivers: h:80=1,0,0,0,0,1,now,now,502,now version=1\nreported: h:80@1\n"},
        {KNOWN(LIMITED("8")), "report 30000 h:80 1 0 - 9 0 0 -",
         "(0 4 8 0 0 0 0 0 4 now 0 - now) wake receivers", NEXT("0,0,0,0,0,4,now,0,-,now")},
        /* The new limit is half of the attempts in flight if these are fewer than the old limit. */
        {KNOWN(LIMITED("8")), "report 30000 h:80 1 0 - 6 0 0 -",
         "(0 4 8 0 0 0 0 0 3 now 0 - now) wake receivers", NEXT("0,0,0,0,0,3,now,0,-,now")},
        {KNOWN(LIMITED("1")), "report 30000 h:80 1 0 - 1 0 0 -",
         "(0 4 8 0 0 0 0 0 1 now 0 - now) wake receivers", NEXT("0,0,0,0,0,1,now,0,-,now")},
        {KNOWN("0,0,0,0,0,8,now-999,0,-,now"), "report 30000 h:80 1 0 - 9 0 0 -",
         "(0 0 7 0 0 0 0 0 8 now-999 0 - now)", NULL},
        {KNOWN("0,0,0,0,0,8,now+999,0,-,now"), "report 30000 h:80 1 0 - 9 0 0 -",
         "(0 4 8 0 0 0 0 0 4 now 0 - now) wake receivers", NEXT("0,0,0,0,0,4,now,0,-,now")},
        {KNOWN(LIMITED("8")), "report 30000 h:80 1 0 - 0 3 0 -", "(0 0 8 0 0 0 0 0 11 now-1000 0 - now)",
         NEXT("0,0,0,0,0,11,now-1000,0,-,now")},
        {KNOWN(LIMITED("990")), "report 30000 h:80 1 0 - 0 9 0 -", "(0 0 8 0 0 0 0 0 999 now-1000 0 - now)",
         NEXT("0,0,0,0,0,999,now-1000,0,-,now")},
        {KNOWN(LIMITED("990")), "report 30000 h:80 1 0 - 0 10 0 -", "(0 0 8 0 0 0 0 0 0 now-1000 0 - now)",
         NEXT("0,0,0,0,0,0,now-1000,0,-,now")}, );
}
END_TEST

START_TEST(what_nothing_is_told_of_for_an_hour_is_forgotten)
{
    static const char some[] = "receivers: g:1=1,0,0,0,0,0,0,now-3600000,503,now-3600000 "
                               "h:1=1,0,0,0,0,0,0,now-3599999,503,now-3599999 "
                               "i:1=1,0,0,0,0,0,0,now-9,503,now-9 version=9\n"
                               "reported: g:1@3 h:1@4 i:1@9\n";
    static const char rest[] = "receivers: h:1=1,0,0,0,0,0,0,now-3599999,503,now-3599999 "
                               "i:1=1,0,0,0,0,0,0,now-9,503,now-9 version=9\n"
                               "reported: h:1@4 i:1@9\n";
    CHECK_EXAMPLES( //
        {some, "report 30000 x:1 1 0 - 0 1 0 -", "(0 0 9 '')", rest},
        /* The version in an answer is that of the last report about any receiver. */
        {some, "report 30000 h:1 0 0 - 0 0 0 -", "(0 0 9 1 0 0 0 0 0 0 now-3599999 503 now-3599999)", rest},
        {some, "receivers '' 0 10",
         "9 9 h:1 1 0 0 0 0 0 0 now-3599999 503 now-3599999 -1 i:1 1 0 0 0 0 0 0 now-9 503 now-9 -1", NULL},
        {some, "receivers g:1 0 10", "9 0", NULL}, {some, "receivers x:1 0 10", "9 0", NULL},
        {some, "receivers i:1 0 10", "9 0 i:1 1 0 0 0 0 0 0 now-9 503 now-9 -1", NULL},
        {some, "receivers '' 0 2", "9 4 h:1 1 0 0 0 0 0 0 now-3599999 503 now-3599999 -1", NULL},
        {some, "receivers '' 4 2", "9 9 i:1 1 0 0 0 0 0 0 now-9 503 now-9 -1", NULL},
        {some, "receivers '' 9 2", "9 9", NULL}, {ABSENT, "receivers '' 0 2", "0 0", NULL},
        /* A claim returns the version of the receivers' records. */
        {some, CLAIM, "0 9 0", NULL}, );
}
END_TEST

START_TEST(a_report_of_the_wrong_shape_changes_nothing)
{
    CHECK_EXAMPLES( //
        {KNOWN(OPEN), "report 30000 h:80 1 0 - 0 0 0", "ERR", NULL},
        {KNOWN(OPEN), "report 30000 h:80 1 0 - 0 0 0 - h 1 0 - 0 0 0 -", "ERR", NULL},
        {KNOWN(OPEN), "report 30000 h:80 1 0 - 0 0 0 - h/a:1 1 0 - 0 0 0 -", "ERR", NULL},
        {KNOWN(OPEN), "report 30000 h:80 1 0 - 0 0 0 - version 1 0 - 0 0 0 -", "ERR", NULL},
        {KNOWN(OPEN), "report 30000 h:80 1 0 - 0 0 0 - h:81 1 -1 - 0 0 0 -", "ERR", NULL}, );
}
END_TEST

/* ---- upkeep ---- */

#define RECOVER "recover consumers 5000 now 256 1 !r"
#define LAST_LEASE(losses)                                                                                   \
    "crashes: t/a=" losses ",n0\n"                                                                           \
    "holders:t: t/a=n1,now-1000\n"                                                                           \
    "jobs: t/a={r}\n"                                                                                        \
    "leases: t/a@now\n"

START_TEST(recover_returns_jobs_whose_lease_ran_out)
{
    CHECK_EXAMPLES( //
        {ABSENT, RECOVER, "0 0", NULL}, {DELAYED, RECOVER, "0 0", NULL}, {COME, RECOVER, "0 0", NULL},
        {READY, RECOVER, "0 0", NULL}, {LEASED, RECOVER, "0 0", NULL}, {LEASED_AGAIN, RECOVER, "0 0", NULL},
        {EXPIRED, RECOVER, "1 0", LOST}, {LOST, RECOVER, "0 0", NULL}, {LOST_THRICE, RECOVER, "0 0", NULL},
        {DEAD, RECOVER, "0 0", NULL}, {DEAD_BY_LOSSES, RECOVER, "0 0", NULL},
        /* The script changes nothing if Redis's clock differs by more than 1 s from the time that the caller
         * expects. */
        {EXPIRED, "recover consumers 5000 now+1000 256 1 !r", "1 0", LOST},
        {EXPIRED, "recover consumers 5000 now+1001 256 1 !r", "-1", NULL},
        {EXPIRED, "recover consumers 5000 now-1001 256 1 !r", "-1", NULL},
        /* A lease whose deadline is later than that of a new lease was written before the clock stepped back,
         * and is treated as lost. */
        {"holders:t: t/a=n1,now-1000\njobs: t/a={r}\nleases: t/a@now+6000\n", RECOVER, "0 0", NULL},
        {"holders:t: t/a=n1,now-1000\njobs: t/a={r}\nleases: t/a@now+6001\n", RECOVER, "1 0", LOST},
        /* The lease that was lost first is recovered first. After that, the topic is below its limit
         * again. */
        {BUSY, "recover consumers 5000 now 1 1 !r", "0 0", NULL},
        {"bucket:t: t/c@now-1\n"
         "due: t@inf\n"
         "holders:t: t/a=n1,now-9 t/b=n2,now-8\n"
         "jobs: t/a={1} t/b={2} t/c={3}\n"
         "leases: t/b@now-2 t/a@now-1\n",
         "recover consumers 5000 now 1 1 !r", "1 0",
         "bucket:t: t/b@now-8 t/c@now-1\n"
         "crashes: t/b=1,n2\n"
         "holders:t: t/a=n1,now-9\n"
         "jobs: t/a={1} t/b={2} t/c={3}\n"
         "leases: t/a@now-1\n"
         "ready: t\n"
         "turns: t@1\n"},
        /* A lease without an entry in holders: the job's due time is unknown. */
        {"jobs: t/a={r}\nleases: t/a@now-1\n", RECOVER, "1 0",
         "bucket:t: t/a@now\ncrashes: t/a=1,-\njobs: t/a={r}\nready: t\nturns: t@1\n"}, );
}
END_TEST

static int64_t wait_after_loss(const char *before, int seed)
{
    redisContext *redis = examples_redis();
    char call[64];
    keyspace_load(redis, before, NOW_MS);
    snprintf(call, sizeof call, "recover consumers 5000 now 256 %d !r", seed);
    freeReplyObject(script_run_text(redis, call, NOW_MS));
    redisReply *score = redis_command(redis, "ZSCORE " KEYSPACE_PREFIX "bucket:t t/a");
    int64_t wait_ms = strtoll(score->str, NULL, 10) - NOW_MS;
    freeReplyObject(score);
    return wait_ms;
}

START_TEST(lost_again_a_job_waits_for_a_random_time_up_to_two_to_the_n_leases)
{
    static const char *const before[] = {LAST_LEASE("1"), LAST_LEASE("2"), LAST_LEASE("3")};
    int64_t most_ms = 4 * 5000;
    for (int i = 0; i < 3; i++, most_ms *= 2) {
        int64_t least = INT64_MAX, largest = 0;
        for (int seed = 0; seed < 100; seed++) {
            int64_t wait_ms = wait_after_loss(before[i], seed);
            least = wait_ms < least ? wait_ms : least;
            largest = wait_ms > largest ? wait_ms : largest;
        }
        ck_assert_int_ge(least, 0);
        ck_assert_int_le(least, most_ms / 4);
        ck_assert_int_ge(largest, most_ms * 3 / 4);
        ck_assert_int_le(largest, most_ms);
    }
    /* The clock has stepped back by an hour since the claim: the job is not due before its old time. */
    static const char stepped[] = "crashes: t/a=3,n0\n"
                                  "holders:t: t/a=n1,now+3600000\n"
                                  "jobs: t/a={r}\n"
                                  "leases: t/a@now+3605000\n";
    ck_assert_int_eq(wait_after_loss(stepped, 1), 3600000);
}
END_TEST

#define TICK     "carry me 1 256 '' 0 5000 250"
#define MINE     "carry: at=now beat=1 owner=me\n"
#define KEY_KEPT "idempotency: a=x\nwindows: a@now+1\n"
#define KEY_OVER "idempotency: a=x\nwindows: a@now\n"

START_TEST(carry_offers_the_topics_whose_time_has_come)
{
    CHECK_EXAMPLES( //
        {ABSENT, TICK, "me 1 -1 -1 0 ''", MINE},
        {DELAYED, TICK, "me 1 now+60000 -1 0 ''",
         "bucket:t: t/a@now+60000\n" MINE "due: t@now+60000\njobs: t/a={r}\n"},
        {COME, TICK, "me 1 -1 -1 1 t",
         "bucket:t: t/a@now-1000\n" MINE "jobs: t/a={r}\nready: t\nturns: t@1\n"},
        {READY, TICK, "me 1 -1 -1 0 t",
         "bucket:t: t/a@now-1000\n" MINE "jobs: t/a={r}\nready: t\nturns: t@1\n"},
        {LEASED, TICK, "me 1 -1 3000 0 ''", MINE LEASED}, {EXPIRED, TICK, "me 1 -1 0 0 ''", MINE EXPIRED},
        {DEAD, TICK, "me 1 -1 -1 0 s", MINE DEAD},
        {"holders:t: t/a=n1,now\njobs: t/a={r}\nleases: t/a@now+6001\n", TICK, "me 1 -1 0 0 ''",
         MINE "holders:t: t/a=n1,now\njobs: t/a={r}\nleases: t/a@now+6001\n"},
        /* carry moves at most the requested number of topics to "turns". The next time in its answer may then
         * already be past. */
        {MINE "bucket:t: t/a@now-1 t/b@now+5\nbucket:u: u/a@now\ndue: t@now-1 u@now\n"
              "jobs: t/a={1} t/b={2} u/a={3}\n",
         "carry me 0 1 '' 0 5000 250", "me 1 now -1 1 ''",
         "bucket:t: t/a@now-1 t/b@now+5\n"
         "bucket:u: u/a@now\n" MINE "due: u@now\n"
         "jobs: t/a={1} t/b={2} u/a={3}\n"
         "ready: t\n"
         "turns: t@1\n"},
        /* A topic at its limit is not moved to "turns". If a topic is in "turns" already, a tick writes its
         * name to "ready" again. */
        {"bucket:t: t/a@now-1\n" MINE "due: t@inf\njobs: t/a={1}\n", "carry me 0 256 '' 0 5000 250",
         "me 1 -1 -1 0 ''", NULL},
        {MINE "turns: t@1\n", TICK, "me 2 -1 -1 0 t",
         "carry: at=now beat=2 owner=me\nready: t\nturns: t@1\n"},
        {"bucket:u: u/a@now\n" MINE "due: u@now\njobs: u/a={1}\ntopics: u={\"paused\":true}\nturns: t@1\n",
         TICK, "me 2 -1 -1 1 t",
         "bucket:u: u/a@now\ncarry: at=now beat=2 owner=me\ndue: u@inf\njobs: u/a={1}\nready: t\n"
         "topics: u={\"paused\":true}\nturns: t@1\n"},
        {MINE "turns: t@1\n", "carry me 0 256 '' 0 5000 250", "me 1 -1 -1 0 ''", NULL},
        {MINE KEY_OVER, "carry me 0 256 '' 0 5000 250", "me 1 -1 -1 0 f", NULL},
        {MINE KEY_KEPT, "carry me 0 256 '' 0 5000 250", "me 1 -1 -1 0 ''", NULL}, );
}
END_TEST

#define YOURS "carry: at=now-9 beat=7 owner=you\n"

#define SOME_LATER "bucket:t: t/a@now-1000 t/b@now+9\ndue: t@now-1000\njobs: t/a={r} t/b={b}\n"
#define LATER_LEFT                                                                                           \
    "bucket:t: t/b@now+9\ndue: t@now+9\nholders:t: t/a=n5,now-1000\njobs: t/a={r} t/b={b}\n"                 \
    "leases: t/a@now+5000\n"

START_TEST(a_claim_carries_first)
{
    CHECK_EXAMPLES( //
        {COME, "claim 10 n5 5000 2 1000 1", "0 0 1 t/a now-1000 {r} -1",
         "holders:t: t/a=n5,now-1000\njobs: t/a={r}\nleases: t/a@now+5000\n"},
        /* The answer has the next due time. The time is published if other processes may have a carry
         * worker. */
        {SOME_LATER, "claim 10 n5 5000 2 1000 1", "0 0 1 t/a now-1000 {r} now+9 wake now+9", LATER_LEFT},
        {SOME_LATER, "claim 10 n5 5000 2 1000 2", "0 0 1 t/a now-1000 {r} now+9", LATER_LEFT},
        {COME, "claim 10 n5 5000 2 1000 0", "0 0 0", COME},
        /* The claim leaves a due job, so it writes an entry to "ready", which wakes another process. */
        {"bucket:t: t/a@now-1 t/b@now\ndue: t@now-1\njobs: t/a={1} t/b={2}\n", "claim 1 n5 5000 2 1000 2",
         "1 0 1 t/a now-1 {1} -1",
         "bucket:t: t/b@now\nholders:t: t/a=n5,now-1\njobs: t/a={1} t/b={2}\nleases: t/a@now+5000\n"
         "ready: t\nturns: t@1048577\n"},
        /* A paused topic is not moved to "turns". */
        {COME PAUSED, "claim 10 n5 5000 2 1000 1", "0 0 0 -1",
         "bucket:t: t/a@now-1000\ndue: t@inf\njobs: t/a={r}\n" PAUSED}, );
}
END_TEST

START_TEST(the_lock_of_the_carry_worker_moves_by_beat)
{
    CHECK_EXAMPLES( //
        {YOURS, TICK, "you 7 -1 -1 0 ''", NULL},
        {YOURS, "carry me 1 256 you 6 5000 250", "you 7 -1 -1 0 ''", NULL},
        {YOURS, "carry me 1 256 she 7 5000 250", "you 7 -1 -1 0 ''", NULL},
        {YOURS, "carry me 1 256 you 7 5000 250", "me 8 -1 -1 0 ''", "carry: at=now beat=8 owner=me\n"},
        {YOURS, "carry you 1 256 '' 0 5000 250", "you 8 -1 -1 0 ''", "carry: at=now beat=8 owner=you\n"},
        {YOURS, "carry you 0 256 '' 0 5000 250", "you 7 -1 -1 0 ''", NULL},
        {YOURS, "carry you 2 256 '' 0 5000 250", "you 7 -1 -1 0 ''", NULL},
        {YOURS, "carry you -1 256 '' 0 5000 250", "'' 7 -1 -1 0 '' wake carry", ABSENT},
        {YOURS, "carry me -1 256 '' 0 5000 250", "you 7 -1 -1 0 ''", NULL},
        {ABSENT, "carry me 0 256 '' 0 5000 250", "me 1 -1 -1 0 ''", MINE}, );
}
END_TEST

#define LEFT_FOR(ms) "bucket:t: t/a@now-" ms "\ndue: t@now-" ms "\njobs: t/a={r}\n" YOURS
#define HELD_YOURS   "bucket:t: t/a@now-9000\ndue: t@inf\njobs: t/a={r}\n" YOURS

START_TEST(a_standby_offers_what_the_owner_has_left_overdue)
{
    const char *const offered = "bucket:t: t/a@now-250\njobs: t/a={r}\nready: t\nturns: t@1\n" YOURS;
    CHECK_EXAMPLES( //
        {LEFT_FOR("250"), TICK, "you 7 -1 -1 1 t", offered},
        {LEFT_FOR("250"), "carry me 0 256 '' 0 5000 250", "you 7 -1 -1 1 ''", offered},
        {LEFT_FOR("249"), TICK, "you 7 now-249 -1 0 ''", NULL}, {HELD_YOURS, TICK, "you 7 -1 -1 0 ''", NULL},
        {YOURS EXPIRED, TICK, "you 7 -1 -1 0 ''", NULL}, {YOURS KEY_OVER, TICK, "you 7 -1 -1 0 ''", NULL}, );
}
END_TEST

/* Nothing is removed by age: the clock has stepped ahead lately, or since it was last watched. */
#define RESTS   "meta: clock=now-5 rest=now+300000\n"
#define STEPPED "meta: clock=now-3600001\n"
/* The rest is over; the clock has stepped back since; the clock was watched lately. */
#define RESTED "meta: clock=now-3600000 rest=now\n"

START_TEST(the_owner_of_the_lock_watches_the_clock)
{
#define OF_ME     "carry: at=now-9 beat=7 owner=me\n"
#define OF_ME_8   "carry: at=now beat=8 owner=me\n"
#define WATCH(at) "carry me 1 256 '' 0 5000 250 " at
    CHECK_EXAMPLES( //
        {OF_ME, WATCH("-1"), "me 8 -1 -1 0 ''", OF_ME_8 "meta: clock=now\n"},
        {OF_ME "meta: born=now-3600000\n", WATCH("-1"), "me 8 -1 -1 0 ''",
         OF_ME_8 "meta: born=now-3600000 clock=now\n"},
        {OF_ME "meta: born=now-3600001\n", WATCH("-1"), "me 8 -1 -1 0 r",
         OF_ME_8 "meta: born=now-3600001 clock=now rest=now+300000\n"},
        {OF_ME STEPPED, WATCH("-1"), "me 8 -1 -1 0 r", OF_ME_8 "meta: clock=now rest=now+300000\n"},
        {OF_ME "meta: clock=now-599999\n", WATCH("now-10000"), "me 8 -1 -1 0 ''",
         OF_ME_8 "meta: clock=now-599999\n"},
        {OF_ME "meta: clock=now-600000\n", WATCH("now"), "me 8 -1 -1 0 ''", OF_ME_8 "meta: clock=now\n"},
        {OF_ME "meta: clock=now-5\n", WATCH("now-10001"), "me 8 -1 -1 0 r",
         OF_ME_8 "meta: clock=now rest=now+300000\n"},
        {OF_ME RESTS, WATCH("now"), "me 8 -1 -1 0 r", OF_ME_8 RESTS},
        {OF_ME "meta: clock=now-5 rest=now\n", WATCH("now"), "me 8 -1 -1 0 ''",
         OF_ME_8 "meta: clock=now-5\n"},
        /* The clock has stepped back by a day. */
        {OF_ME "meta: clock=now+86400000 rest=now+86700000\n", WATCH("now+86400000"), "me 8 -1 -1 0 ''",
         OF_ME_8 "meta: clock=now\n"},
        {"carry: at=now-9 beat=7 owner=you\n" STEPPED, WATCH("now-99999"), "you 7 -1 -1 0 ''", NULL},
        {OF_ME "meta: clock=now-600000\n", "carry me -1 256 '' 0 5000 250 -1", "'' 7 -1 -1 0 '' wake carry",
         "meta: clock=now\n"}, );
}
END_TEST

START_TEST(forget_removes_the_keys_whose_window_is_over)
{
    CHECK_EXAMPLES( //
        {ABSENT, "forget 9 9", "0 0", NULL}, {KEY_KEPT, "forget 9 9", "0 0", NULL},
        {KEY_OVER, "forget 9 9", "1 0", ABSENT}, {KEY_OVER RESTS, "forget 9 9", "0 0", NULL},
        {KEY_OVER STEPPED, "forget 9 9", "0 0", NULL}, {KEY_OVER RESTED, "forget 9 9", "1 0", RESTED},
        {"idempotency: a=x b=y c=z\nwindows: a@now+1 b@now c@now-9\n", "forget 1 9", "1 0",
         "idempotency: a=x b=y\nwindows: b@now a@now+1\n"},
        {"idempotency: a=x b=y c=z\nwindows: a@now+1 b@now c@now-9\n", "forget 2 9", "2 0", KEY_KEPT},
        /* The key of a debounce stays while its job waits or is attempted. */
        {DELAYED "idempotency: t/|debounce|k=debounce,now-9,now,t/a\nwindows: t/|debounce|k@now\n",
         "forget 9 9", "1 0",
         DELAYED "idempotency: t/|debounce|k=debounce,now-9,now,t/a\nwindows: t/|debounce|k@now+3600000\n"},
        {LEASED "idempotency: t/|debounce|k=debounce,now-9,now,t/a\nwindows: t/|debounce|k@now\n",
         "forget 9 9", "1 0",
         LEASED "idempotency: t/|debounce|k=debounce,now-9,now,t/a\nwindows: t/|debounce|k@now+3600000\n"},
        {"idempotency: t/|debounce|k=debounce,now-9,now,t/a\nwindows: t/|debounce|k@now\n", "forget 9 9",
         "1 0", ABSENT},
        {DELAYED "idempotency: t/|throttle|k=throttle,now-9,now,t/a\nwindows: t/|throttle|k@now\n",
         "forget 9 9", "1 0", DELAYED}, );
}
END_TEST

START_TEST(open_learns_the_layout_of_the_data)
{
    CHECK_EXAMPLES( //
        {ABSENT, "open 1 1 1", "1 1 now 0 ''", "meta: born=now format=1 shards=1\n"},
        {"meta: born=7 format=1 shards=1\n", "open 2 1 1", "2 1 7 0 ''", "meta: born=7 format=2 shards=1\n"},
        {"meta: format=1 shards=1\n", "open 2 1 0", "1 1 0 0 ''", NULL},
        {ABSENT, "open 1 16 0", "0 0 0 0 ''", NULL},
        {"meta: format=1 shards=1\n", "open 1 1 1", "1 1 now 0 ''", "meta: born=now format=1 shards=1\n"},
        {"meta: born=7 format=2 shards=16\n", "open 1 1 1", "2 16 7 0 ''", NULL}, );
}
END_TEST

START_TEST(trial_leaves_nothing_behind)
{
    CHECK_EXAMPLES( //
        {ABSENT, "trial", "1", NULL}, {DELAYED, "trial", "1", NULL}, {READY, "trial", "1", NULL}, );
}
END_TEST

/* ---- figures and repairs: audit, survey, mend ---- */

START_TEST(audit_counts)
{
    CHECK_EXAMPLES( //
        {ABSENT, "audit 9", "0 0 0 0 0 0 0 0 0 -1 0 0 0 0", NULL},
        {DELAYED, "audit 9", "1 1 0 0 1 0 0 0 0 -1 0 0 0 0", NULL},
        {COME, "audit 9", "1 1 0 0 1 1 0 0 0 now-1000 0 0 0 0", NULL},
        {READY, "audit 9", "1 1 0 0 1 1 0 0 0 now-1000 0 0 0 0", NULL},
        {LEASED, "audit 9", "1 0 1 0 0 0 0 0 0 -1 0 0 0 0", NULL},
        {DEAD, "audit 9", "0 0 0 1 0 0 0 1 0 -1 0 0 0 0", NULL},
        {BUSY, "audit 9", "4 1 3 0 1 1 0 0 0 now-1 0 0 0 0", NULL},
        {MANY "turns: t@3 u@4\n", "audit 9", "7 7 0 0 3 5 0 0 0 now-9 0 0 0 0", NULL},
        {"jobs: t/a={r}\n", "audit 9", "1 0 0 0 0 0 0 0 0 -1 0 0 0 0", NULL},
        /* The audit uses the stored number of waiting jobs, and does not count the buckets. */
        {DELAYED "numbers: waiting=7\n", "audit 9", "1 7 0 0 1 0 0 0 0 -1 0 0 0 0", NULL},
        /* One topic is held by a limit. The time of the other topic has come, but carry has not moved it to
         * "turns" yet. */
        {"bucket:t: t/a@now-7\nbucket:u: u/a@now-8\ndue: u@now-8 t@inf\njobs: t/a={r} u/a={r}\n", "audit 2",
         "2 2 0 0 2 2 0 0 0 now-8 0 0 0 0", NULL},
        {"bucket:t: t/a@now-7\ndue: t@now-3\njobs: t/a={r}\n", "audit 9", "1 1 0 0 1 1 0 0 0 now-7 0 0 0 0",
         NULL},
        /* There are more topics than the call examines: the answer has the result of the last survey, if
         * there was one. */
        {MANY "turns: t@3 u@4\n", "audit 1", "7 7 0 0 3 0 0 0 0 -1 -1 1 0 0", NULL},
        {MANY "survey: at=now-700 due=4 oldest=now-9000\nturns: t@3 u@4\n", "audit 1",
         "7 7 0 0 3 4 0 0 0 now-9000 700 1 0 0", NULL}, );
}
END_TEST

#define SURVEYED                                                                                             \
    "bucket:p: p/a@now-7 p/b@now-6 p/c@now+1\nbucket:q: q/a@now-5\nbucket:r: r/a@now-4\n"                    \
    "bucket:s: s/a@now-9 s/b@now-8\nbucket:t: t/a@now-3\nbucket:u: u/a@now+5\n"                              \
    "due: q@now-5 r@now-4 u@now+5 p@inf\n"                                                                   \
    "jobs: p/a={r} p/b={r} p/c={r} q/a={r} r/a={r} s/a={r} s/b={r} t/a={r} u/a={r}\n"                        \
    "turns: s@3 t@4\n"

START_TEST(survey_counts_due_jobs_step_by_step)
{
    CHECK_EXAMPLES( //
        {SURVEYED, "survey '' 9 0 -1", "turns/-inf/ 2 now-5", NULL},
        {SURVEYED, "survey '' 2 0 -1", "due/2 2 now-5", NULL},
        {SURVEYED, "survey due/2 2 2 now-5", "turns/-inf/ 2 now-5", NULL},
        {SURVEYED, "survey turns/-inf/ 9 2 now-5", "behind/ 5 now-9", NULL},
        {SURVEYED, "survey turns/-inf/ 1 2 now-5", "turns/3/4 4 now-9", NULL},
        {SURVEYED, "survey turns/3/4 1 4 now-9", "turns/4/4 5 now-9", NULL},
        {SURVEYED, "survey turns/4/4 1 5 now-9", "behind/ 5 now-9", NULL},
        /* Topics that were served since the survey began are skipped: their scores are higher than the last
         * score in the cursor. */
        {SURVEYED, "survey turns/2/3 9 0 -1", "behind/ 2 now-9", NULL},
        {SURVEYED, "survey behind/ 1 5 now-9", "behind/p 7 now-9", NULL},
        {SURVEYED, "survey behind/p 1 7 now-9", "'' 7 now-9", SURVEYED "survey: at=now due=7 oldest=now-9\n"},
        {SURVEYED, "survey behind/ 9 5 now-9", "'' 7 now-9", SURVEYED "survey: at=now due=7 oldest=now-9\n"},
        {ABSENT, "survey behind/ 9 0 -1", "'' 0 -1", "survey: at=now due=0 oldest=-1\n"}, );
}
END_TEST

START_TEST(mend_leaves_what_is_whole)
{
    CHECK_EXAMPLES( //
        {DELAYED, "mend jobs 0", "0", NULL}, {DELAYED, "mend due 0", "0", NULL},
        {DELAYED, "mend due 1", "0", NULL}, {READY, "mend jobs 0", "0", NULL},
        {READY, "mend turns 0", "0", NULL}, {LEASED, "mend jobs 0", "0", NULL},
        {LEASED, "mend leases 0", "0", NULL}, {LOST, "mend jobs 0", "0", NULL},
        {DEAD, "mend jobs 0", "0", NULL}, {DEAD, "mend dead 0", "0", NULL}, {DEAD, "mend kept 0", "0", NULL},
        {DEAD, "mend dead_due 0", "0", NULL}, {BUSY, "mend jobs 0", "0", NULL},
        {BUSY, "mend due 0", "0", NULL}, {BUSY, "mend waiting 0", "0", NULL}, );
}
END_TEST

START_TEST(mend_repairs_each_kind_of_damage)
{
    CHECK_EXAMPLES(
        /* The job is in no bucket and has no lease. mend makes it ready, because a delivery too many is
         * better than a lost job. */
        {"jobs: t/a={r}\n", "mend jobs 0", "0 lost t/a", DUE_NOW("{r}")},
        {"crashes: t/a=2,n1\nholders:t: t/a=n1,now\njobs: t/a={r}\n", "mend jobs 0", "0 lost t/a holder t/a",
         "bucket:t: t/a@now\ncrashes: t/a=2,n1\njobs: t/a={r}\nready: t\nturns: t@1\n"},
        /* The job is both in a bucket and leased. */
        {"bucket:t: t/a@now-1\n" LEASED "turns: t@1\n", "mend jobs 0", "0 doubled t/a", LEASED},
        /* An entry of a bucket, of leases or of an index names a job that does not exist. */
        {"bucket:t: t/a@now+5\ndue: t@now+5\n", "mend due 0", "0 empty t/a", ABSENT},
        {"bucket:t: t/a@now-5\nturns: t@1\n", "mend turns 0", "0 empty t/a", ABSENT},
        {"crashes: t/a=2,n0\nholders:t: t/a=n1,now\nleases: t/a@now+5\n", "mend leases 0", "0 empty t/a",
         ABSENT},
        {"dead: t/a@now-5\n", "mend dead 0", "0 kept t/a", ABSENT},
        {"dead: t/a@now-5\n" DELAYED, "mend dead 0", "0 kept t/a", DELAYED},
        {"dead:t: t/a@now-5\ndead_due: t@inf u@5\n", "mend dead_due 0", "0",
         "dead:t: t/a@now-5\ndead_due: t@inf\n"},
        /* The job is dead, but is in no index, or in the index of another state. */
        {"kept: t/a=dead,now-5000,0,3,{r}\n", "mend kept 0", "0 kept t/a", DEAD},
        {"kept_until: t/a@now\n" DEAD, "mend kept 0", "0 kept t/a", DEAD},
        /* Format 1 of the data had the records of dead jobs in jobs. */
        {"attempts: t/a=1|\ncrashes: t/a=5,n1\ndead: t/a@now-5000\njobs: t/a={r}\n", "mend jobs 0",
         "0 moved t/a", DIED("now-5000", "5,3,{r}1|")},
        {"dead: t/a@now-5000\njobs: t/a={r}\n", "mend dead 0", "0", NULL},
        {DEAD "jobs: t/a={x}\n", "mend jobs 0", "0 lost t/a", DEAD DUE_NOW("{x}")},
        /* The entries of holders without a lease counted as in flight, so the topic was at its limit. mend
         * removes them. */
        {"bucket:t: t/a@now-1000\ndue: t@inf\nholders:t: t/x=n1,now t/y=n1,now\njobs: t/a={r}\n",
         "mend due 0", "0 holder t/x holder t/y", READY},
        /* A topic is in neither "due" nor "turns", or in both, or in "due" at the wrong time. */
        {"bucket:t: t/a@now+60000\njobs: t/a={r}\n", "mend jobs 0", "0 wake now+60000", DELAYED},
        {"bucket:t: t/a@now-1000\njobs: t/a={r}\n", "mend jobs 0", "0", READY},
        {DELAYED "turns: t@1\n", "mend jobs 0", "0", DELAYED},
        {"bucket:t: t/a@now+60000\ndue: t@inf\njobs: t/a={r}\n", "mend due 0", "0 wake now+60000", DELAYED},
        {"bucket:t: t/a@now+60000\ndue: t@now+5\njobs: t/a={r}\n", "mend due 0", "0", DELAYED},
        /* An entry of "names" whose topic does not exist, and topics that are missing in "names". */
        {"names: a@0 b@0 t@0\n" DELAYED, "mend names 0", "0 name a name b", DELAYED},
        {"names: x@0\n" DELAYED, "mend due 0", "0", "names: t@0 x@0\n" DELAYED},
        {"names: x@0\ntopics: t={}\n", "mend topics 0", "0", "names: t@0 x@0\ntopics: t={}\n"},
        /* Topics that are in neither "due" nor "turns", and others. */
        {"bucket:t: t/a@now+60000\njobs: t/a={r}\nnames: t@0\n", "mend calendars 0",
         "0 stranded t wake now+60000", DELAYED},
        {"bucket:t: t/a@now-1000\njobs: t/a={r}\nnames: t@0\n", "mend calendars 0", "0 stranded t", READY},
        {DELAYED, "mend calendars 0", "0", NULL}, {READY, "mend calendars 0", "0", NULL},
        {LEASED, "mend calendars 0", "0", NULL},
        /* A step examines randomly chosen jobs. */
        {"jobs: t/a={r}\n", "mend some_jobs 0", "0 lost t/a", DUE_NOW("{r}")},
        /* Entries of "held:t" whose jobs do not wait, entries of "held" whose topics have no held jobs, and a
         * topic that is missing in "held". */
        {HELD_BACK, "mend held 0", "0", NULL},
        {DELAYED "held: t@now-90\nheld:t: t/a@now-80 t/b@now-90\n", "mend held 0", "0 held t/b",
         DELAYED "held: t@now-80\nheld:t: t/a@now-80\n"},
        {"held: t@now-90 u@now-80\nheld:t: t/a@now-90\n", "mend held 0", "0 held t/a", ABSENT},
        {DELAYED "held: t@now-7\nheld:t: t/a@now-80\n", "mend held 0", "0",
         DELAYED "held: t@now-80\nheld:t: t/a@now-80\n"},
        {DELAYED "held:t: t/a@now-80\n", "mend due 0", "0", DELAYED "held: t@now-80\nheld:t: t/a@now-80\n"},
        /* The stored number of waiting jobs is wrong. */
        {DELAYED "numbers: waiting=7\n", "mend waiting 0", "0 number of waiting jobs", DELAYED},
        {BUSY "numbers: waiting=-1\n", "mend waiting 0", "0 number of waiting jobs", BUSY}, );
}
END_TEST

#define FOREIGN(text)                                                                                        \
    {"jobs: " text "={r}\n", "mend jobs 0", "0 foreign " text, ABSENT},                                      \
    {                                                                                                        \
        "dead: " text "@now-9\nkept: " text "=dead,now-9,0,3,{r}\n", "mend kept 0", "0 foreign " text,       \
            "dead: " text "@now-9\n"                                                                         \
    }
#define LATE(text)                                                                                           \
    {                                                                                                        \
        "jobs: " text "={r}\n", "mend jobs 0", "0 lost " text,                                               \
            "bucket:t: " text "@now\njobs: " text "={r}\nready: t\nturns: t@1\n"                             \
    }

/* No request can have such a name, so no client could find or remove the job, and a text with the name may be
 * invalid. */
START_TEST(mend_removes_what_has_no_id)
{
    CHECK_EXAMPLES( //
        FOREIGN("noid"), FOREIGN("/"), FOREIGN("/a"), FOREIGN("t/"), FOREIGN("\xff/\xff"),
        FOREIGN("t\xc3\xa9/a"), FOREIGN("t:/a"), FOREIGN("t/\x01"), FOREIGN("t/\x7f"), FOREIGN("t/a\xc2\x85"),
        FOREIGN("t/\x80"), FOREIGN("t/\xc3"), FOREIGN("t/\xc1\x81"), FOREIGN("t/\xe2\x82"),
        FOREIGN("t/\xe0\x9f\xbf"), FOREIGN("t/\xed\xa0\x80"), FOREIGN("t/\xf0\x8f\xbf\xbf"),
        FOREIGN("t/\xf4\x90\x80\x80"), FOREIGN("t/\xf5\x80\x80\x80"), FOREIGN("t/\xc3\xa9\xa9"),
        FOREIGN("t/\xe2\xc3\xa9\x82\xac"), LATE("t/~a/.b"), LATE("t/\xc2\xa0"), LATE("t/\xdf\xbf"),
        LATE("t/\xe0\xa0\x80"), LATE("t/\xed\x9f\xbf"), LATE("t/\xee\x80\x80"), LATE("t/\xef\xbf\xbf"),
        LATE("t/\xf0\x90\x80\x80"), LATE("t/a\xc3\xa9\xe2\x82\xac\xf1\x80\xbf\xbf\xf4\x8f\xbf\xbfz"), );
}
END_TEST

#define NEWER "meta: format=7\n"

/* A later version of duepost has raised the format of the data. Scripts that end or renew the attempts of
 * their caller go on, so that known outcomes are not lost. All other scripts that write refuse. */
START_TEST(data_of_a_newer_format_is_not_changed)
{
    CHECK_EXAMPLES( //
        {NEWER, "schedule 0 86400000 t/b 5 \"x\"} -", "NEWER", NULL},
        {READY NEWER, "claim 10 n5 5000 2 1000 0", "NEWER", NULL},
        {COME NEWER, "claim 10 n5 5000 2 1000 1", "NEWER", NULL},
        {COME NEWER, "carry me 1 256 '' 0 5000 250", "NEWER", NULL},
        {EXPIRED NEWER, "recover consumers 5000 now 9 1 !n", "NEWER", NULL},
        {DELAYED NEWER, "cancel t/a ''", "NEWER", NULL}, {NEWER, "forget 9 9", "NEWER", NULL},
        {NEWER, "sweep 9 0 0", "NEWER", NULL}, {"jobs: t/a={r}\n" NEWER, "mend jobs 0", "NEWER", NULL},
        {NEWER, "archive 0 on 0 9 9", "NEWER", NULL}, {NEWER, "archived 0 0", "NEWER", NULL},
        {LEASED NEWER, "complete t/a n1 ''", "1", NEWER},
        {LEASED NEWER, "abandon n1 9 -9000 9000", "1", READY NEWER},
        {LEASED NEWER, "bury t/a n1 {d} ''", "1", DIED("now", "0,3,{d}") NEWER},
        {LEASED NEWER, "retry t/a n1 60000 {r} ''", "1 wake now+60001",
         "bucket:t: t/a@now+60001\ndue: t@now+60001\njobs: t/a={r}\n" NEWER},
        {LEASED NEWER, "release t/a n1 -1 now - 0", "1", READY NEWER},
        {LEASED NEWER, "renew t/a n1 5000 ''", "now+5000",
         "holders:t: t/a=n1,now-1000\njobs: t/a={r}\nleases: t/a@now+5000\n" NEWER},
        {LEASED "meta: format=4\n", "complete t/a n1 ''", "1", "meta: format=4\n"},
        {NEWER, "open 2 1 0 0 on", "7 0 0 0 ''", NULL}, );
}
END_TEST

START_TEST(a_job_that_is_nowhere_is_answered_as_ready)
{
    CHECK_EXAMPLES( //
        {"jobs: t/a={r}\n", "read t/a", "(ready now {r} 0 '')", NULL},
        {"jobs: t/a={r}\n", "schedule 0 86400000 t/b 5 \"x\"} - t/a 5 \"x\"} -",
         "now+6 (ready now {r}) wake now+6",
         "bucket:t: t/b@now+6\ndue: t@now+6\njobs: t/a={r} t/b={\"createdAt\":now+1,\"x\"}\n"},
        {"jobs: t/a={r}\n", "cancel t/a ''", "0", ABSENT},
        {"jobs: t/a={r}\n", "run 0 t/a 0 '' '' ''", "now", DUE_NOW("{r}")}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("scripts");
    TCase *group = examples_case("scripts");
    tcase_add_test(group, schedule_accepts_a_job_once);
    tcase_add_test(group, schedule_keeps_an_answer_without_a_job);
    tcase_add_test(group, schedule_lets_one_job_stand_for_those_with_its_key);
    tcase_add_test(group, schedule_takes_each_item_after_the_one_before);
    tcase_add_test(group, schedule_keeps_to_the_most_jobs);
    tcase_add_test(group, a_job_without_a_url_needs_a_topic_with_one);
    tcase_add_test(group, replace_puts_a_new_job_in_the_place_of_any);
    tcase_add_test(group, replace_lets_the_last_job_stand_for_those_with_its_key);
    tcase_add_test(group, replace_takes_each_item_after_the_one_before);
    tcase_add_test(group, replace_leaves_what_is_not_as_it_was_seen);
    tcase_add_test(group, change_writes_another_record_if_the_job_is_as_it_was_seen);
    tcase_add_test(group, change_moves_a_job);
    tcase_add_test(group, change_moves_a_job_that_keeps_its_record);
    tcase_add_test(group, a_call_of_the_wrong_shape_changes_nothing);
    tcase_add_test(group, cancel_removes_a_job_from_any_state);
    tcase_add_test(group, cancel_leaves_what_is_not_as_it_was_seen);
    tcase_add_test(group, run_makes_a_job_due);
    tcase_add_test(group, run_brings_a_dead_job_back);
    tcase_add_test(group, read_says_how_a_job_is);
    tcase_add_test(group, list_shows_the_jobs_of_a_state);
    tcase_add_test(group, leased_finds_ids_behind_another);
    tcase_add_test(group, heads_finds_the_first_jobs_of_topics);
    tcase_add_test(group, heads_and_leased_find_the_jobs_of_an_owner);
    tcase_add_test(group, list_finds_labels);
    tcase_add_test(group, list_finds_keys);
    tcase_add_test(group, list_puts_the_jobs_of_several_topics_in_one_order);
    tcase_add_test(group, list_names_jobs_as_they_are);
    tcase_add_test(group, list_leaves_out_what_came_after_the_walk_began);
    tcase_add_test(group, list_tells_what_passes_its_filters);
    tcase_add_test(group, claim_passes_over_what_it_may_not_serve);
    tcase_add_test(group, settings_that_cannot_be_read_hold_up_their_topic_only);
    tcase_add_test(group, claim_leases_what_is_ready);
    tcase_add_test(group, claim_goes_by_turns_within_its_bounds);
    tcase_add_test(group, settings_hold_a_topic_and_let_it_go);
    tcase_add_test(group, claim_keeps_to_the_settings);
    tcase_add_test(group, claim_of_a_topic_far_behind_takes_what_fell_due_last_too);
    tcase_add_test(group, topics_tells_what_there_is);
    tcase_add_test(group, topics_that_fail_are_found_by_their_failures);
    tcase_add_test(group, outcomes_are_counted_for_an_hour);
    tcase_add_test(group, an_attempt_that_ends_a_round_is_not_counted_as_a_retry);
    tcase_add_test(group, complete_takes_a_known_success_as_long_as_it_is_nobody_elses_job);
    tcase_add_test(group, retry_lets_a_job_wait_from_now);
    tcase_add_test(group, bury_keeps_a_dead_job);
    tcase_add_test(group, release_gives_a_lease_back_and_nothing_else);
    tcase_add_test(group, release_holds_a_job_back);
    tcase_add_test(group, resume_puts_held_jobs_back_to_when_they_were_due);
    tcase_add_test(group, abandon_gives_back_what_one_claim_has_leased);
    tcase_add_test(group, renew_lets_a_held_lease_live_on);
    tcase_add_test(group, of_two_items_of_one_id_the_first_that_holds_the_lease_counts);
    tcase_add_test(group, the_end_of_a_lease_makes_room_below_the_limit);
    tcase_add_test(group, report_counts_failures_in_a_row);
    tcase_add_test(group, a_breaker_opens_is_probed_and_closes);
    tcase_add_test(group, a_limit_is_halved_once_a_second_and_grows_by_each_success);
    tcase_add_test(group, what_nothing_is_told_of_for_an_hour_is_forgotten);
    tcase_add_test(group, a_report_of_the_wrong_shape_changes_nothing);
    tcase_add_test(group, recover_returns_jobs_whose_lease_ran_out);
    tcase_add_test(group, lost_again_a_job_waits_for_a_random_time_up_to_two_to_the_n_leases);
    tcase_add_test(group, carry_offers_the_topics_whose_time_has_come);
    tcase_add_test(group, a_claim_carries_first);
    tcase_add_test(group, the_lock_of_the_carry_worker_moves_by_beat);
    tcase_add_test(group, a_standby_offers_what_the_owner_has_left_overdue);
    tcase_add_test(group, forget_removes_the_keys_whose_window_is_over);
    tcase_add_test(group, open_learns_the_layout_of_the_data);
    tcase_add_test(group, trial_leaves_nothing_behind);
    tcase_add_test(group, audit_counts);
    tcase_add_test(group, survey_counts_due_jobs_step_by_step);
    tcase_add_test(group, mend_leaves_what_is_whole);
    tcase_add_test(group, mend_repairs_each_kind_of_damage);
    tcase_add_test(group, mend_removes_what_has_no_id);
    tcase_add_test(group, a_job_that_is_nowhere_is_answered_as_ready);
    tcase_add_test(group, data_of_a_newer_format_is_not_changed);
    tcase_add_test(group, the_owner_of_the_lock_watches_the_clock);
    suite_add_tcase(suite, group);
    return suite;
}

/* Tests jobs of pull topics: how workers lease them, and how the leases end. */
#include "support/keyspace.h"
#include "support/script_examples.h"
#include "support/script_runner.h"
#include "support/suite.h"

#define PULL      "topics: t={\"delivery\":\"pull\"}\n"
#define WITH(set) "topics: t={\"delivery\":\"pull\"," set "}\n"
#define WAITING   "pull_waiters: t@now+9000\n"

/* The states of t/a in a pull topic; p1 is the token of its last lease. */
#define PULL_DELAYED PULL "bucket:t: t/a@now+60000\ndue: t@now+60000\njobs: t/a={r}\n"
#define PULL_COME    PULL "bucket:t: t/a@now-1000\ndue: t@now-1000\njobs: t/a={r}\n"
#define PULL_READY   PULL "bucket:t: t/a@now-1000\ndue: t@inf\njobs: t/a={r}\n"
#define PULLED       PULL HELD_BY_WORKER
#define LAPSED                                                                                               \
    PULL "holders:t: t/a=p1,now-9000,-,now-9500\n"                                                           \
         "jobs: t/a={r}\n"                                                                                   \
         "pulled: t/a@now\n"
#define HELD_BY_WORKER                                                                                       \
    "holders:t: t/a=p1,now-1000,-,now-1500\n"                                                                \
    "jobs: t/a={r}\n"                                                                                        \
    "pulled: t/a@now+3000\n"
#define TWO_PULLED                                                                                           \
    PULL "holders:t: t/a=p1,now-1000,-,now-1500 t/b=p1,now-1000,-,now-1500\n"                                \
         "jobs: t/a={r} t/b={r}\n"                                                                           \
         "pulled: t/a@now+3000 t/b@now+3000\n"
#define LEASED_AFRESH                                                                                        \
    "holders:t: t/a=p1,now,+,now-1000\n"                                                                     \
    "jobs: t/a={r}\n"                                                                                        \
    "pulled: t/a@now+30000\n"
#define READY_AGAIN   "bucket:t: t/a@now-1500\ndue: t@inf\njobs: t/a={r}\n"
#define GIVEN         "(p1 0 0 -1 {\"delivery\":\"pull\"} t/a now-1000 now now+30000 {r})"
#define NOTHING(next) "(p1 0 0 " next " {\"delivery\":\"pull\"})"

START_TEST(lease_gives_due_jobs)
{
    CHECK_EXAMPLES( //
        {PULL, "lease t 1 p1 30000 0 - ''", NOTHING("-1"), NULL},
        {PULL_DELAYED, "lease t 1 p1 30000 0 - ''", NOTHING("now+60000"), NULL},
        {PULL_COME, "lease t 1 p1 30000 0 - ''", GIVEN, PULL LEASED_AFRESH},
        {PULL_READY, "lease t 1 p1 30000 0 - ''", GIVEN, PULL LEASED_AFRESH},
        {PULLED, "lease t 1 p2 30000 0 - ''", "(p2 0 0 -1 {\"delivery\":\"pull\"})", NULL},
        {LAPSED, "lease t 1 p2 30000 0 - ''", "(p2 0 0 -1 {\"delivery\":\"pull\"})", NULL},
        /* Several requests in one call are served in their order. */
        {PULL "bucket:t: t/a@now-3 t/b@now-2 t/c@now-1\ndue: t@inf\njobs: t/a={a} t/b={b} t/c={c}\n",
         "lease t 2 p1 30000 0 - '' t 2 p2 60000 0 - ''",
         "(p1 0 1 -1 {\"delivery\":\"pull\"} t/a now-3 now now+30000 {a} t/b now-2 now now+30000 {b}) "
         "(p2 0 0 -1 {\"delivery\":\"pull\"} t/c now-1 now now+60000 {c})",
         PULL "holders:t: t/a=p1,now,+,now-3 t/b=p1,now,+,now-2 t/c=p2,now,+,now-1\n"
              "jobs: t/a={a} t/b={b} t/c={c}\n"
              "pulled: t/a@now+30000 t/b@now+30000 t/c@now+60000\n"},
        /* The topic stays in "due", with the time of its next job. */
        {PULL "bucket:t: t/a@now-3 t/b@now+5\ndue: t@inf\njobs: t/a={a} t/b={b}\n",
         "lease t 9 p1 30000 0 - ''",
         "(p1 0 0 now+5 {\"delivery\":\"pull\"} t/a now-3 now now+30000 {a}) wake now+5",
         PULL "bucket:t: t/b@now+5\n"
              "due: t@now+5\n"
              "holders:t: t/a=p1,now,+,now-3\n"
              "jobs: t/a={a} t/b={b}\n"
              "pulled: t/a@now+30000\n"}, );
}
END_TEST

/* An entry in a bucket without a job is removed. A job that has expired is leased for a short time, so that
 * the caller can bury it. */
START_TEST(lease_meets_jobs_that_cannot_be_given)
{
#define OLD "{\"createdAt\":now-5000,\"url\":\"\",\"ttl\":1}"
    CHECK_EXAMPLES( //
        {PULL "bucket:t: t/a@now-3 t/b@now-2\ndue: t@inf\njobs: t/b={b}\n", "lease t 9 p1 30000 0 - ''",
         "(p1 0 0 -1 {\"delivery\":\"pull\"} t/b now-2 now now+30000 {b})",
         PULL "holders:t: t/b=p1,now,+,now-2\njobs: t/b={b}\npulled: t/b@now+30000\n"},
        {PULL "bucket:t: t/a@now-3\ndue: t@inf\njobs: t/a=" OLD "\n", "lease t 9 p1 30000 0 - ''",
         "(p1 0 0 -1 {\"delivery\":\"pull\"} t/a now-3 now now+5000 " OLD ")",
         PULL "holders:t: t/a=p1,now,+,now-3\njobs: t/a=" OLD "\npulled: t/a@now+5000\n"},
        /* The only due job has expired, so the worker gets no job and waits. */
        {PULL "bucket:t: t/a@now-3\ndue: t@inf\njobs: t/a=" OLD "\n", "lease t 1 p1 30000 9000 - ''",
         "(p1 0 0 -1 {\"delivery\":\"pull\"} t/a now-3 now now+5000 " OLD ")",
         PULL WAITING "holders:t: t/a=p1,now,+,now-3\njobs: t/a=" OLD "\npulled: t/a@now+5000\n"}, );
#undef OLD
}
END_TEST

START_TEST(lease_notes_that_a_job_has_callbacks)
{
#define CALLS "{\"createdAt\":1,\"head\":\"1;0;0;0;uc;42;\",\"url\":\"\",\"onDelivered\":\"http://x\"}"
#define NONE  "{\"createdAt\":1,\"head\":\"1;0;0;0;u;11;\",\"url\":\"\",\"body\":\"\\\"onDelivered\\\":\"}"
    CHECK_EXAMPLES( //
        {PULL "bucket:t: t/a@now-3\ndue: t@inf\njobs: t/a=" CALLS "\n", "lease t 9 p1 30000 0 - ''",
         "(p1 0 0 -1 {\"delivery\":\"pull\"} t/a now-3 now now+30000 " CALLS ")",
         PULL "holders:t: t/a=p1,now,+,now-3\njobs: t/a=" CALLS "\npulled: t/a@now+30000\n"},
        {PULL "bucket:t: t/a@now-3\ndue: t@inf\njobs: t/a=" NONE "\n", "lease t 9 p1 30000 0 - ''",
         "(p1 0 0 -1 {\"delivery\":\"pull\"} t/a now-3 now now+30000 " NONE ")",
         PULL "holders:t: t/a=p1,now,-,now-3\njobs: t/a=" NONE "\npulled: t/a@now+30000\n"}, );
#undef NONE
#undef CALLS
}
END_TEST

START_TEST(lease_refuses)
{
#define JOB "bucket:t: t/a@now-1000\njobs: t/a={r}\n"
    CHECK_EXAMPLES( //
        {ABSENT, "lease t 1 p1 30000 0 - ''", "-31", NULL}, {READY, "lease t 1 p1 30000 0 - ''", "-31", NULL},
        {READY "topics: t={\"delivery\":\"push\"}\n", "lease t 1 p1 30000 0 - ''", "-31", NULL},
        {JOB "due: t@inf\ntopics: t={\n", "lease t 1 p1 30000 0 - ''", "-33", NULL},
        {JOB "due: t@inf\n" WITH("\"needs\":[\"pull\",\"later\"]"), "lease t 1 p1 30000 0 - ''", "-32", NULL},
        {PULL_READY, "lease t 1 n1 30000 0 - ''", "ERR", NULL},
        {PULL_READY, "lease t/a 1 p1 30000 0 - ''", "ERR", NULL},
        {PULL_READY, "lease t x p1 30000 0 - ''", "ERR", NULL},
        {PULL_READY, "lease t 1 p1 30000 0", "ERR", NULL}, );
}
END_TEST

/* Pauses, limits, rates and the order of fifo topics apply to workers as they apply to consumers. */
START_TEST(lease_keeps_to_the_settings_of_the_topic)
{
#define TWO     "bucket:t: t/a@now-3 t/b@now-2\njobs: t/a={a} t/b={b}\ndue: t@inf\n"
#define ONE     "bucket:t: t/b@now-2\ndue: t@inf\nholders:t: t/a=p1,now,+,now-3\njobs: t/a={a} t/b={b}\n"
#define ONE_OUT ONE "pulled: t/a@now+30000\n"
#define S(set)  "{\"delivery\":\"pull\"," set "}"
#define A       "t/a now-3 now now+30000 {a}"
    CHECK_EXAMPLES( //
        {TWO WITH("\"paused\":true"), "lease t 9 p1 30000 0 - ''", "(p1 0 0 -1 " S("\"paused\":true") ")",
         NULL},
        {TWO WITH("\"maxInFlight\":1"), "lease t 9 p1 30000 0 - ''",
         "(p1 0 0 -1 " S("\"maxInFlight\":1") " " A ")", WITH("\"maxInFlight\":1") ONE_OUT},
        {ONE_OUT WITH("\"maxInFlight\":1"), "lease t 9 p2 30000 0 - ''",
         "(p2 0 0 -1 " S("\"maxInFlight\":1") ")", NULL},
        /* A lease of a consumer also counts for the limit. */
        {TWO "leases: t/c@now+3000\nholders:t: t/c=n1,now-9\n" WITH("\"maxInFlight\":1"),
         "lease t 9 p2 30000 0 - ''", "(p2 0 0 -1 " S("\"maxInFlight\":1") ")", NULL},
        {TWO WITH("\"order\":\"fifo\""), "lease t 9 p1 30000 0 - ''",
         "(p1 0 0 -1 " S("\"order\":\"fifo\"") " " A ")", WITH("\"order\":\"fifo\"") ONE_OUT},
        {TWO "lines: t=now+700,now-3,t/a\n" WITH("\"order\":\"fifo\""), "lease t 9 p1 30000 0 - ''",
         "(p1 0 0 now+700 " S("\"order\":\"fifo\"") ")", NULL}, );
}
END_TEST

START_TEST(lease_spends_the_rate)
{
#define RATE WITH("\"rate\":{\"jobs\":1,\"per\":60,\"burst\":1}")
    CHECK_EXAMPLES( //
        {TWO RATE, "lease t 9 p1 30000 0 - ''",
         "(p1 0 0 now+59997 " S("\"rate\":{\"jobs\":1,\"per\":60,\"burst\":1}") " " A ") wake now+59997",
         RATE "begun:t: 850000000061=1 first=849999999561 sum=1\n"
              "bucket:t: t/b@now-2\ndue: t@now+59997\nholders:t: t/a=p1,now,+,now-3\n"
              "jobs: t/a={a} t/b={b}\npulled: t/a@now+30000\nrates: t=1700000060120000\n"}, );
}
END_TEST

static void check_lease(const char *most, const char *nonce, const char *once, const char *answer)
{
    const char *words[] = {"lease", "t", most, nonce, "30000", "0", once, ""};
    struct buffer text;
    redisReply *reply = script_run(examples_redis(), sizeof words / sizeof *words, words);
    buffer_init(&text, 4096);
    script_answer_text(&text, reply, NOW_US);
    ck_assert_str_eq(buffer_text(&text), answer);
    freeReplyObject(reply);
    buffer_fini(&text);
}

/* A second request with the same idempotency key gets those of the same jobs that are still leased. */
START_TEST(lease_repeats_an_answer)
{
#define HEAD "{\"delivery\":\"pull\"}"
    keyspace_load(examples_redis(), TWO PULL, NOW_MS);
    check_lease("9", "p1", "f t/k", "(p1 0 0 -1 " HEAD " " A " t/b now-2 now now+30000 {b})");
    check_lease("9", "p2", "f t/k", "(p1 1 0 -1 " HEAD " " A " t/b now-2 now now+30000 {b})");
    check_lease("9", "p2", "g t/k", "-8");
    check_lease("9", "p2", "f t/other", "(p2 0 0 -1 " HEAD ")");
    freeReplyObject(script_run_text(examples_redis(), "complete t/a p1 1", NOW_MS));
    check_lease("9", "p2", "f t/k", "(p1 1 0 -1 " HEAD " t/b now-2 now now+30000 {b})");
    /* An answer without jobs is not stored under the key. */
    freeReplyObject(script_run_text(examples_redis(), "release t/b p1 -1 0 - 0", NOW_MS));
    check_lease("9", "p3", "f t/other", "(p3 0 0 -1 " HEAD " t/b now-2 now now+30000 {b})");
    check_lease("9", "p4", "f t/k", "(p1 1 0 -1 " HEAD ")");
    /* A request may begin its key with !NONCE. If the answer that is stored under the key has this nonce, the
     * answer is deleted. This request still gets the answer. */
    check_lease("9", "p4", "!p1 f t/other", "(p3 1 0 -1 " HEAD " t/b now-2 now now+30000 {b})");
    check_lease("9", "p4", "!p3 f t/other", "(p3 2 0 -1 " HEAD " t/b now-2 now now+30000 {b})");
    check_lease("9", "p4", "!p3 f t/other", "(p4 0 0 -1 " HEAD ")");
    check_lease("9", "p4", "!p3 g t/k", "-8");
    freeReplyObject(script_run_text(examples_redis(), "release t/b p3 -1 0 - 0", NOW_MS));
    check_lease("9", "p5", "f t/other", "(p5 0 0 -1 " HEAD " t/b now-2 now now+30000 {b})");
#undef HEAD
}
END_TEST

START_TEST(a_process_that_waits_is_told)
{
    CHECK_EXAMPLES( //
        {PULL, "lease t 1 p1 30000 9000 - ''", NOTHING("-1"), PULL WAITING},
        {PULL_DELAYED, "lease t 1 p1 30000 9000 - ''", NOTHING("now+60000"), PULL_DELAYED WAITING},
        {PULL_READY, "lease t 1 p1 30000 9000 - ''", GIVEN, PULL LEASED_AFRESH},
        /* Without another request, a step of the janitor removes them. */
        {PULL "pull_waiters: old@now-1 t@now u@now+1\n", "forget 9 9", "0 0", PULL "pull_waiters: u@now+1\n"},
        {PULL "pull_waiters: old@now-1 t@now u@now+1\n", "forget 1 9", "0 0",
         PULL "pull_waiters: t@now u@now+1\n"},
        /* Entries of pull_waiters whose time is over are removed. A later time is not replaced by an earlier
         * one. */
        {PULL "pull_waiters: old@now-1 t@now+9000 u@now+1\n", "lease t 1 p1 30000 5000 - ''", NOTHING("-1"),
         PULL "pull_waiters: u@now+1 t@now+9000\n"},
        {PULL WAITING, "schedule 0 86400000 t/a 0 \"x\":1} -", "now wake pull t",
         PULL WAITING "bucket:t: t/a@now\ndue: t@inf\njobs: t/a={\"createdAt\":now,\"x\":1}\n"},
        {PULL "pull_waiters: t@now\n", "schedule 0 86400000 t/a 0 \"x\":1} -", "now",
         PULL "pull_waiters: t@now\nbucket:t: t/a@now\ndue: t@inf\njobs: t/a={\"createdAt\":now,\"x\":1}\n"},
        {PULL_COME WAITING, "carry me 1 9 '' 0 5000 500", "me 1 -1 -1 1 '' wake pull t",
         PULL_READY WAITING "carry: at=now beat=1 owner=me\n"},
        {PULLED WAITING, "release t/a p1 -1 0 - 0", "1 wake pull t", PULL WAITING READY_AGAIN}, );
}
END_TEST

START_TEST(a_pull_topic_is_never_in_turns)
{
    CHECK_EXAMPLES( //
        {PULL_COME, "carry me 1 9 '' 0 5000 500", "me 1 -1 -1 1 ''",
         PULL_READY "carry: at=now beat=1 owner=me\n"},
        {PULL, "schedule 0 86400000 t/a 0 \"x\":1} -", "now",
         PULL "bucket:t: t/a@now\ndue: t@inf\njobs: t/a={\"createdAt\":now,\"x\":1}\n"},
        /* Jobs of a pull topic need no url. */
        {PULL, "schedule 0 86400000 t/a 60000 \"url\":\"\"} -", "now+60001 wake now+60001",
         PULL "bucket:t: t/a@now+60001\ndue: t@now+60001\njobs: t/a={\"createdAt\":now+1,\"url\":\"\"}\n"},
        /* The topic changes between push and pull. */
        {READY, "settings t '' {\"delivery\":\"pull\"}", "1", PULL_READY BELL "meta: format=4\n"},
        {PULL_READY, "settings t {\"delivery\":\"pull\"} ''", "1", READY},
        {READY PULL, "claim 10 n5 5000 2 1000 0", "0 0 0", PULL_READY BELL}, );
}
END_TEST

START_TEST(complete_ends_a_lease)
{
    CHECK_EXAMPLES( //
        {PULLED, "complete t/a p1 ''", "now-1000", PULL "completed:p1: t/a=\n"},
        {PULLED, "complete t/a p2 ''", "0", NULL}, {PULLED, "complete t/a n1 ''", "0", NULL},
        {LAPSED, "complete t/a p1 ''", "now-9000", PULL "completed:p1: t/a=\n"},
        {PULLED, "complete t/a p1 '' t/a p1 ''", "now-1000 2", PULL "completed:p1: t/a=\n"},
        {PULL "completed:p1: t/a=\n", "complete t/a p1 ''", "2", NULL},
        {PULL "completed:p1: t/a=\n", "complete t/b p1 ''", "0", NULL},
        {PULL_READY "completed:p1: t/a=\n", "complete t/a p1 ''", "2", NULL},
        /* One field of completed:p1 has all jobs that one call has completed. */
        {TWO_PULLED, "complete t/a p1 '' t/b p1 ''", "now-1000 now-1000", PULL "completed:p1: t/a=|t/b|\n"},
        {PULL "completed:p1: t/a=|t/b|t/c|\n", "complete t/c p1 '' t/b p1 '' t/d p1 ''", "2 2 0", NULL},
        {PULL "completed:p1: t/a=|t/bb|\n", "complete t/b p1 ''", "0", NULL},
        /* The caller must read a job with callbacks before it completes the job. So the script returns
         * NO_RECORD. */
        {PULL "holders:t: t/a=p1,now-9,+,now-9\njobs: t/a={r}\npulled: t/a@now+9\n", "complete t/a p1 ''",
         "-34", NULL},
        {PULL "holders:t: t/a=p1,now-9,+,now-9\njobs: t/a={r}\npulled: t/a@now+9\n", "complete t/a p1 line",
         "now-9", PULL "completed:p1: t/a=\n"},
        /* If the topic keeps ended jobs, the script writes the line about the attempt. */
        {WITH("\"retention\":60") HELD_BY_WORKER, "complete t/a p1 ''", "now-1000",
         WITH("\"retention\":60") "completed:p1: t/a=\ndelivered:t: t/a@now\nkept_until: t/a@now+60000\n"
                                  "kept: t/a=delivered,now,0,3,{r}1 now-1000 1000 200|\n"}, );
}
END_TEST

START_TEST(retry_bury_and_release_end_a_lease)
{
    CHECK_EXAMPLES( //
        {PULLED, "retry t/a p1 500 {x} line", "1 wake now+501",
         PULL "attempts: t/a=line|\nbucket:t: t/a@now+501\ndue: t@now+501\njobs: t/a={x}\n"},
        {PULLED, "retry t/a p2 500 {x} line", "0", NULL},
        {LAPSED, "retry t/a p1 500 {x} line", "1 wake now+501",
         PULL "attempts: t/a=line|\nbucket:t: t/a@now+501\ndue: t@now+501\njobs: t/a={x}\n"},
        {PULLED, "bury t/a p1 {x} line", "1", PULL DIED("now", "0,3,{x}line|")},
        {PULLED, "bury t/a p2 {x} line", "0", NULL},
        {PULLED, "release t/a p1 -1 0 - 0", "1", PULL READY_AGAIN},
        {PULLED, "release t/a p2 -1 0 - 0", "0", NULL},
        /* The topic is fifo: the job keeps its due time, and the jobs after it wait until its next
         * attempt. */
        {WITH("\"order\":\"fifo\"") HELD_BY_WORKER, "retry t/a p1 500 {x} line", "1 wake now+501",
         WITH("\"order\":\"fifo\"") "attempts: t/a=line|\nbucket:t: t/a@now-1500\ndue: t@now+501\njobs: "
                                    "t/a={x}\nlines: t=now+501,now-1500,t/a\n"}, );
}
END_TEST

START_TEST(renew_moves_a_deadline)
{
    CHECK_EXAMPLES( //
        {PULLED, "renew t/a p1 60000 ''", "now+60000",
         PULL "holders:t: t/a=p1,now-1000,-,now-1500\njobs: t/a={r}\npulled: t/a@now+60000\n"},
        {PULLED, "renew t/a p2 60000 ''", "0", NULL}, {LAPSED, "renew t/a p1 60000 ''", "0", NULL},
        {PULL_READY, "renew t/a p1 60000 ''", "0", NULL}, {PULLED, "renew t/a p1 x ''", "ERR", NULL}, );
}
END_TEST

/* The receiver of a consumer's attempt tells the outcome later: the lease becomes that of a worker. */
#define POSTED   "holders:t: t/a=n5,now-1500\njobs: t/a={r}\nleases: t/a@now+3000\n"
#define DEFERRED "holders:t: t/a=p-n5,now-1000,-,now-1500\njobs: t/a={r}\npulled: t/a@now+60000\n"

START_TEST(defer_makes_a_lease_that_of_a_worker)
{
    CHECK_EXAMPLES( //
        {POSTED, "defer t/a n5 60000 now-1000 -", "now+60000", DEFERRED},
        {POSTED "crashes: t/a=2,n1\n", "defer t/a n5 60000 now-1000 -", "now+60000", DEFERRED},
        {POSTED, "defer t/a n6 60000 now-1000 -", "0", NULL},
        {POSTED, "defer t/a n5 60000 now-1000 - t/b n5 60000 now-1000 -", "now+60000 0", DEFERRED},
        /* The token of the attempt was used before the receiver's answer. */
        {DEFERRED, "defer t/a n5 90000 now-1000 -", "now+90000",
         "holders:t: t/a=p-n5,now-1000,-,now-1500\njobs: t/a={r}\npulled: t/a@now+90000\n"},
        {DEFERRED, "defer t/a n5 1000 now-1000 -", "now+60000", NULL},
        {DEFERRED, "defer t/a n6 1000 now-1000 -", "0", NULL},
        /* The job was cancelled or replaced during the attempt, which is over for duepost then. */
        {"holders:t: t/a|n5=\nlingering: t/a|n5@now+3000\n", "defer t/a n5 60000 now-1000 -", "0", ""},
        {"holders:t: t/a|n5=replaced\nlingering: t/a|n5@now+3000\n", "defer t/a n5 60000 now-1000 -", "-36",
         ""},
        {POSTED, "defer t/a p5 60000 now-1000 -", "ERR", NULL},
        {POSTED, "defer t/a n5 60000 x -", "ERR", NULL}, {POSTED, "defer t/a n5 x now-1000 -", "ERR", NULL},
        {POSTED, "defer t/a n5 60000 now-1000", "ERR", NULL},
        /* The end of the attempt. */
        {DEFERRED, "complete t/a p-n5 ''", "now-1000", "completed:p-n5: t/a=\n"},
        {DEFERRED, "complete t/a n5 ''", "0", NULL}, {DEFERRED, "renew t/a n5 5000 ''", "0", NULL}, );
}
END_TEST

/* How far the attempt is, is kept until its end. */
#define TOLD "progress: t/a=0.5\n"

START_TEST(progress_is_kept_with_the_lease)
{
    CHECK_EXAMPLES( //
        {PULLED, "renew t/a p1 60000 0.5", "now+60000",
         PULL TOLD "holders:t: t/a=p1,now-1000,-,now-1500\njobs: t/a={r}\npulled: t/a@now+60000\n"},
        {PULLED, "renew t/a p2 60000 0.5", "0", NULL}, {LAPSED, "renew t/a p1 60000 0.5", "0", NULL},
        {PULLED TOLD, "read t/a", "(leased now+3000 {r} 0 {\"delivery\":\"pull\"} 0 '' 0.5)", NULL},
        {PULL_READY TOLD, "read t/a", "(ready now-1000 {r} 0 {\"delivery\":\"pull\"})", NULL},
        {PULLED TOLD, "complete t/a p1 ''", "now-1000", PULL "completed:p1: t/a=\n"},
        {PULLED TOLD, "retry t/a p1 500 {x} line", "1 wake now+501",
         PULL "attempts: t/a=line|\nbucket:t: t/a@now+501\ndue: t@now+501\njobs: t/a={x}\n"},
        {PULLED TOLD, "release t/a p1 -1 0 - 0", "1", PULL READY_AGAIN},
        {PULLED TOLD, "bury t/a p1 {x} line", "1", PULL DIED("now", "0,18,{x,\"progress\":0.5}line|")},
        {PULLED TOLD, "cancel t/a ''", "1", PULL "holders:t: t/a|p1=\npull_lingering: t/a|p1@now+3000\n"},
        /* The result follows the line. */
        {WITH("\"retention\":60") HELD_BY_WORKER, "complete t/a p1 '\n17'", "now-1000",
         WITH("\"retention\":60") "completed:p1: t/a=\ndelivered:t: t/a@now\nkept_until: t/a@now+60000\n"
                                  "kept: t/a=delivered,now,0,15,{r,\"result\":17}1 now-1000 1000 200|\n"},
        {PULLED, "complete t/a p1 '\n17'", "now-1000", PULL "completed:p1: t/a=\n"},
        {"topics: t={\"retention\":60}\n" POSTED, "complete t/a n5 'line\n17'", "1",
         "topics: t={\"retention\":60}\ndelivered:t: t/a@now\nkept_until: t/a@now+60000\n"
         "kept: t/a=delivered,now,0,15,{r,\"result\":17}line|\n"},
        {POSTED, "complete t/a n5 'line\n17'", "1", ""}, );
}
END_TEST

START_TEST(pulled_reads_what_a_token_holds)
{
    CHECK_EXAMPLES( //
        {PULLED, "pulled t/a p1", "(now-1500 now-1000 {r} {\"delivery\":\"pull\"})", NULL},
        {LAPSED, "pulled t/a p1", "(now-9500 now-9000 {r} {\"delivery\":\"pull\"})", NULL},
        {PULLED, "pulled t/a p2", "()", NULL}, {LEASED, "pulled t/a n1", "()", NULL},
        {PULL_READY, "pulled t/a p1", "()", NULL}, );
}
END_TEST

#define RECOVER "recover workers 5000 now 10 1 !r"

START_TEST(leases_that_ran_out_are_listed)
{
    CHECK_EXAMPLES( //
        {LAPSED, RECOVER, "1 1 t/a p1 now-9500 now-9000 {r} t {\"delivery\":\"pull\"}", NULL},
        {LAPSED, "recover workers 5000 now+1001 10 1 !r", "-1", NULL}, {PULLED, RECOVER, "0 0", NULL},
        {EXPIRED, RECOVER, "0 0", NULL},
        /* The deadline is hours away, because the clock has stepped back. */
        {PULL "holders:t: t/a=p1,now+90000000,-,now-9500\njobs: t/a={r}\npulled: t/a@now+90000000\n", RECOVER,
         "1 1 t/a p1 now-9500 now+90000000 {r} t {\"delivery\":\"pull\"}", NULL},
        /* Damaged data. */
        {PULL "jobs: t/a={r}\npulled: t/a@now\n", RECOVER, "1 0",
         PULL "bucket:t: t/a@now\ndue: t@inf\njobs: t/a={r}\n"},
        {PULL "holders:t: t/a=p1,now-9,-,now-9\npulled: t/a@now\n", RECOVER, "1 0", PULL},
        {LAPSED, "carry me 1 9 '' 0 5000 500", "me 1 -1 0 0 ''", LAPSED "carry: at=now beat=1 owner=me\n"},
        {PULLED, "carry me 1 9 '' 0 5000 500", "me 1 -1 3000 0 ''",
         PULLED "carry: at=now beat=1 owner=me\n"}, );
}
END_TEST

#define PULL_PLACE "holders:t: t/a|p1=\npull_lingering: t/a|p1@now+3000\n"

/* A new job has replaced the job that a worker has leased. */
#define NEW      PULL "bucket:t: t/a@now\ndue: t@inf\njobs: t/a={\"createdAt\":now,\"x\"}\n"
#define REPLACED NEW "holders:t: t/a|p1=replaced\npull_lingering: t/a|p1@now+3000\n"

START_TEST(owners_meet_a_leased_job)
{
    CHECK_EXAMPLES( //
        {PULLED, "cancel t/a ''", "1", PULL PULL_PLACE}, {PULL PULL_PLACE, "complete t/a p1 ''", "0", PULL},
        {PULL PULL_PLACE, "release t/a p1 -1 0 - 0", "0", PULL},
        {PULL PULL_PLACE, "renew t/a p1 60000 ''", "-38", NULL},
        {PULL "holders:t: t/a|p1=\npull_lingering: t/a|p1@now\n", RECOVER, "0 0", PULL},
        {PULL "holders:t: t/a|p1=\npull_lingering: t/a|p1@now\n", "carry me 1 9 '' 0 5000 500",
         "me 1 -1 0 0 ''",
         PULL "holders:t: t/a|p1=\npull_lingering: t/a|p1@now\ncarry: at=now beat=1 owner=me\n"},
        {PULL PULL_PLACE, RECOVER, "0 0", NULL},
        {PULLED, "replace 0 t/a 0 \"x\"} ''", "(now now 2)", REPLACED},
        {PULLED, "replace 0 t/a 0 \"x\"} *", "(now now 2)", REPLACED},
        {PULLED, "replace 0 t/a 0 \"x\"} !*", "-4", NULL},
        /* The worker of the replaced job is refused, and the new job is not touched. */
        {REPLACED, "renew t/a p1 60000 ''", "-36", NULL}, {REPLACED, "renew t/a p2 60000 ''", "0", NULL},
        {REPLACED, "complete t/a p1 ''", "-36", NEW},
        {REPLACED, "complete t/a p1 '' t/a p1 ''", "-36 0", NEW},
        {REPLACED, "retry t/a p1 5 {x} ''", "-36", NEW}, {REPLACED, "bury t/a p1 {x} ''", "-36", NEW},
        {REPLACED, "release t/a p1 -1 0 - 0", "-36", NEW}, {PULLED, "change t/a * 0 ''", "-3", NULL},
        {PULLED, "run 0 t/a 0 '' '' {x}", "-3", NULL},
        {PULLED, "read t/a", "(leased now+3000 {r} 0 {\"delivery\":\"pull\"} 0 '' '')", NULL},
        {PULLED, "leased '' '' 0 100", "p0", NULL}, {PULLED, "leased '' '' p0 100", "0 t/a", NULL},
        {LEASED, "leased '' '' 0 100", "0 t/a", NULL}, );
}
END_TEST

START_TEST(audit_and_mend_know_the_place)
{
    CHECK_EXAMPLES( //
        {PULLED, "topics t '' 1",
         "0 t {\"delivery\":\"pull\"} 0 0 1 0 -1 -1 0 0 0 0 {\"delivery\":\"pull\"} '' '' 0 0 0 0 '' -1 -1 0 "
         "now-1000",
         NULL},
        {PULL_READY, "topics t '' 1",
         "0 t {\"delivery\":\"pull\"} 0 1 0 0 now-1000 -2 0 0 0 0 {\"delivery\":\"pull\"} '' '' 0 0 0 0 '' "
         "-1 -1 0",
         NULL},
        {PULLED, "audit 1000", "1 0 1 0 0 0 0 0 0 -1 0 0 0 1", NULL},
        {PULL_READY, "audit 1000", "1 1 0 0 1 1 0 0 0 now-1000 0 0 0 0", NULL},
        {PULLED, "mend jobs 0", "0", NULL}, {PULLED, "mend pulled 0", "0", NULL},
        {PULLED, "mend waiting 0", "0", NULL},
        {PULL "holders:t: t/a=p1,now,-,now\npulled: t/a@now+9\n", "mend pulled 0", "0 empty t/a", PULL},
        {PULLED "bucket:t: t/a@now\ndue: t@inf\n", "mend jobs 0", "0 doubled t/a", PULLED},
        {PULLED "leases: t/a@now+3000\n", "mend jobs 0", "0 doubled t/a", PULLED},
        {LEASED "pulled: t/a@now+3000\n", "mend jobs 0", "0 doubled t/a", LEASED},
        {PULL "bucket:t: t/b@now+9\ndue: t@now+9\njobs: t/b={b}\nholders:t: t/a=p1,now,-,now\n", "mend due 0",
         "0 holder t/a", PULL "bucket:t: t/b@now+9\ndue: t@now+9\njobs: t/b={b}\n"}, );
}
END_TEST

START_TEST(abandon_gives_back_the_jobs_of_a_lost_call)
{
    CHECK_EXAMPLES( //
        {PULLED, "abandon p1 100 2000 4000", "1", PULL READY_AGAIN},
        {PULLED, "abandon p2 100 2000 4000", "0", NULL}, {PULLED, "abandon p1 100 3500 4000", "0", NULL},
        {PULL PULL_PLACE, "abandon p1 100 2000 4000", "0", PULL}, );
}
END_TEST

START_TEST(a_step_of_the_clock_moves_the_deadlines)
{
    static const char taken[] = "holders:t: t/a=p1,now-40000,-,now-50000 t/b=p2,now-500,-,now-1\n"
                                "jobs: t/a={r} t/b={r}\npulled: t/a@now-10000 t/b@now+29500\n" PULL;
    CHECK_EXAMPLES( //
        {ABSENT, "reoffer 9 30000", "0 0", ABSENT},
        /* The clock has stepped forward; t/b was leased after that. */
        {taken, "reoffer 9 30000", "0 1",
         "holders:t: t/a=p1,now-40000,-,now-50000 t/b=p2,now-500,-,now-1\njobs: t/a={r} t/b={r}\n"
         "pulled: t/a@now+20000 t/b@now+29500\nmeta: leap=pull_lingering/30000/now/+inf\n" PULL},
        /* A step of one lease, and a continued walk. */
        {taken, "reoffer 1 30000", "0 1",
         "holders:t: t/a=p1,now-40000,-,now-50000 t/b=p2,now-500,-,now-1\njobs: t/a={r} t/b={r}\n"
         "pulled: t/a@now-10000 t/b@now+29500\nmeta: leap=pulled/30000/now/now+29500\n" PULL},
        {"holders:t: t/a|p1=\npull_lingering: t/a|p1@now-9\nmeta: leap=pull_lingering/5000/now/+inf\n" PULL,
         "reoffer 9 0", "0 0", "holders:t: t/a|p1=\npull_lingering: t/a|p1@now+4991\n" PULL},
        /* The clock has stepped back by an hour: t/a was leased before that, t/b after that. */
        {"holders:t: t/a=p1,now+3590000,-,now t/b=p2,now-500,-,now-1\njobs: t/a={r} t/b={r}\n"
         "pulled: t/a@now+3620000 t/b@now+29500\n" PULL,
         "reoffer 9 -3600000", "0 1",
         "holders:t: t/a=p1,now+3590000,-,now t/b=p2,now-500,-,now-1\njobs: t/a={r} t/b={r}\n"
         "pulled: t/a@now+20000 t/b@now+29500\nmeta: leap=pull_lingering/-3600000/now/-inf\n" PULL}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_pull");
    TCase *tests = examples_case("pull");
    tcase_add_test(tests, lease_gives_due_jobs);
    tcase_add_test(tests, lease_meets_jobs_that_cannot_be_given);
    tcase_add_test(tests, lease_notes_that_a_job_has_callbacks);
    tcase_add_test(tests, lease_refuses);
    tcase_add_test(tests, lease_keeps_to_the_settings_of_the_topic);
    tcase_add_test(tests, lease_spends_the_rate);
    tcase_add_test(tests, lease_repeats_an_answer);
    tcase_add_test(tests, a_process_that_waits_is_told);
    tcase_add_test(tests, a_pull_topic_is_never_in_turns);
    tcase_add_test(tests, complete_ends_a_lease);
    tcase_add_test(tests, retry_bury_and_release_end_a_lease);
    tcase_add_test(tests, renew_moves_a_deadline);
    tcase_add_test(tests, defer_makes_a_lease_that_of_a_worker);
    tcase_add_test(tests, progress_is_kept_with_the_lease);
    tcase_add_test(tests, pulled_reads_what_a_token_holds);
    tcase_add_test(tests, leases_that_ran_out_are_listed);
    tcase_add_test(tests, owners_meet_a_leased_job);
    tcase_add_test(tests, audit_and_mend_know_the_place);
    tcase_add_test(tests, abandon_gives_back_the_jobs_of_a_lost_call);
    tcase_add_test(tests, a_step_of_the_clock_moves_the_deadlines);
    suite_add_tcase(suite, tests);
    return suite;
}

/* Tests the rate of a topic: how many of its attempts may begin, and when. */
#include "base/memory.h"
#include "support/keyspace.h"
#include "support/redis_server.h"
#include "support/script_examples.h"
#include "support/script_runner.h"
#include "support/suite.h"

#define CLAIM        "claim 10 n5 5000 2 1000 0"
#define ONE_EACH_2_S "{\"rate\":{\"jobs\":1,\"per\":2,\"burst\":1}}"
#define FIVE_EACH_S  "{\"rate\":{\"jobs\":5,\"per\":1,\"burst\":3}}"

/* begun:t counts attempts in slots of 2 ms. The first field is the current slot; "first" is the first slot
 * that still counts. */
#define BEGUN(number) "begun:t: 850000000061=" number " first=849999999561 sum=" number "\n"

START_TEST(claim_keeps_to_the_rate)
{
    CHECK_EXAMPLES( //
        /* One attempt may begin every two seconds, counted from the time when the first job became due. The
         * next time is a whole ms. */
        {"bucket:t: t/a@now-9 t/b@now-8\njobs: t/a={1} t/b={2}\ntopics: t=" ONE_EACH_2_S "\nturns: t@1\n",
         CLAIM, "0 0 1 t/a now-9 {1} t " ONE_EACH_2_S " wake now+1991",
         BEGUN("1") "bucket:t: t/b@now-8\ndue: t@now+1991\nholders:t: t/a=n5,now-9\njobs: t/a={1} t/b={2}\n"
                    "leases: t/a@now+5000\nrates: t=1700000002114000\ntopics: t=" ONE_EACH_2_S "\n"},
        /* The claim was late by seconds. To make up for this, the next attempt may begin at most 100 ms
         * earlier. */
        {"bucket:t: t/a@now-9000 t/b@now-8\njobs: t/a={1} t/b={2}\nrates: t=1600000000000000\n"
         "topics: t=" ONE_EACH_2_S "\nturns: t@1\n",
         CLAIM, "0 0 1 t/a now-9000 {1} t " ONE_EACH_2_S " wake now+1901",
         BEGUN(
             "1") "bucket:t: t/b@now-8\ndue: t@now+1901\nholders:t: t/a=n5,now-9000\njobs: t/a={1} t/b={2}\n"
                  "leases: t/a@now+5000\nrates: t=1700000002023456\ntopics: t=" ONE_EACH_2_S "\n"},
        /* More attempts have begun than the rate ever allows, because the clock has stepped back, or because
         * the burst of the rate was larger before. The excess is dropped, so that the next attempt begins in
         * two seconds. */
        {"bucket:t: t/a@now-9\njobs: t/a={1}\nrates: t=1800000000000000\ntopics: t=" ONE_EACH_2_S
         "\nturns: t@1\n",
         CLAIM, "0 0 0 wake now+2001",
         "bucket:t: t/a@now-9\ndue: t@now+2001\njobs: t/a={1}\nrates: t=1700000002123456\ntopics: "
         "t=" ONE_EACH_2_S "\n"},
        /* Eight attempts began within the last second. The first two of them count for another 71.456 ms. */
        {"begun:t: 849999999596=2 850000000000=6 first=849999999500 sum=8\nbucket:t: t/a@now\njobs: t/a={1}\n"
         "topics: t=" FIVE_EACH_S "\nturns: t@1\n",
         CLAIM, "0 0 0 wake now+71",
         "begun:t: 849999999596=2 850000000000=6 first=849999999500 sum=8\nbucket:t: t/a@now\ndue: t@now+71\n"
         "jobs: t/a={1}\ntopics: t=" FIVE_EACH_S "\n"},
        /* Two of the eight attempts no longer count. */
        {"begun:t: 849999999560=2 850000000000=6 first=849999999500 sum=8\nbucket:t: t/a@now\njobs: t/a={1}\n"
         "topics: t=" FIVE_EACH_S "\nturns: t@1\n",
         CLAIM, "0 0 1 t/a now {1} t " FIVE_EACH_S,
         "begun:t: 850000000000=6 850000000061=1 first=849999999561 sum=7\nholders:t: t/a=n5,now\njobs: "
         "t/a={1}\n"
         "leases: t/a@now+5000\nrates: t=1700000000323000\ntopics: t=" FIVE_EACH_S "\n"}, );
}
END_TEST

/* Three due jobs with these records. The rate lets one attempt begin now. */
#define THREE_AT_ONCE "{\"maxInFlight\":3,\"rate\":{\"jobs\":1,\"per\":2,\"burst\":1}}"
#define THREE(a, b, c)                                                                                       \
    "bucket:t: t/a@now-9 t/b@now-8 t/c@now-7\njobs: t/a=" a " t/b=" b " t/c=" c "\ntopics: t=" THREE_AT_ONCE \
    "\nturns: t@1\n"
#define CLAIMED(a, b, c)                                                                                     \
    BEGUN("1")                                                                                               \
    "holders:t: t/a=n5,now-9 t/b=n5,now-8 t/c=n5,now-7\njobs: t/a=" a " t/b=" b " t/c=" c                    \
    "\nleases: t/a@now+5000 t/b@now+5000 t/c@now+5000\nrates: t=1700000002116000\ntopics: t=" THREE_AT_ONCE  \
    "\n"
#define CHECK_EXPIRED(a, b, c)                                                                               \
    CHECK_EXAMPLES({THREE(a, b, c), CLAIM,                                                                   \
                    "0 0 3 t/a now-9 " a " t/b now-8 " b " t/c now-7 " c " t " THREE_AT_ONCE,                \
                    CLAIMED(a, b, c)})

/* NOW_MS is 2023-11-14T22:13:20.123Z. */
START_TEST(an_expired_job_costs_no_token)
{
    CHECK_EXPIRED("{\"createdAt\":1,\"url\":\"h\",\"ttl\":1}",
                  "{\"createdAt\":now-500,\"url\":\"h\",\"ttl\":0.5,\"x\":1}", "{r}");
    CHECK_EXPIRED("{\"createdAt\":1,\"url\":\"h\",\"expiresAt\":\"2023-11-14T22:13:20.123Z\"}",
                  "{\"createdAt\":1,\"url\":\"\",\"delay\":1,\"expiresAt\":\"2020-02-29T00:00:00.000Z\"}",
                  "{\"createdAt\":1,\"url\":\"h\",\"ttl\":9999999999}");
    CHECK_EXPIRED(
        "{\"createdAt\":1,\"url\":\"h\",\"method\":\"PUT\",\"dueAt\":\"2020-01-01T00:00:00.000Z\",\"ttl\":5}",
        "{\"createdAt\":1,\"url\":\"h\",\"ttl\":9999999999,\"expiresAt\":\"2023-11-14T22:13:20.122Z\"}",
        "{\"createdAt\":1,\"url\":\"h\",\"expiresAt\":\"2023-11-14T22:13:20.124Z\"}");
    /* The head has the expiry, whatever members follow it. */
    CHECK_EXPIRED("{\"createdAt\":1,\"head\":\"1;now;0;0;-;25;\",\"url\":\"a\\\"\",\"x\":2,\"ttl\":9}",
                  "{\"createdAt\":1,\"head\":\"1;now-1;0;0;u;11;\",\"url\":\"\",\"body\":1}",
                  "{\"createdAt\":1,\"head\":\"1;now+1;0;0;-;12;\",\"url\":\"h\"}");
    /* A head at another place is stale. */
    CHECK_EXPIRED("{\"createdAt\":1,\"url\":\"a\\\"\",\"ttl\":9,\"head\":\"1;now+9;0;0;-;25;\"}",
                  "{\"createdAt\":1,\"url\":\"a\\\"\",\"method\":\"PUT\",\"new\":[1],\"delay\":1,\"ttl\":9}",
                  "{\"createdAt\":1,\"url\":\"h\",\"head\":\"1;now-9;0;0;-;25;\"}");
}
END_TEST

START_TEST(what_only_looks_expired_costs_a_token)
{
    static const char *const records[] = {
        "{\"createdAt\":now-500,\"url\":\"h\",\"ttl\":0.501}",
        "{\"createdAt\":1,\"url\":\"h\",\"body\":{\"ttl\":1}}",
        "{\"createdAt\":1,\"url\":\"h\",\"expiresAt\":\"2024-01-01T00:00:00.000Z\"}", "{\"x\":1}", "{}"};
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        struct buffer before, answer;
        buffer_init(&before, 4096);
        buffer_init(&answer, 4096);
        buffer_printf(&before, THREE("%s", "%s", "%s"), records[i], records[i], records[i]);
        keyspace_load(examples_redis(), buffer_text(&before), NOW_MS);
        redisReply *reply = script_run_text(examples_redis(), CLAIM, NOW_MS);
        ck_assert_int_eq(reply->element[3]->integer, 1);
        freeReplyObject(reply);
        buffer_fini(&before);
        buffer_fini(&answer);
    }
}
END_TEST

#define SPENT(us, places) places "rates: t=" us "\ntopics: t=" FIVE_EACH_S "\n"
#define TWO_LEASED                                                                                           \
    "holders:t: t/a=n1,now-9 t/b=n1,now-9\njobs: t/a={1} t/b={2}\nleases: t/a@now+9 t/b@now+9\n"
#define TWO_HELD "held: t@now-9\nheld:t: t/a@now-9 t/b@now-9\n"
#define TWO_HELD_BACK                                                                                        \
    "bucket:t: t/a@now+501 t/b@now+501.0005\ndue: t@now+501\n" TWO_HELD "jobs: t/a={1} t/b={2}\n"

START_TEST(release_gives_a_rate_back_the_turns_of_what_it_holds_back)
{
    static const char two[] = "release t/a n1 500 now - 0 t/b n1 500 now - 0";
    CHECK_EXAMPLES( //
        {SPENT("1700000000600456", TWO_LEASED), two, "1 1 wake now+501",
         SPENT("1700000000200456", TWO_HELD_BACK)},
        /* Both attempts are released without having begun, so both tokens are returned to the rate. A token
         * is the right to begin one attempt. */
        {SPENT("1700000000600456", TWO_LEASED) BEGUN("2"), two, "1 1 wake now+501",
         SPENT("1700000000200456", TWO_HELD_BACK) BEGUN("0")},
        {SPENT("1700000000600456", TWO_LEASED) BEGUN("1"), two, "1 1 wake now+501",
         SPENT("1700000000200456", TWO_HELD_BACK) BEGUN("0")},
        {SPENT("1700000000600456", TWO_LEASED) BEGUN("5"),
         "release t/a n1 500 now-99 - 0 t/b n1 500 now-99 - 0", "1 1 wake now+501",
         SPENT("1700000000200456", TWO_HELD_BACK) BEGUN("5")},
        /* The jobs were released more than 100 ms after their claim. The time beyond 100 ms is not returned;
         * it is subtracted once for both jobs. */
        {SPENT("1700000000600456", TWO_LEASED), "release t/a n1 500 now-200 - 0 t/b n1 500 now-200 - 0",
         "1 1 wake now+501", SPENT("1700000000300912", TWO_HELD_BACK)},
        {SPENT("1700000000600456", TWO_LEASED), "release t/a n1 500 now-500 - 0 t/b n1 500 now-500 - 0",
         "1 1 wake now+501", SPENT("1700000000600456", TWO_HELD_BACK)},
        /* The clock stepped back. */
        {SPENT("1700000000600456", TWO_LEASED), "release t/a n1 500 now+9 - 0 t/b n1 500 now+9 - 0",
         "1 1 wake now+501", SPENT("1700000000200456", TWO_HELD_BACK)},
        /* No token is returned: the first job may have been sent, and another consumer has the second one. */
        {SPENT("1700000000600456", TWO_LEASED), "release t/a n1 -1 now - 0 t/b n2 500 now - 0",
         "1 0 wake now+78",
         SPENT("1700000000600456",
               "bucket:t: t/a@now-9\ndue: t@now+78\nholders:t: t/b=n1,now-9\njobs: t/a={1} "
               "t/b={2}\nleases: t/b@now+9\n")},
        /* The released token lets another job begin at once. */
        {"bucket:t: t/b@now-9\ndue: t@now+2001\nholders:t: t/a=n1,now-9\njobs: t/a={1} t/b={2}\n"
         "leases: t/a@now+9\nrates: t=1700000002123456\ntopics: t=" ONE_EACH_2_S "\n",
         "release t/a n1 500 now - 0", "1",
         "bucket:t: t/b@now-9 t/a@now+501\nheld: t@now-9\nheld:t: t/a@now-9\njobs: t/a={1} t/b={2}\n"
         "rates: t=1700000000123456\nready: t\n"
         "topics: t=" ONE_EACH_2_S "\nturns: t@1\n"}, );
}
END_TEST

/* ---- windows ---- */

#define WINDOW_RATE(more)                                                                                    \
    "{\"maxInFlight\":9,\"rate\":{\"jobs\":2,\"per\":60,\"burst\":1,\"window\":true" more "}}"
#define WINDOW              WINDOW_RATE("")
#define COUNTED(us, number) "begun:t: number=" number " window=" us "\n"
#define SLOW                "{\"rate\":{\"jobs\":1,\"per\":2,\"burst\":1}}"
#define THREE_DUE           "bucket:t: t/a@now-9 t/b@now-8 t/c@now-7\njobs: t/a={1} t/b={1} t/c={1}\n"
#define TWO_BEGUN                                                                                            \
    "holders:t: t/a=n5,now-9 t/b=n5,now-8\njobs: t/a={1} t/b={1} t/c={1}\n"                                  \
    "leases: t/a@now+5000 t/b@now+5000\n"
#define TWO_CLAIMED(more) "0 0 2 t/a now-9 {1} t/b now-8 {1} t " WINDOW_RATE(more)

/* A window of 60 s begins with its first attempt. Two attempts may begin at any time within it. */
START_TEST(a_window_has_its_jobs_at_any_time_of_it)
{
    CHECK_EXAMPLES( //
        {THREE_DUE "topics: t=" WINDOW "\nturns: t@1\n", CLAIM, TWO_CLAIMED("") " wake now+60001",
         COUNTED("1700000000123456", "2") "bucket:t: t/c@now-7\ndue: t@now+60001\n" TWO_BEGUN
                                          "topics: t=" WINDOW "\n"},
        /* The previous window is over. */
        {COUNTED("1699999940123456", "2") THREE_DUE "topics: t=" WINDOW "\nturns: t@1\n", CLAIM,
         TWO_CLAIMED("") " wake now+60001",
         COUNTED("1700000000123456", "2") "bucket:t: t/c@now-7\ndue: t@now+60001\n" TWO_BEGUN
                                          "topics: t=" WINDOW "\n"},
        /* The previous window is not over for another microsecond. */
        {COUNTED("1699999940123457", "2") THREE_DUE "topics: t=" WINDOW "\nturns: t@1\n", CLAIM,
         "0 0 0 wake now+1",
         COUNTED("1699999940123457", "2") THREE_DUE "due: t@now+1\ntopics: t=" WINDOW "\n"},
        /* The window was reset after it began. */
        {COUNTED("1699999990000000", "2") THREE_DUE
         "topics: t=" WINDOW_RATE(",\"since\":1699999990001") "\nturns: t@1\n",
         CLAIM,
         TWO_CLAIMED(",\"since\":now-10122") " wake now+60001"
                                             "",
         COUNTED("1700000000123456", "2") "bucket:t: t/c@now-7\ndue: t@now+60001\n" TWO_BEGUN
                                          "topics: t=" WINDOW_RATE(",\"since\":now-10122") "\n"},
        /* The time of the reset is 1 ms in the future, because the clock of the process that reset the window
         * was ahead. The next window begins at that time. */
        {COUNTED("1699999990000000", "2") THREE_DUE
         "topics: t=" WINDOW_RATE(",\"since\":1700000000124") "\nturns: t@1\n",
         CLAIM, TWO_CLAIMED(",\"since\":now+1") " wake now+60001",
         COUNTED("1700000000124000", "2") "bucket:t: t/c@now-7\ndue: t@now+60001\n" TWO_BEGUN
                                          "topics: t=" WINDOW_RATE(",\"since\":now+1") "\n"},
        {COUNTED("1700000000124000", "2") THREE_DUE
         "topics: t=" WINDOW_RATE(",\"since\":1700000000124") "\nturns: t@1\n",
         CLAIM, "0 0 0 wake now+60001",
         COUNTED("1700000000124000", "2") THREE_DUE
         "due: t@now+60001\ntopics: t=" WINDOW_RATE(",\"since\":now+1") "\n"},
        /* The reset is far in the future, because the clock has stepped back: it is ignored. */
        {COUNTED("1700000000123000", "1") THREE_DUE
         "topics: t=" WINDOW_RATE(",\"since\":1800000000000") "\nturns: t@1\n",
         CLAIM, "0 0 1 t/a now-9 {1} t " WINDOW_RATE(",\"since\":now+99999999877") " wake now+60000",
         COUNTED("1700000000123000",
                 "2") "bucket:t: t/b@now-8 t/c@now-7\ndue: t@now+60000\n"
                      "holders:t: t/a=n5,now-9\njobs: t/a={1} t/b={1} t/c={1}\nleases: t/a@now+5000\n"
                      "topics: t=" WINDOW_RATE(",\"since\":now+99999999877") "\n"},
        /* The clock stepped back. */
        {COUNTED("1800000000000000", "2") THREE_DUE "topics: t=" WINDOW "\nturns: t@1\n", CLAIM,
         TWO_CLAIMED("") " wake now+60001",
         COUNTED("1700000000123456", "2") "bucket:t: t/c@now-7\ndue: t@now+60001\n" TWO_BEGUN
                                          "topics: t=" WINDOW "\n"},
        /* The rate had no window until now. Earlier attempts do not count in the new window, and their slots
         * are removed from begun:t. */
        {"begun:t: 849999999900=2 first=849999999800 sum=2\n" THREE_DUE "topics: t=" WINDOW "\nturns: t@1\n",
         CLAIM, TWO_CLAIMED("") " wake now+60001",
         COUNTED("1700000000123456", "2") "bucket:t: t/c@now-7\ndue: t@now+60001\n" TWO_BEGUN
                                          "topics: t=" WINDOW "\n"},
        /* The rate no longer has a window. */
        {COUNTED("1700000000123400", "2") "bucket:t: t/a@now-9\njobs: t/a={1}\ntopics: t=" SLOW
                                          "\nturns: t@1\n",
         CLAIM, "0 0 1 t/a now-9 {1} t " SLOW,
         "begun:t: 850000000061=1 first=849999999561 sum=1\nholders:t: t/a=n5,now-9\njobs: t/a={1}\n"
         "leases: t/a@now+5000\nrates: t=1700000002114000\ntopics: t=" SLOW "\n"},
        {COUNTED("1699999990000000", "2") "topics: t=" WINDOW "\n", "topics t '' 1",
         "0 t " WINDOW " 0 0 0 0 -1 -1 0 0 0 0 " WINDOW " '' '' now-10123 2 0 0 '' -1 -1 0", NULL}, );
}
END_TEST

START_TEST(a_job_that_was_not_sent_goes_back_to_its_window)
{
    CHECK_EXAMPLES( //
        {COUNTED("1700000000123400", "2") "holders:t: t/a=n1,now-9\njobs: t/a={1}\nleases: t/a@now+9\n"
                                          "topics: t=" WINDOW "\n",
         "release t/a n1 500 now - 0", "1 wake now+501",
         COUNTED("1700000000123400", "1") "bucket:t: t/a@now+501\ndue: t@now+501\nheld: t@now-9\n"
                                          "held:t: t/a@now-9\njobs: t/a={1}\ntopics: t=" WINDOW "\n"}, );
}
END_TEST

/* ---- jobs that are delivered together ---- */

#define BATCH "{\"maxInFlight\":9,\"batch\":{\"size\":2,\"wait\":5}}"

START_TEST(a_topic_waits_for_its_batch)
{
    CHECK_EXAMPLES( //
        /* One job is due: the topic waits for 5 s from its due time on. */
        {"due: t@now\nbucket:t: t/a@now-1000\njobs: t/a={1}\ntopics: t=" BATCH "\n",
         "carry me 1 256 '' 0 5000 250", "me 1 now+4000 -1 1 ''",
         "bucket:t: t/a@now-1000\ncarry: at=now beat=1 owner=me\ndue: t@now+4000\njobs: t/a={1}\ntopics: "
         "t={\"maxInFlight\":9,\"batch\":{\"size\":2,\"wait\":5}}\n"},
        /* These are over. */
        {"due: t@now\nbucket:t: t/a@now-5000\njobs: t/a={1}\ntopics: t=" BATCH "\n",
         "carry me 1 256 '' 0 5000 250", "me 1 -1 -1 1 t",
         "bucket:t: t/a@now-5000\ncarry: at=now beat=1 owner=me\njobs: t/a={1}\nready: t\ntopics: "
         "t={\"maxInFlight\":9,\"batch\":{\"size\":2,\"wait\":5}}\nturns: t@1\n"},
        /* The batch will be whole in 2 s. */
        {"due: t@now\nbucket:t: t/a@now-1000 t/b@now+2000\njobs: t/a={1} t/b={2}\ntopics: t=" BATCH "\n",
         "carry me 1 256 '' 0 5000 250", "me 1 now+2000 -1 1 ''",
         "bucket:t: t/a@now-1000 t/b@now+2000\ncarry: at=now beat=1 owner=me\ndue: t@now+2000\njobs: t/a={1} "
         "t/b={2}\ntopics: t={\"maxInFlight\":9,\"batch\":{\"size\":2,\"wait\":5}}\n"},
        /* It is whole. */
        {"due: t@now\nbucket:t: t/a@now-1000 t/b@now-1\njobs: t/a={1} t/b={2}\ntopics: t=" BATCH "\n",
         "carry me 1 256 '' 0 5000 250", "me 1 -1 -1 1 t",
         "bucket:t: t/a@now-1000 t/b@now-1\ncarry: at=now beat=1 owner=me\njobs: t/a={1} t/b={2}\nready: "
         "t\ntopics: t={\"maxInFlight\":9,\"batch\":{\"size\":2,\"wait\":5}}\nturns: t@1\n"},
        /* A new job makes it whole. */
        {"due: t@now+4000\nbucket:t: t/a@now-1000\njobs: t/a={1}\ntopics: t=" BATCH "\n",
         "schedule 0 9 t/b 0 \"x\":1} -", "now",
         "bucket:t: t/a@now-1000 t/b@now\njobs: t/a={1} t/b={\"createdAt\":now,\"x\":1}\nready: t\ntopics: "
         "t={\"maxInFlight\":9,\"batch\":{\"size\":2,\"wait\":5}}\nturns: t@1\n"},
        {"bucket:t: t/a@now-1000\ndue: t@now+4000\njobs: t/a={1}\ntopics: t=" BATCH "\n", "topics t '' 1",
         "0 t {\"maxInFlight\":9,\"batch\":{\"size\":2,\"wait\":5}} 0 1 0 0 now-1000 now+4000 0 0 0 0 "
         "{\"maxInFlight\":9,\"batch\":{\"size\":2,\"wait\":5}} '' '' 0 0 0 0 '' -1 -1 1",
         NULL}, );
}
END_TEST

START_TEST(a_claim_takes_whole_batches)
{
    CHECK_EXAMPLES( //
        /* Three jobs are due: the third waits for the next batch. */
        {"bucket:t: t/a@now-9 t/b@now-8 t/c@now-7\njobs: t/a={1} t/b={2} t/c={3}\ntopics: t=" BATCH
         "\nturns: t@1\n",
         CLAIM,
         "0 0 2 t/a now-9 {1} t/b now-8 {2} t {\"maxInFlight\":9,\"batch\":{\"size\":2,\"wait\":5}} wake "
         "now+4993",
         "bucket:t: t/c@now-7\ndue: t@now+4993\nholders:t: t/a=n5,now-9 t/b=n5,now-8\njobs: t/a={1} t/b={2} "
         "t/c={3}\nleases: t/a@now+5000 t/b@now+5000\ntopics: "
         "t={\"maxInFlight\":9,\"batch\":{\"size\":2,\"wait\":5}}\n"},
        /* It has waited for 5 s. */
        {"bucket:t: t/a@now-5009 t/b@now-5008 t/c@now-5000\njobs: t/a={1} t/b={2} t/c={3}\ntopics: t=" BATCH
         "\nturns: t@1\n",
         CLAIM,
         "0 0 3 t/a now-5009 {1} t/b now-5008 {2} t/c now-5000 {3} t "
         "{\"maxInFlight\":9,\"batch\":{\"size\":2,\"wait\":5}}",
         "holders:t: t/a=n5,now-5009 t/b=n5,now-5008 t/c=n5,now-5000\njobs: t/a={1} t/b={2} t/c={3}\nleases: "
         "t/a@now+5000 t/b@now+5000 t/c@now+5000\ntopics: "
         "t={\"maxInFlight\":9,\"batch\":{\"size\":2,\"wait\":5}}\n"},
        /* A claim of three jobs has room for one batch. */
        {"bucket:t: t/a@now-9 t/b@now-8 t/c@now-7 t/d@now-6\njobs: t/a={1} t/b={2} t/c={3} t/d={4}\ntopics: "
         "t=" BATCH "\nturns: t@1\n",
         "claim 3 n5 5000 2 1000 0",
         "1 0 2 t/a now-9 {1} t/b now-8 {2} t {\"maxInFlight\":9,\"batch\":{\"size\":2,\"wait\":5}}",
         "bucket:t: t/c@now-7 t/d@now-6\nholders:t: t/a=n5,now-9 t/b=n5,now-8\njobs: t/a={1} t/b={2} t/c={3} "
         "t/d={4}\nleases: t/a@now+5000 t/b@now+5000\nready: t\ntopics: "
         "t={\"maxInFlight\":9,\"batch\":{\"size\":2,\"wait\":5}}\nturns: t@1\n"},
        /* A process with one free slot takes what it can. */
        {"bucket:t: t/a@now-9 t/b@now-8 t/c@now-7\njobs: t/a={1} t/b={2} t/c={3}\ntopics: t=" BATCH
         "\nturns: t@1\n",
         "claim 1 n5 5000 2 1000 0",
         "1 0 1 t/a now-9 {1} t {\"maxInFlight\":9,\"batch\":{\"size\":2,\"wait\":5}}",
         "bucket:t: t/b@now-8 t/c@now-7\nholders:t: t/a=n5,now-9\njobs: t/a={1} t/b={2} t/c={3}\nleases: "
         "t/a@now+5000\nready: t\ntopics: t={\"maxInFlight\":9,\"batch\":{\"size\":2,\"wait\":5}}\nturns: "
         "t@1\n"}, );
}
END_TEST

/* ---- attempts over a longer time, with late wake-ups ---- */

enum { BACKLOG = 150, SECOND_US = 1000000 };

struct rate {
    const char *settings;
    int64_t per_second, burst, seconds;
};

static const struct rate rates[] = {
    {"{\"rate\":{\"jobs\":20,\"per\":1,\"burst\":1},\"maxInFlight\":1000}", 20, 1, 10},
    {"{\"rate\":{\"jobs\":100,\"per\":1,\"burst\":1},\"maxInFlight\":1000}", 100, 1, 5},
    {"{\"rate\":{\"jobs\":600,\"per\":1.2,\"burst\":1},\"maxInFlight\":1000}", 500, 1, 4},
    {"{\"rate\":{\"jobs\":2000,\"per\":1,\"burst\":10},\"maxInFlight\":1000}", 2000, 10, 3},
    {"{\"rate\":{\"jobs\":4999,\"per\":1,\"burst\":1},\"maxInFlight\":1000}", 4999, 1, 3},
};

/* Ends the attempts in flight, and makes BACKLOG jobs due. */
static void fill(redisContext *redis)
{
    static const char script[] =
        "local base, count = KEYS[1], tonumber(ARGV[1]) "
        "redis.call('DEL', base .. 'leases', base .. 'holders:t') "
        "redis.call('HSET', base .. 'numbers', 'waiting', count) "
        "for i = 1, count do redis.call('ZADD', base .. 'bucket:t', 1, 't/' .. i) end";
    redis_do(redis, "EVAL %s 1 " KEYSPACE_PREFIX " %d", script, BACKLOG);
}

/* Returns the time, us, at which the topic may be served again. */
static int64_t next_us(redisContext *redis, int64_t now_us)
{
    redisReply *due = redis_command(redis, "ZSCORE " KEYSPACE_PREFIX "due t");
    int64_t next = due->type == REDIS_REPLY_STRING ? strtoll(due->str, NULL, 10) * 1000 : now_us;
    freeReplyObject(due);
    return next > now_us ? next : now_us;
}

static int64_t claim(redisContext *redis)
{
    redisReply *carried = script_run_text(redis, "carry me 0 256 '' 0 5000 250", NOW_MS);
    freeReplyObject(carried);
    redisReply *claimed = script_run_text(redis, "claim 128 n1 5000 16 1000000 0", NOW_MS);
    int64_t count = claimed->element[3]->integer;
    freeReplyObject(claimed);
    return count;
}

static void keep_rate(const struct rate *rate)
{
    redisContext *redis = examples_redis();
    unsigned chance = 1;
    struct began {
        int64_t at_us, count;
    } *began = NEW_ARRAY(struct began, 100000);
    size_t size = 0, first = 0;
    int64_t total = 0, in_second = 0, now_us = NOW_US, end_us = NOW_US + rate->seconds * SECOND_US;
    redis_do(redis, "FLUSHALL");
    redis_do(redis, "HSET " KEYSPACE_PREFIX "topics t %s", rate->settings);
    for (int i = 1; i <= BACKLOG; i++)
        redis_do(redis, "HSET " KEYSPACE_PREFIX "jobs t/%d {r}", i);
    redis_do(redis, "ZADD " KEYSPACE_PREFIX "due 1 t");
    fill(redis);
    while (now_us < end_us) {
        redis_server_set_time(examples_server(), now_us);
        int64_t count = claim(redis);
        ck_assert_uint_lt(size, 100000);
        began[size++] = (struct began){now_us, count};
        total += count;
        in_second += count;
        while (began[first].at_us <= now_us - SECOND_US)
            in_second -= began[first++].count;
        ck_assert_int_le(in_second, rate->per_second + rate->burst);
        if (count > 0)
            fill(redis);
        chance = chance * 1103515245 + 12345;
        now_us = next_us(redis, now_us) + 300 + (chance >> 16) % 2500 + ((chance >> 8) % 20 == 0 ? 30000 : 0);
    }
    free(began);
    ck_assert_int_ge(total * 100, rate->per_second * rate->seconds * 99);
}

START_TEST(a_rate_makes_up_for_wake_ups_that_are_late)
{
    keep_rate(&rates[_i]);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_rates");
    TCase *tests = examples_case("rates");
    tcase_add_test(tests, claim_keeps_to_the_rate);
    tcase_add_test(tests, an_expired_job_costs_no_token);
    tcase_add_test(tests, what_only_looks_expired_costs_a_token);
    tcase_add_test(tests, release_gives_a_rate_back_the_turns_of_what_it_holds_back);
    tcase_add_test(tests, a_window_has_its_jobs_at_any_time_of_it);
    tcase_add_test(tests, a_job_that_was_not_sent_goes_back_to_its_window);
    tcase_add_test(tests, a_topic_waits_for_its_batch);
    tcase_add_test(tests, a_claim_takes_whole_batches);
    tcase_add_loop_test(tests, a_rate_makes_up_for_wake_ups_that_are_late, 0, sizeof rates / sizeof *rates);
    suite_add_tcase(suite, tests);
    return suite;
}

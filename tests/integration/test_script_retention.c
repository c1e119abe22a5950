/* Tests which ended jobs are kept in topics with a retention, and for how long. */
#include "support/script_examples.h"
#include "support/suite.h"

/* Jobs of t are kept for ten seconds. */
#define KEEPS  "topics: t={\"retention\":10}\n"
#define UNTIL  "kept_until: t/a@now+10000\n"
#define ONE    "attempts: t/a=1|\n"
#define STAYED "topics: t={\"maxInFlight\":5}\n"

/* An earlier, cancelled job with the same id, which is kept. */
#define EARLIER                                                                                              \
    "cancelled:t: t/a@now-3000\nkept: t/a=cancelled,now-3000,0,3,{o}7|\nkept_until: t/a@now+7000\n"

#define DELIVERED(lines) "delivered:t: t/a@now\nkept: t/a=delivered,now,0,3,{r}" lines "\n" UNTIL
#define CANCELLED(lines) "cancelled:t: t/a@now\nkept: t/a=cancelled,now,0,3,{r}" lines "\n" UNTIL

/* A dead job whose time of removal follows from a retention of ten seconds. */
#define DATED(at, until, text)                                                                               \
    "dead: t/a@" at "\ndead:t: t/a@" at "\ndead_due: t@" until "\nkept: t/a=dead," at "," text "\n"

START_TEST(a_delivered_job_is_kept_where_its_topic_says_so)
{
    CHECK_EXAMPLES( //
        {LEASED KEEPS, "complete t/a n1 2", "1", DELIVERED("2|") KEEPS},
        {LEASED KEEPS, "complete t/a n1 ''", "1", DELIVERED("") KEEPS},
        {ONE LEASED KEEPS, "complete t/a n1 2", "1", DELIVERED("1|2|") KEEPS},
        {ONE LEASED KEEPS, "complete t/a n1 ''", "1", DELIVERED("1|") KEEPS},
        {LEASED KEEPS, "complete t/a nx 2", "0", NULL}, {DELAYED KEEPS, "complete t/a n1 2", "0", NULL},
        /* The lease was lost before the outcome came. The entry in kept has the number of lost consumers. */
        {LOST KEEPS, "complete t/a n1 2", "1",
         "delivered:t: t/a@now\nkept: t/a=delivered,now,1,3,{r}2|\n" UNTIL BELL KEEPS},
        {DEAD_BY_LOSSES KEEPS, "complete t/a n1 2", "1", DELIVERED("2|") KEEPS},
        /* Only the last ten attempts are kept. */
        {"attempts: t/a=1|2|3|4|5|6|7|8|9|10|\n" LEASED KEEPS, "complete t/a n1 11", "1",
         DELIVERED("2|3|4|5|6|7|8|9|10|11|") KEEPS},
        /* A job is not kept if its topic has no retention, or no longer has one. */
        {ONE LEASED STAYED, "complete t/a n1 2", "1", STAYED}, {ONE LEASED, "complete t/a n1 2", "1", ABSENT},
        {"holders:u: u/a=n1,now\njobs: u/a={r}\nleases: u/a@now+9\n" KEEPS, "complete u/a n1 2", "1", KEEPS},
        /* When the job ends, it replaces the kept job with the same id. */
        {EARLIER LEASED KEEPS, "complete t/a n1 2", "1", DELIVERED("2|") KEEPS},
        {EARLIER LEASED, "complete t/a n1 2", "1", EARLIER}, );
}
END_TEST

START_TEST(of_many_each_is_kept_as_its_own_topic_says)
{
    CHECK_EXAMPLES( //
        {"holders:t: t/a=n1,now-9 t/b=n1,now-8\nholders:u: u/a=n1,now-7\n"
         "jobs: t/a={r} t/b={s} u/a={3}\nleases: t/a@now+9 t/b@now+9 u/a@now+9\n"
         "topics: t={\"retention\":10} u={\"paused\":true}\n",
         "complete t/a n1 1 t/b n1 2 u/a n1 '' t/a n1 3", "1 1 1 0",
         "delivered:t: t/a@now t/b@now\nkept: t/a=delivered,now,0,3,{r}1| t/b=delivered,now,0,3,{s}2|\n"
         "kept_until: t/a@now+10000 t/b@now+10000\ntopics: t={\"retention\":10} u={\"paused\":true}\n"},
        {"bucket:t: t/a@now+5\ndead: t/b@now-5\ndead:t: t/b@now-5\ndead_due: t@now+1495\ndue: t@now+5\n"
         "jobs: t/a={1}\nkept: t/b=dead,now-5,0,3,{2}\ntopics: t={\"retention\":1.5}\n",
         "cancel t/a '' t/b '' t/a '' t/c ''", "0 0 -1 -1",
         "cancelled:t: t/a@now t/b@now\nkept: t/a=cancelled,now,0,3,{1} t/b=cancelled,now,0,3,{2}\n"
         "kept_until: t/a@now+1500 t/b@now+1500\ntopics: t={\"retention\":1.5}\n"}, );
}
END_TEST

START_TEST(a_cancelled_job_is_kept_from_any_state)
{
    CHECK_EXAMPLES( //
        {ONE DELAYED KEEPS, "cancel t/a ''", "0", CANCELLED("1|") KEEPS},
        {READY KEEPS, "cancel t/a *", "0", CANCELLED("") BELL KEEPS},
        {LEASED KEEPS, "cancel t/a ''", "1", CANCELLED("") LINGERING KEEPS},
        {DEAD KEEPS, "cancel t/a ''", "0", CANCELLED("") KEEPS},
        {LOST_THRICE KEEPS, "cancel t/a ''", "0",
         "cancelled:t: t/a@now\nkept: t/a=cancelled,now,3,3,{r}\n" UNTIL KEEPS},
        {EARLIER DELAYED KEEPS, "cancel t/a ''", "0", CANCELLED("") KEEPS},
        {EARLIER KEEPS, "cancel t/a ''", "-1", NULL}, {DELAYED KEEPS, "cancel t/a no", "-4", NULL},
        {DELAYED STAYED, "cancel t/a ''", "0", STAYED},
        /* The attempt of a cancelled job ends: its outcome is stale, and the kept job stays as it is. */
        {CANCELLED("") KEEPS, "complete t/a n1 2", "0", NULL},
        {CANCELLED("") KEEPS, "retry t/a n1 5 {e} 2", "0", NULL}, );
}
END_TEST

START_TEST(a_new_job_leaves_what_is_kept_of_its_id)
{
    static const char schedule[] = "schedule 0 86400000 t/a 60000 \"x\":1} -";
#define SCHEDULED "bucket:t: t/a@now+60001\ndue: t@now+60001\njobs: t/a={\"createdAt\":now+1,\"x\":1}\n"
    CHECK_EXAMPLES( //
        {DEAD KEEPS, schedule, "now+60001 wake now+60001", DEAD SCHEDULED KEEPS},
        {EARLIER KEEPS, schedule, "now+60001 wake now+60001", SCHEDULED EARLIER KEEPS},
        {EARLIER DELAYED KEEPS, "replace 0 t/a 60000 \"x\":1} ''", "(now+60001 now+1 1)",
         SCHEDULED EARLIER KEEPS}, );
}
END_TEST

START_TEST(the_last_end_of_an_id_takes_the_place_of_an_earlier_one)
{
    CHECK_EXAMPLES( //
        {DEAD LEASED, "bury t/a n1 {d} 1", "1", DIED("now", "0,3,{d}1|")},
        {DEAD LEASED KEEPS, "complete t/a n1 2", "1", DELIVERED("2|") KEEPS},
        {DEAD DELAYED KEEPS, "cancel t/a ''", "0", CANCELLED("") KEEPS},
        {EARLIER LEASED KEEPS, "bury t/a n1 {d} 1", "1", DATED("now", "now+10000", "0,3,{d}1|") KEEPS},
        {EARLIER LEASED, "bury t/a n1 {d} ''", "1", DIED("now", "0,3,{d}")},
        /* If the ended job is not kept, an earlier dead job with its id stays. */
        {DEAD LEASED, "complete t/a n1 ''", "1", DEAD}, {DEAD DELAYED, "cancel t/a ''", "0", DEAD}, );
}
END_TEST

START_TEST(a_dead_job_can_be_run_and_changed)
{
    CHECK_EXAMPLES( //
        {DATED("now-5000", "now+5000", "0,3,{r}1|") KEEPS, "run 0 t/a 0 '' {r} {f}", "now",
         ONE "bucket:t: t/a@now\njobs: t/a={f}\nready: t\n" KEEPS "turns: t@1\n"},
        {DEAD KEEPS, "change t/a * - {n}", "0", DATED("now-5000", "now+5000", "0,3,{n}") KEEPS},
        {LEASED KEEPS, "bury t/a n1 {d} 1", "1", DATED("now", "now+10000", "0,3,{d}1|") KEEPS},
        /* Delivered and cancelled jobs can be neither run nor changed. */
        {EARLIER KEEPS, "run 0 t/a 0 '' '' ''", "-1", NULL},
        {EARLIER KEEPS, "change t/a * - {n}", "-4", NULL}, {EARLIER KEEPS, "cancel t/a *", "-1", NULL}, );
}
END_TEST

/* A job died when its consumer was lost. The outcome of this consumer arrives later, and counts. */
START_TEST(a_job_that_died_with_its_consumer_takes_the_outcome)
{
    CHECK_EXAMPLES( //
        {DEAD_BY_LOSSES, "complete t/a n1 2", "1", ABSENT},
        {DEAD_BY_LOSSES, "retry t/a n1 5000 {e} 2", "1 wake now+5001",
         "attempts: t/a=2|\nbucket:t: t/a@now+5001\ndue: t@now+5001\njobs: t/a={e}\n"},
        {DEAD_BY_LOSSES, "bury t/a n1 {d} 2", "1", DIED("now", "0,3,{d}2|")},
        {DEAD_BY_LOSSES, "complete t/a n1 2 t/a n1 2", "1 0", ABSENT},
        {DIED("now-5000", "5/n1,3,{r}1|"), "bury t/a n1 {d} 2", "1", DIED("now", "0,3,{d}1|2|")},
        /* The outcome does not count if another job has the id, or if the owner has changed the dead job. */
        {DEAD_BY_LOSSES DELAYED, "complete t/a n1 2", "0", NULL},
        {DEAD_BY_LOSSES LEASED_AGAIN, "complete t/a nx 2", "0", NULL},
        {DIED("now-5000", "5,3,{r}"), "complete t/a n1 2", "0", NULL},
        {DEAD, "complete t/a n1 2", "0", NULL}, );
}
END_TEST

START_TEST(a_kept_job_is_read_where_there_is_no_other)
{
    CHECK_EXAMPLES( //
        {EARLIER, "read t/a", "(cancelled now-3000 {o} 0 '' now+7000 7\n)", NULL},
        {EARLIER DELAYED, "read t/a", "(delayed now+60000 {r} 0 '')", NULL},
        {DELIVERED("1|2|3|"), "read t/a t/b t/a",
         "(delivered now {r} 0 '' now+10000 3\n) () (delivered now {r} 0 '' now+10000 3\n)", NULL},
        {DELIVERED(""), "read t/a", "(delivered now {r} 0 '' now+10000 '')", NULL},
        {DELIVERED("") KEEPS, "read t/a", "(delivered now {r} 0 {\"retention\":10} now+10000 '')", NULL},
        {DEAD_BY_LOSSES KEEPS, "read t/a", "(dead now-5000 {r} 5 {\"retention\":10} now+5000 '')", NULL},
        {DEAD_BY_LOSSES, "read t/a", "(dead now-5000 {r} 5 '' 0 '')", NULL},
        /* A kept job without a time of removal is removed soon. */
        {"kept: t/a=cancelled,now-5000,0,3,{r}\n", "read t/a", "(cancelled now-5000 {r} 0 '' now '')", NULL},
        {EARLIER, "attempts t/a", "7\n", NULL}, {EARLIER DELAYED, "attempts t/a", "''", NULL},
        {DELIVERED(""), "attempts t/a", "''", NULL}, {EARLIER, "attempts t/b", "", NULL},
        /* The record and the lines contain blanks, digits and newlines. */
        {"kept: t/a=delivered,now,0,11,5,{|},x,y|z1|2|\n" UNTIL, "read t/a",
         "(delivered now 5,{\n},x,y\nz 0 '' now+10000 2\n)", NULL},
        {"kept: t/a=delivered,now,0,11,5,{|},x,y|z1|2|\n" UNTIL, "attempts t/a", "1\n2\n", NULL}, );
}
END_TEST

/* ---- expiries of jobs that wait ---- */

#define A_JOB(expires) "{\"createdAt\":1,\"head\":\"1;" expires ";0;0;-;19;\",\"url\":\"http://h/\"}"
#define OVER           A_JOB("5")
#define NONCE          "=b6a77ef5639d4492c8655df7aea215"
#define WAITS(job)     "bucket:t: t/a@now+60000\ndue: t@now+60000\njobs: t/a=" job "\n"
#define IN_FLIGHT(job) "holders:t: t/a=n1,now-9\njobs: t/a=" job "\nleases: t/a@now+3000\n"

START_TEST(expire_lists_waiting_jobs_and_corrects_the_index)
{
    CHECK_EXAMPLES( //
        {WAITS(OVER) "expiries: t/a@5\n", "expire 10 now", "1 1 t/a " NONCE " now+60000 now " OVER,
         WAITS(OVER) "expiries: t/a@now+5000\n"},
        {WAITS(OVER) "expiries: t/a@now+1\n", "expire 10 now", "0 0", NULL},
        {WAITS(OVER) "expiries: t/a@5\n", "expire 10 now+1001", "-1", NULL},
        /* An attempt in flight is not ended. */
        {IN_FLIGHT(OVER) "expiries: t/a@5\n", "expire 10 now", "1 0",
         IN_FLIGHT(OVER) "expiries: t/a@now+3000\n"},
        /* The entry is wrong: the job expires later, or never, or does not exist. */
        {WAITS(A_JOB("now+7")) "expiries: t/a@5\n", "expire 10 now", "1 0",
         WAITS(A_JOB("now+7")) "expiries: t/a@now+7\n"},
        {WAITS(A_JOB("0")) "expiries: t/a@5 t/b@6\n", "expire 10 now", "2 0", WAITS(A_JOB("0"))}, );
}
END_TEST

START_TEST(bury_ends_a_waiting_job_only_if_it_has_expired_and_is_unchanged)
{
    CHECK_EXAMPLES( //
        {WAITS(OVER) "expiries: t/a@now+5000\n", "bury t/a " NONCE " {r} ''", "1",
         "dead: t/a@now\ndead:t: t/a@now\ndead_due: t@inf\nkept: t/a=dead,now,0,3,{r}\n"},
        {WAITS(OVER), "bury t/a =00000000000000000000000000000 {r} ''", "0", NULL},
        {IN_FLIGHT(OVER), "bury t/a " NONCE " {r} ''", "0", NULL}, );
}
END_TEST

START_TEST(what_changes_a_job_notes_its_expiry)
{
    CHECK_EXAMPLES( //
        {"", "schedule 0 86400000 t/a 60000 \"head\":\"1;+90000;0;0;-;19;\",\"url\":\"http://h/\"} -",
         "now+60001 wake now+60001",
         "bucket:t: t/a@now+60001\ndue: t@now+60001\nexpiries: t/a@now+90001\njobs: "
         "t/a={\"createdAt\":now+1,\"head\":\"1;now+90001;0;0;-;19;\",\"url\":\"http://h/\"}\n"},
        {IN_FLIGHT(A_JOB("now+7")) "expiries: t/a@now+3000\n", "release t/a n1 -1 now - 0", "1",
         "bucket:t: t/a@now-9\nexpiries: t/a@now+7\njobs: t/a=" A_JOB("now+7") "\nready: t\nturns: t@1\n"},
        {IN_FLIGHT(A_JOB("now+7")) "expiries: t/a@now+7\n", "complete t/a n1 ''", "1", ""}, );
}
END_TEST

#define NEW_JOB(expires) "\"head\":\"1;" expires ";0;0;-;19;\",\"url\":\"http://h/\"}"
#define SENT(expires)    "'' m g 1 e " NEW_JOB(expires)

START_TEST(no_new_job_expires_before_it_is_due)
{
    CHECK_EXAMPLES( //
        {"", "schedule 0 86400000 t/a 0 " NEW_JOB("now") " -", "-10", NULL},
        {"", "schedule 0 86400000 t/a 9 " NEW_JOB("+9") " -", "-10", NULL},
        {"", "schedule 0 86400000 t/a @now+9 " NEW_JOB("now+9") " -", "-10", NULL},
        {"", "schedule 0 86400000 t/a @now+9 " NEW_JOB("+9") " -", "-10", NULL},
        {"", "schedule 0 86400000 t/a 0 " NEW_JOB("now") " 'f,k' t/b 0 " NEW_JOB("5") " -", "-10 -10", NULL},
        {"", "replace 0 t/a @now+9 " NEW_JOB("now+9") " ''", "-10", NULL},
        {DELAYED, "replace 0 t/a 0 " NEW_JOB("now") " ''", "-10", NULL},
        {"", "send 0 9 t/a 0 - m g 1 e " NEW_JOB("now"), "-10", NULL},
        {"", "replace_send 0 t/a 0 " SENT("now"), "-10", NULL},
        /* A job that is there is answered, and its expiry is not noted anew. */
        {DELAYED, "schedule 0 86400000 t/a 0 " NEW_JOB("5") " -", "(delayed now+60000 {r})", NULL},
        {DELAYED, "schedule 0 86400000 t/a 0 " NEW_JOB("+9") " -", "(delayed now+60000 {r})", NULL}, );
}
END_TEST

START_TEST(no_change_lets_a_job_expire_before_it_is_due)
{
    CHECK_EXAMPLES( //
        {WAITS(A_JOB("now+90000")), "change t/a * - " A_JOB("now+60000"), "-10", NULL},
        {WAITS(A_JOB("now+90000")), "change t/a * @now+80000 " A_JOB("now+80000"), "-10", NULL},
        {WAITS(A_JOB("now+90000")), "change t/a * ! " A_JOB("now+60000"), "-10", NULL},
        /* The job waits for a retry that is due after its expiry, and the change does not concern these
           times. */
        {WAITS(A_JOB("now+9")), "change t/a * - " A_JOB("now+9"), "0",
         WAITS(A_JOB("now+9")) "expiries: t/a@now+9\n"},
        {WAITS(A_JOB("now+9")), "change t/a * - " A_JOB("now+60001"), "0",
         WAITS(A_JOB("now+60001")) "expiries: t/a@now+60001\n"}, );
}
END_TEST

START_TEST(no_expired_job_is_run)
{
    static const char dead[] =
        "dead: t/a@now-9\ndead:t: t/a@now-9\ndead_due: t@inf\nkept: t/a=dead,now-9,0,3,{d}\n";
    CHECK_EXAMPLES( //
        {dead, "run 0 t/a 0 '' {d} " A_JOB("now"), "-10", NULL},
        {dead, "run 0 t/a @now+9 '' {d} " A_JOB("now+9"), "-10", NULL},
        {WAITS(OVER) "expiries: t/a@5\n", "run 0 t/a 0 '' '' ''", "-10", NULL}, );
}
END_TEST

#define SWEEP "sweep 10 0 0"
#define RESTS "meta: clock=now-5 rest=now+300000\n" /* nothing is removed by age, see lib/clock_steps.lua */

START_TEST(sweep_removes_what_was_kept_for_long_enough)
{
    CHECK_EXAMPLES( //
        {"attempts: t/a=1|\nkept: t/a=delivered,now-9,0,3,{o}7|\nkept_until: t/a@now-1\n" DELAYED RESTS,
         SWEEP, "0 0 0 0 -1", NULL},
        {ABSENT, SWEEP, "0 0 0 0 -1", NULL}, {EARLIER KEEPS, SWEEP, "0 0 0 0 -1", NULL},
        {"cancelled:t: t/b@now-9\ndelivered:t: t/a@now-9\ndelivered:u: u/c@now-9\n"
         "kept: t/a=delivered,now-9,0,3,{r} t/b=cancelled,now-9,0,3,{r} u/c=delivered,now-9,0,3,{r}\n"
         "kept_until: t/a@now-1 t/b@now u/c@now+1\n",
         SWEEP, "2 0 0 0 -1",
         "delivered:u: u/c@now-9\nkept: u/c=delivered,now-9,0,3,{r}\nkept_until: u/c@now+1\n"},
        {"delivered:t: t/a@now-9 t/b@now-9\nkept: t/a=delivered,now-9,0,3,{r} t/b=delivered,now-9,0,3,{r}\n"
         "kept_until: t/a@now-2 t/b@now-1\n",
         "sweep 1 0 0", "1 0 0 0 1",
         "delivered:t: t/b@now-9\nkept: t/b=delivered,now-9,0,3,{r}\nkept_until: t/b@now-1\n"},
        /* A new job with the same id stays, with its attempts. */
        {"attempts: t/a=1|\nkept: t/a=delivered,now-9,0,3,{o}7|\nkept_until: t/a@now-1\n" DELAYED, SWEEP,
         "1 0 0 0 -1", ONE DELAYED}, );
}
END_TEST

#define THREE_DEAD(due)                                                                                      \
    "dead: t/a@now-10001 t/c@now-10000 t/d@now-9999\ndead:t: t/a@now-10001 t/c@now-10000 t/d@now-9999\n"     \
    "dead_due: t@" due "\nkept: t/a=dead,now-10001,0,3,{1} t/c=dead,now-10000,0,3,{3} "                      \
    "t/d=dead,now-9999,0,3,{4}\n"
#define LAST_DEAD(due)                                                                                       \
    "dead: t/d@now-9999\ndead:t: t/d@now-9999\ndead_due: t@" due "\nkept: t/d=dead,now-9999,0,3,{4}\n"
#define TWO_DEAD(due)                                                                                        \
    "dead: t/c@now-10000 t/d@now-9999\ndead:t: t/c@now-10000 t/d@now-9999\ndead_due: t@" due                 \
    "\nkept: t/c=dead,now-10000,0,3,{3} t/d=dead,now-9999,0,3,{4}\n"

START_TEST(sweep_removes_the_dead_by_the_retention_of_their_topic)
{
    CHECK_EXAMPLES( //
        {THREE_DEAD("now-1") KEEPS, SWEEP, "0 2 0 0 -1", LAST_DEAD("now+1") KEEPS},
        {THREE_DEAD("now-1") KEEPS, "sweep 1 0 0", "0 1 0 0 0", TWO_DEAD("now") KEEPS},
        {THREE_DEAD("now-1") KEEPS RESTS, SWEEP, "0 0 0 0 -1", NULL},
        {THREE_DEAD("inf"), SWEEP, "0 0 0 0 -1", NULL},
        {THREE_DEAD("now+5") KEEPS, SWEEP, "0 0 0 0 -1", NULL},
        /* The topic no longer has a retention. */
        {THREE_DEAD("now-1"), SWEEP, "0 0 0 0 -1", THREE_DEAD("inf")},
        /* In the first example, the last dead job of a topic is removed. In the second one, a topic in
         * "dead_due" has no dead jobs. */
        {LAST_DEAD("now-1") "topics: t={\"retention\":5}\n", SWEEP, "0 1 0 0 -1",
         "topics: t={\"retention\":5}\n"},
        {"dead_due: t@now-1\n" KEEPS, SWEEP, "0 0 0 0 -1", KEEPS}, );
}
END_TEST

/* Dead jobs of three topics: t also has a younger dead job, u has a job that has not ended, and v has
 * settings. */
#define DEAD_OF_THREE                                                                                        \
    "dead: t/a@now-9 u/b@now-8 v/c@now-7 t/d@now-6\ndead:t: t/a@now-9 t/d@now-6\ndead:u: u/b@now-8\n"        \
    "dead:v: v/c@now-7\ndead_due: t@inf u@inf v@inf\n"                                                       \
    "kept: t/a=dead,now-9,0,3,{1} t/d=dead,now-6,0,3,{4} u/b=dead,now-8,0,3,{2} v/c=dead,now-7,0,3,{3}\n"
#define OF_OTHERS "topics: v={\"maxInFlight\":5}\nbucket:u: u/a@now+60000\ndue: u@now+60000\njobs: u/a={r}\n"
#define NAMED     "names: t@0 u@0 v@0 w@0\n"

START_TEST(sweep_removes_dead_jobs_of_many_topics_at_once)
{
    CHECK_EXAMPLES( //
        {DEAD_OF_THREE OF_OTHERS NAMED RESTS, "sweep 10 7 0", "0 0 0 0 -1", NULL},
        {DEAD_OF_THREE OF_OTHERS NAMED, "sweep 10 7 0", "0 0 3 0 -1",
         "dead: t/d@now-6\ndead:t: t/d@now-6\ndead_due: t@inf\nkept: t/d=dead,now-6,0,3,{4}\n" OF_OTHERS
             NAMED},
        {DEAD_OF_THREE OF_OTHERS NAMED, "sweep 10 5 0", "0 0 4 0 -1", OF_OTHERS "names: u@0 v@0 w@0\n"},
        {DEAD_OF_THREE NAMED, "sweep 10 5 0", "0 0 4 0 -1", "names: w@0\n"},
        {DEAD_OF_THREE NAMED "topics: x={\"maxInFlight\":5}\n", "sweep 10 5 0", "0 0 4 0 -1",
         "names: w@0\ntopics: x={\"maxInFlight\":5}\n"},
        {DEAD_OF_THREE NAMED "topics: v={\"maxInFlight\":5}\n", "sweep 10 5 0", "0 0 4 0 -1",
         "names: v@0 w@0\ntopics: v={\"maxInFlight\":5}\n"},
        {DEAD_OF_THREE NAMED, "sweep 2 5 0", "0 0 2 0 2",
         "dead: v/c@now-7 t/d@now-6\ndead:t: t/d@now-6\ndead:v: v/c@now-7\ndead_due: t@inf v@inf\n"
         "kept: t/d=dead,now-6,0,3,{4} v/c=dead,now-7,0,3,{3}\nnames: t@0 v@0 w@0\n"},
        {DEAD_OF_THREE NAMED "patterns: *={\"retention\":0.007}\n", "sweep 10 0 0", "0 0 0 0 -1", NULL}, );
}
END_TEST

START_TEST(another_retention_dates_the_dead_anew)
{
    CHECK_EXAMPLES( //
        {THREE_DEAD("inf"), "settings t '' {\"retention\":10}", "1", THREE_DEAD("now-1") KEEPS},
        {THREE_DEAD("now-1") KEEPS, "settings t {\"retention\":10} ''", "1", THREE_DEAD("inf")},
        {THREE_DEAD("inf"), "settings u '' {\"retention\":10}", "1",
         THREE_DEAD("inf") "topics: u={\"retention\":10}\n"}, );
}
END_TEST

START_TEST(sweep_removes_the_dead_beyond_the_bounds)
{
    CHECK_EXAMPLES( //
        {THREE_DEAD("inf"), "sweep 10 10000 0", "0 0 2 0 -1", LAST_DEAD("inf")},
        {THREE_DEAD("inf"), "sweep 10 10001 0", "0 0 1 0 -1", TWO_DEAD("inf")},
        {THREE_DEAD("inf"), "sweep 10 10002 0", "0 0 0 0 -1", NULL},
        {THREE_DEAD("inf"), "sweep 1 9999 0", "0 0 1 0 1", TWO_DEAD("inf")},
        {THREE_DEAD("inf"), "sweep 10 0 3", "0 0 0 0 -1", NULL},
        {THREE_DEAD("inf"), "sweep 10 0 2", "0 0 0 1 -1", TWO_DEAD("inf")},
        {THREE_DEAD("inf"), "sweep 10 0 1", "0 0 0 2 -1", LAST_DEAD("inf")},
        {THREE_DEAD("inf"), "sweep 1 0 1", "0 0 0 1 9999", TWO_DEAD("inf")},
        /* The retention of a topic can shorten the server's limit, and not extend it. */
        {THREE_DEAD("now+90000") "topics: t={\"retention\":100}\n", "sweep 10 10000 0", "0 0 2 0 -1",
         LAST_DEAD("now+90001") "topics: t={\"retention\":100}\n"},
        {THREE_DEAD("now-1") KEEPS, "sweep 10 20000 2", "0 2 0 0 -1", LAST_DEAD("now+1") KEEPS}, );
}
END_TEST

#define ALL_KEEP "patterns: *={\"retention\":10}\n"
#define ALL_TELL "patterns: *={\"onDead\":\"http://h/\"}\n"

START_TEST(settings_of_all_topics_count_where_a_topic_has_none)
{
    CHECK_EXAMPLES( //
        {LEASED ALL_KEEP, "complete t/a n1 2", "1", DELIVERED("2|") ALL_KEEP},
        {LEASED ALL_KEEP "topics: t={\"maxInFlight\":5}\n", "complete t/a n1 2", "1",
         DELIVERED("2|") ALL_KEEP "topics: t={\"maxInFlight\":5}\n"},
        {DELAYED ALL_KEEP "topics: t={\"retention\":5}\n", "cancel t/a ''", "0",
         "cancelled:t: t/a@now\nkept: t/a=cancelled,now,0,3,{r}\nkept_until: t/a@now+5000\n" ALL_KEEP
         "topics: t={\"retention\":5}\n"},
        {LEASED ALL_KEEP, "bury t/a n1 {d} ''", "1", DATED("now", "now+10000", "0,3,{d}") ALL_KEEP},
        /* A claim returns the setting retention, so the consumer knows that delivered jobs are kept. */
        {READY ALL_KEEP, "claim 10 n5 5000 2 1000 0", "0 0 1 t/a now-1000 {r} t {\"retention\":10}",
         "holders:t: t/a=n5,now-1000\njobs: t/a={r}\nleases: t/a@now+5000\n" BELL ALL_KEEP},
        /* A claim returns the setting onDead, so the consumer knows where a death is reported. */
        {READY ALL_TELL, "claim 10 n5 5000 2 1000 0", "0 0 1 t/a now-1000 {r} t {\"onDead\":\"http://h/\"}",
         "holders:t: t/a=n5,now-1000\njobs: t/a={r}\nleases: t/a@now+5000\n" BELL ALL_TELL}, );
}
END_TEST

START_TEST(another_retention_of_a_pattern_dates_the_dead_in_steps)
{
    CHECK_EXAMPLES( //
        {THREE_DEAD("inf") "meta: redate=0\n" ALL_KEEP, SWEEP, "0 0 0 0 1", THREE_DEAD("now-1") ALL_KEEP},
        {THREE_DEAD("now-1") ALL_KEEP, SWEEP, "0 2 0 0 -1", LAST_DEAD("now+1") ALL_KEEP},
        {THREE_DEAD("now-1") "meta: redate=0\n", SWEEP, "0 0 0 0 -1", THREE_DEAD("inf")}, );
}
END_TEST

START_TEST(audit_counts_what_is_kept)
{
    CHECK_EXAMPLES( //
        {EARLIER, "audit 9", "0 0 0 0 0 0 0 1 1 -1 0 0 0 0", NULL},
        {DEAD KEEPS, "audit 9", "0 0 0 1 0 0 0 1 0 -1 0 0 0 0", NULL},
        {EARLIER DELAYED KEEPS, "audit 9", "1 1 0 0 1 0 0 1 1 -1 0 0 0 0", NULL}, );
}
END_TEST

START_TEST(mend_repairs_what_is_kept)
{
    CHECK_EXAMPLES( //
        {EARLIER, "mend kept 0", "0", NULL}, {EARLIER, "mend kept_until 0", "0", NULL},
        {"kept: t/a=delivered,now-9,0,3,{r}\n", "mend kept 0", "0 kept t/a",
         "delivered:t: t/a@now-9\nkept: t/a=delivered,now-9,0,3,{r}\nkept_until: t/a@now\n"},
        {UNTIL, "mend kept_until 0", "0 kept t/a", ABSENT},
        {"cancelled:t: t/a@now-9\n" UNTIL DELAYED, "mend kept_until 0", "0 kept t/a", DELAYED}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_retention");
    TCase *group = examples_case("script_retention");
    tcase_add_test(group, expire_lists_waiting_jobs_and_corrects_the_index);
    tcase_add_test(group, bury_ends_a_waiting_job_only_if_it_has_expired_and_is_unchanged);
    tcase_add_test(group, what_changes_a_job_notes_its_expiry);
    tcase_add_test(group, no_new_job_expires_before_it_is_due);
    tcase_add_test(group, no_change_lets_a_job_expire_before_it_is_due);
    tcase_add_test(group, no_expired_job_is_run);
    tcase_add_test(group, a_delivered_job_is_kept_where_its_topic_says_so);
    tcase_add_test(group, of_many_each_is_kept_as_its_own_topic_says);
    tcase_add_test(group, a_cancelled_job_is_kept_from_any_state);
    tcase_add_test(group, a_new_job_leaves_what_is_kept_of_its_id);
    tcase_add_test(group, the_last_end_of_an_id_takes_the_place_of_an_earlier_one);
    tcase_add_test(group, a_dead_job_can_be_run_and_changed);
    tcase_add_test(group, a_job_that_died_with_its_consumer_takes_the_outcome);
    tcase_add_test(group, a_kept_job_is_read_where_there_is_no_other);
    tcase_add_test(group, sweep_removes_what_was_kept_for_long_enough);
    tcase_add_test(group, sweep_removes_the_dead_by_the_retention_of_their_topic);
    tcase_add_test(group, another_retention_dates_the_dead_anew);
    tcase_add_test(group, sweep_removes_dead_jobs_of_many_topics_at_once);
    tcase_add_test(group, sweep_removes_the_dead_beyond_the_bounds);
    tcase_add_test(group, settings_of_all_topics_count_where_a_topic_has_none);
    tcase_add_test(group, another_retention_of_a_pattern_dates_the_dead_in_steps);
    tcase_add_test(group, audit_counts_what_is_kept);
    tcase_add_test(group, mend_repairs_what_is_kept);
    suite_add_tcase(suite, group);
    return suite;
}

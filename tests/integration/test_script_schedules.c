/* Tests the scripts define, undefine, fires, fire and recurring on each state of the schedule t/s with the
 * tag T. */
#include "support/script_examples.h"
#include "support/suite.h"

#define D_TAG "3c363836cf4e16666669a25da280a1865c2d2874" /* SHA-1 of the definition "d" */

#define NAMED         "schedule_names: t/s@0\nschedules: t/s=d\n"
#define FIRED(entry)  "fired: t/s=" entry "\n"
#define NEVER(tag)    FIRED(tag ",-,0,0,0,")
#define AT(time)      "fires: t/s@" time "\n"
#define COMING        NAMED NEVER("T") AT("now+9000")
#define DUE           NAMED NEVER("T") AT("now-10")
#define PAUSED        NAMED NEVER("T")
#define FIRE(rest)    "fire 0 9 t/s T now-10 now+60 " rest
#define JOB           "fire now-10 0 0 = t/s~1 @now-10 \"url\":\"u\"} - 0"
#define MADE          "bucket:t: t/s~1@now\njobs: t/s~1={\"createdAt\":now,\"url\":\"u\"}\nready: t\nturns: t@1\n"
#define LAST(outcome) FIRED("T," outcome ",0,now-10,now,t/s~1")

START_TEST(a_definition_is_written_if_it_is_as_the_caller_read_it)
{
    CHECK_EXAMPLES( //
        {ABSENT, "define t/s - d now+9 0 0", "1 wake fire now+9", NAMED NEVER(D_TAG) AT("now+9")},
        {ABSENT, "define t/s - d - 0 0", "1", NAMED NEVER(D_TAG)},
        {ABSENT, "define t/s T d now+9 0 0", "0", NULL}, {COMING, "define t/s - d now+9 0 0", "0", NULL},
        {COMING, "define t/s U d now+9 0 0", "0", NULL},
        {COMING, "define t/s T d now+9 0 0", "1 wake fire now+9", NAMED NEVER(D_TAG) AT("now+9")},
        {COMING, "define t/s T d now+9999 0 0", "1", NAMED NEVER(D_TAG) AT("now+9999")},
        {COMING, "define t/s T d - 0 0", "1", NAMED NEVER(D_TAG)},
        {COMING, "define t/s T d = 0 0", "1", NAMED NEVER(D_TAG) AT("now+9000")},
        {PAUSED, "define t/s T d = 0 0", "1", NAMED NEVER(D_TAG)},
        {PAUSED, "define t/s T d now+9 0 0", "1 wake fire now+9", NAMED NEVER(D_TAG) AT("now+9")},
        /* The last outcome in fired stays, unless it is a held occurrence, because this occurrence belongs to
         * the old definition. */
        {NAMED FIRED("T,fire,0,5,6,t/x") AT("now+9"), "define t/s T d now+99 0 0", "1",
         NAMED FIRED(D_TAG ",fire,0,5,6,t/x") AT("now+99")},
        {NAMED FIRED("T,hold,0,5,6,t/x") AT("now+9"), "define t/s T d now+99 0 0", "1",
         NAMED FIRED(D_TAG ",-,0,5,6,t/x") AT("now+99")},
        {NAMED FIRED("T,hold,0,5,6,t/x") AT("now+9"), "define t/s T d = 0 0", "1",
         NAMED FIRED(D_TAG ",hold,0,5,6,t/x") AT("now+9")},
        /* Each item is checked after the writes of the previous item. */
        {ABSENT, "define t/s - d now+9 0 0 t/s - e now+9 0 0", "1 0 wake fire now+9",
         NAMED NEVER(D_TAG) AT("now+9")}, );
}
END_TEST

START_TEST(a_deleted_schedule_leaves_nothing)
{
    CHECK_EXAMPLES( //
        {ABSENT, "undefine t/s *", "-1", NULL}, {COMING, "undefine t/s *", "1", ABSENT},
        {COMING, "undefine t/s T", "1", ABSENT}, {COMING, "undefine t/s U", "-4", NULL},
        {PAUSED, "undefine t/s T t/s T", "1 -1", ABSENT}, );
}
END_TEST

START_TEST(an_occurrence_is_made_once)
{
    CHECK_EXAMPLES( //
        {DUE, FIRE(JOB), "now", MADE NAMED LAST("fire") AT("now+60")},
        {DUE, "fire 0 9 t/s T now-10 - " JOB, "now", MADE NAMED LAST("fire")},
        {DUE, FIRE(JOB) " t/s T now-10 now+60 " JOB, "now 0", MADE NAMED LAST("fire") AT("now+60")},
        /* Nothing fires: the definition has another tag, or the time is not the expected one, or has not come
         * yet. */
        {DUE, "fire 0 9 t/s U now-10 now+60 " JOB, "0", NULL},
        {DUE, "fire 0 9 t/s T now-11 now+60 " JOB, "0", NULL},
        {COMING, "fire 0 9 t/s T now+9000 now+9060 " JOB, "0", NULL}, {PAUSED, FIRE(JOB), "0", NULL},
        {ABSENT, FIRE(JOB), "0", NULL}, {AT("now-10"), FIRE(JOB), "0", ABSENT},
        /* The job is due later than the schedule's time, because of the jitter. */
        {DUE, FIRE("fire now-10 0 0 = t/s~1 @now+50 \"url\":\"u\"} - 0"), "now+50 wake now+50",
         "bucket:t: t/s~1@now+50\ndue: t@now+50\njobs: t/s~1={\"createdAt\":now,\"url\":\"u\"}\n" NAMED LAST(
             "fire") AT("now+60")},
        /* Several missed times of one schedule are fired in one call. */
        {DUE,
         "fire 0 9 t/s T now-10 now-5 fire now-10 1 0 = t/s~1 @now-10 \"url\":\"u\"} - 0 "
         "t/s T now-5 now+60 fire now-5 1 0 = t/s~2 @now-5 \"url\":\"u\"} - 0",
         "now now",
         "bucket:t: t/s~1@now t/s~2@now.0005\n"
         "jobs: t/s~1={\"createdAt\":now,\"url\":\"u\"} t/s~2={\"createdAt\":now,\"url\":\"u\"}\nready: t\n"
         "turns: t@1\n" NAMED FIRED("T,fire,1,now-5,now,t/s~2") AT("now+60")},
        /* The job belongs to a sibling topic. */
        {DUE, FIRE("fire now-10 0 0 = t~x/m @now-10 \"url\":\"u\"} - 0"), "now",
         "bucket:t~x: t~x/m@now\njobs: t~x/m={\"createdAt\":now,\"url\":\"u\"}\nready: t~x\n"
         "turns: t~x@1\n" NAMED FIRED("T,fire,0,now-10,now,t~x/m") AT("now+60")}, );
}
END_TEST

START_TEST(a_time_may_pass_without_a_job)
{
#define OTHER "bucket:t: t/s~1@now-9\njobs: t/s~1={r}\nready: t\nturns: t@1\n"
#define ONCE  NAMED FIRED("T,fire,0,now-99,now-99,t/s~1") AT("now-10")
    CHECK_EXAMPLES( //
        {DUE, FIRE("skip now-10 1 0 = '' 0 '' - 0"), "1", NAMED FIRED("T,skip,1,now-10,now,") AT("now+60")},
        {DUE, FIRE("hold now-10 0 0 = '' 0 '' - 0"), "1", NAMED FIRED("T,hold,0,now-10,now,") AT("now+60")},
        {OTHER DUE, FIRE(JOB), "-6", OTHER NAMED FIRED("T,conflict,0,now-10,now,") AT("now+60")},
        {DUE, FIRE("fire now-10 0 0 = t/s~1 @now-10 \"url\":\"\"} - 0"), "-5",
         NAMED FIRED("T,noUrl,0,now-10,now,") AT("now+60")},
        /* A taken id is reported, even if the job also lacks a url. */
        {OTHER DUE, FIRE("fire now-10 0 0 = t/s~1 @now-10 \"url\":\"\"} - 0"), "-6",
         OTHER NAMED FIRED("T,conflict,0,now-10,now,") AT("now+60")},
        {OTHER DUE, "fire 1 9 t/s T now-10 now+60 " JOB, "-6",
         OTHER NAMED FIRED("T,conflict,0,now-10,now,") AT("now+60")},
        {OTHER ONCE, FIRE("fire now-10 0 1 = t/s~2 @now-10 \"url\":\"u\"} - 0"), "-20",
         OTHER NAMED FIRED("T,overlap,0,now-10,now,t/s~1") AT("now+60")},
        {ONCE, FIRE("fire now-10 0 1 = t/s~2 @now-10 \"url\":\"u\"} - 0"), "now",
         "bucket:t: t/s~2@now\njobs: t/s~2={\"createdAt\":now,\"url\":\"u\"}\nready: t\nturns: t@1\n" NAMED
             FIRED("T,fire,0,now-10,now,t/s~2") AT("now+60")}, );
}
END_TEST

START_TEST(a_full_pool_delays_an_occurrence)
{
#define FULL "bucket:u: u/a@now+9\ndue: u@now+9\njobs: u/a={r}\n"
    CHECK_EXAMPLES( //
        {FULL DUE, "fire 1 9 t/s T now-10 now+60 " JOB, "-7",
         FULL NAMED FIRED("T,full,0,now-10,now,") AT("now-10")},
        {FULL NAMED FIRED("T,full,0,now-10,now,") AT("now-10"), "fire 2 9 t/s T now-10 now+60 " JOB, "now",
         "bucket:t: t/s~1@now\nbucket:u: u/a@now+9\ndue: u@now+9\njobs: "
         "t/s~1={\"createdAt\":now,\"url\":\"u\"} "
         "u/a={r}\nready: t\nturns: t@1\n" NAMED LAST("fire") AT("now+60")}, );
}
END_TEST

START_TEST(a_client_may_ask_for_an_occurrence)
{
#define RUN "fire now-10 0 0 = t/s~1 0 \"url\":\"u\"} - 0"
    CHECK_EXAMPLES( //
        {COMING, "fire 0 9 t/s T - - " RUN, "now", MADE COMING},
        {PAUSED, "fire 0 9 t/s T - - " RUN, "now", MADE PAUSED},
        {COMING, "fire 0 9 t/s U - - " RUN, "0", NULL}, {ABSENT, "fire 0 9 t/s T - - " RUN, "0", NULL},
        {OTHER COMING, "fire 0 9 t/s T - - " RUN, "-6", NULL},
        {FULL COMING, "fire 1 9 t/s T - - " RUN, "-7", NULL}, );
}
END_TEST

START_TEST(a_run_is_repeated_under_its_key)
{
#define KEPT      "idempotency: k=f,now,now+9,t/s~1\nwindows: k@now+9\n"
#define ASK(once) "fire 0 9 t/s T - - fire now-10 0 0 = t/s~1 0 \"url\":\"u\"} '" once "' 0"
    CHECK_EXAMPLES( //
        {COMING, ASK("f,k"), "now", MADE COMING KEPT},
        {COMING KEPT, ASK("f,k"), "(repeated now t/s~1)", NULL}, {COMING KEPT, ASK("g,k"), "-8", NULL},
        /* the first answer is returned even if the definition has changed or was deleted */
        {NAMED NEVER("U") KEPT, ASK("f,k"), "(repeated now t/s~1)", NULL},
        {KEPT, ASK("f,k"), "(repeated now t/s~1)", NULL},
        /* No answer is stored under the key if no job was created. */
        {COMING, "fire 0 9 t/s U - - fire now-10 0 0 = t/s~1 0 \"url\":\"u\"} 'f,k' 0", "0", NULL},
        {OTHER COMING, ASK("f,k"), "-6", NULL},
        /* the call can only find an earlier answer; it creates no job */
        {COMING KEPT, "fire 0 9 t/s T - - unsendable now-10 0 0 = t/s~2 0 '' 'f,k' 0", "(repeated now t/s~1)",
         NULL},
        {COMING, "fire 0 9 t/s T - - unsendable now-10 0 0 = t/s~2 0 '' 'f,k' 0", "0", NULL}, );
}
END_TEST

START_TEST(an_occurrence_goes_to_a_group)
{
#define PAIR "fire now-10 0 0 = t/s~1 @now-10 '' - 2 m g a \"x\"} b \"y\"}"
#define PAIR_LEFT                                                                                            \
    "bucket:t: t/s~0~a@now+9\ndue: t@now+9\njobs: t/s~0~a={r}\nsends: t/s~0=m,g,a,b\nsends_until: "          \
    "t/s~0@now+9\n"
#define PAIR_MADE                                                                                            \
    "bucket:t: t/s~1~a@now t/s~1~b@now.0005\n"                                                               \
    "jobs: t/s~1~a={\"createdAt\":now,\"x\"} t/s~1~b={\"createdAt\":now,\"y\"}\nready: t\n"                  \
    "sends: t/s~1=m,g,a,b,@now\nsends_until: t/s~1@now+60000\nturns: t@1\n"
    CHECK_EXAMPLES( //
        {DUE, FIRE(PAIR), "now", PAIR_MADE NAMED LAST("fire") AT("now+60")},
        {DUE, FIRE(PAIR) " t/s T now-10 now+60 " PAIR, "now 0", PAIR_MADE NAMED LAST("fire") AT("now+60")},
        {COMING, "fire 0 9 t/s T - - " PAIR, "now", PAIR_MADE COMING},
        /* no job is created, because one id is taken, or because the limit of jobs is reached */
        {"bucket:t: t/s~1~b@now+9\ndue: t@now+9\njobs: t/s~1~b={r}\n" DUE, FIRE(PAIR), "-6",
         "bucket:t: t/s~1~b@now+9\ndue: t@now+9\njobs: t/s~1~b={r}\n" NAMED FIRED("T,conflict,0,now-10,now,")
             AT("now+60")},
        {DUE, "fire 1 9 t/s T now-10 now+60 " PAIR, "-7", NAMED FIRED("T,full,0,now-10,now,") AT("now-10")},
        /* overlap: a job of the last occurrence has not ended yet */
        {PAIR_LEFT NAMED FIRED("T,fire,0,now-99,now-99,t/s~0") AT("now-10"),
         FIRE("fire now-10 0 1 = t/s~1 @now-10 '' - 2 m g a \"x\"} b \"y\"}"), "-20",
         PAIR_LEFT NAMED FIRED("T,overlap,0,now-10,now,t/s~0") AT("now+60")},
        /* the group does not exist, or does not fit the job */
        {DUE, FIRE("noGroup now-10 0 0 = '' 0 '' - 0"), "1",
         NAMED FIRED("T,noGroup,0,now-10,now,") AT("now+60")},
        {DUE, FIRE("unsendable now-10 0 0 = '' 0 '' - 0"), "1",
         NAMED FIRED("T,unsendable,0,now-10,now,") AT("now+60")},
        {DUE, FIRE("other now-10 0 0 '' 0 '' - 0"), "ERR", NULL},
        {DUE, FIRE("fire now-10 0 0 = t/s~1 0 '' - 2 m g a x"), "ERR", NULL},
        {DUE, FIRE("fire now-10 0 0 = t/s~1 0 '' - 1 m g a/b x"), "ERR", NULL},
        {DUE, FIRE("fire now-10 0 0 = t/s~1 0 '' - 1 m '' a x"), "ERR", NULL}, );
}
END_TEST

START_TEST(skipped_times_are_kept_until_the_clock_steps_back)
{
#define SKIPPED(text) "skipped: t/s=" text "\n"
#define UNTIL(time)   "skipped_until: t/s@" time "\n"
#define AHEAD         COMING SKIPPED("now+40,now+60,now+20,now+40") UNTIL("now+40")
#define SKIP(text)    "fire 0 9 t/s T now-10 now+60 fire now-10 1 0 '" text "' t/s~1 @now-10 \"url\":\"u\"} - 0"
#define MISSED        MADE NAMED FIRED("T,fire,1,now-10,now,t/s~1") AT("now+60")
#define MOVE(rest)    "fire 0 9 t/s T " rest " t/s~1 0 '' - 0"
    CHECK_EXAMPLES( //
        {DUE, SKIP("5,9,3,5"), "now", MISSED SKIPPED("5,9,3,5") UNTIL("5")},
        {DUE SKIPPED("5,9,3,5") UNTIL("5"), SKIP("0,9,3,5"), "now", MISSED SKIPPED("0,9,3,5")},
        {DUE SKIPPED("5,9,3,5") UNTIL("5"), SKIP("="), "now", MISSED SKIPPED("5,9,3,5") UNTIL("5")},
        {DUE SKIPPED("5,9,3,5") UNTIL("5"), SKIP("-"), "now", MISSED}, {DUE, SKIP("x"), "ERR", NULL},
        /* The skipped times stay as they are if the schedule does not move on, or if its time is not the
         * expected one. */
        {FULL DUE, "fire 1 9 t/s T now-10 now+60 fire now-10 0 0 '5,9,3,5' t/s~1 0 '\"url\":\"u\"}' - 0",
         "-7", FULL NAMED FIRED("T,full,0,now-10,now,") AT("now-10")},
        {COMING, SKIP("5,9,3,5"), "0", NULL},
        /* A schedule moves to an earlier time, even if it had ended. */
        {AHEAD, MOVE("now+9000 now+30 move 0 0 0 '7,8,5,6'"), "1",
         NAMED NEVER("T") AT("now+30") SKIPPED("7,8,5,6") UNTIL("7")},
        {PAUSED SKIPPED("9,9,9,9") UNTIL("now+40"), MOVE("- now+30 move 0 0 0 -"), "1",
         NAMED NEVER("T") AT("now+30")},
        {AHEAD, MOVE("now+9000 - move 0 0 0 ="), "1",
         NAMED NEVER("T") SKIPPED("now+40,now+60,now+20,now+40") UNTIL("now+40")},
        {AHEAD, MOVE("now+9001 now+30 move 0 0 0 -"), "0", NULL},
        {AHEAD, MOVE("- now+30 move 0 0 0 -"), "0", NULL},
        {PAUSED, MOVE("now+30 now+20 move 0 0 0 -"), "0", NULL},
        {AHEAD, "fire 0 9 t/s U now+9000 now+30 move 0 0 0 - '' 0 '' - 0", "0", NULL},
        {SKIPPED("5,9,3,5") UNTIL("5"), MOVE("- now+30 move 0 0 0 -"), "0", ABSENT},
        /* A new definition has other times, so the skipped times are removed, unless the next time stays
         * ("="). */
        {AHEAD, "define t/s T d now+9 0 0", "1 wake fire now+9", NAMED NEVER(D_TAG) AT("now+9")},
        {AHEAD, "define t/s T d = 0 0", "1",
         NAMED NEVER(D_TAG) AT("now+9000") SKIPPED("now+40,now+60,now+20,now+40") UNTIL("now+40")},
        {AHEAD, "undefine t/s T", "1", ABSENT},
        /* The script fires lists schedules with skipped times after those whose time has come. carry reports
         * that there is work left. */
        {AHEAD, "fires 9", "1 now+9000 t/s now+9000 d T - 0 0 0  now+40 now+60 now+20 now+40", NULL},
        {AHEAD, "fires 0", "1 now+9000", NULL},
        {PAUSED SKIPPED("9,9,9,9") UNTIL("now+40"), "fires 9", "1 -1 t/s -1 d T - 0 0 0  9 9 9 9", NULL},
        {COMING SKIPPED("9,9,9,9") UNTIL("now"), "fires 9", "0 now+9000", NULL},
        {AHEAD, "carry me 2 9 '' 0 5000 500", "me 1 -1 -1 0 '' now", AHEAD "carry: at=now beat=1 owner=me\n"},
        {AHEAD, "carry me 0 9 '' 0 5000 500", "me 1 -1 -1 0 '' now+9000",
         AHEAD "carry: at=now beat=1 owner=me\n"}, );
}
END_TEST

START_TEST(schedules_are_read)
{
#define TWO                                                                                                  \
    "schedule_names: t/s@0 u/v@0\nschedules: t/s=d u/v=e\nfired: t/s=T,-,0,0,0, u/v=U,-,0,0,0,\n"            \
    "fires: t/s@now-10 u/v@now+10\n"
    CHECK_EXAMPLES( //
        {TWO, "fires 9", "1 now+10 t/s now-10 d T - 0 0 0  ''", NULL}, {TWO, "fires 0", "1 now+10", NULL},
        {ABSENT, "fires 9", "0 -1", NULL}, {AT("now-10"), "fires 9", "1 -1 t/s now-10 '' '' ''", NULL},
        {TWO, "recurring '' '' '' 1 ''", "1 t/s now-10 d T - 0 0 0  -1 0", NULL},
        {TWO, "recurring '' '' t/s 9 ''", "0 u/v now+10 e U - 0 0 0  -1 0", NULL},
        {TWO, "recurring '' u '' 9 ''", "0 u/v now+10 e U - 0 0 0  -1 0", NULL},
        {TWO, "recurring '' '' '' 9 u", "0 u/v now+10 e U - 0 0 0  -1 0", NULL},
        {TWO, "recurring '' u '' 9 v", "0 u/v now+10 e U - 0 0 0  -1 0", NULL},
        {TWO, "recurring '' u '' 9 w", "0", NULL}, {TWO, "recurring '' u u/v 9 v", "0", NULL},
        /* A page never continues in another topic. */
        {TWO, "recurring '' u a/b 9 ''", "0 u/v now+10 e U - 0 0 0  -1 0", NULL},
        {TWO, "recurring u/v '' '' 1 ''", "0 u/v now+10 e U - 0 0 0  -1 0", NULL},
        {TWO, "recurring u/w '' '' 1 ''", "0", NULL},
        /* By next time. */
        {TWO, "recurring '' '' '' 9 '' 0 now+9", "0 t/s now-10 d '' -1 0", NULL},
        {TWO, "recurring '' '' '' 1 '' 0 now+10", "1 t/s now-10 d '' -1 0", NULL},
        {TWO, "recurring '' '' '' 9 '' 1 now+10", "0 u/v now+10 e '' -1 0", NULL},
        {TWO, "recurring '' '' '' 9 '' 2 now+10", "0", NULL},
        {PAUSED, "recurring t/s '' '' 1 ''", "0 t/s -1 d T - 0 0 0  -1 0", NULL},
        {DUE, "carry me 2 9 '' 0 5000 500", "me 1 -1 -1 0 '' now-10",
         DUE "carry: at=now beat=1 owner=me\n"}, );
}
END_TEST

/* A schedule with expectBy 100 ms and jitter 5 ms. */
#define EXPECTS(entry)     "expected: t/s=100,5," entry "\n"
#define MISSED_AT(time)    "expected_until: t/s@" time "\n"
#define OPEN_AT(time, due) time "," due ",1"
#define OPEN_T             OPEN_AT("20300101T000000Z", "now-10")
#define T_JOB              "t/s~20300101T000000Z"
#define FIRE_T             "fire now-10 0 0 = " T_JOB " @now-10 \"url\":\"u\"} - 0"
#define UNMADE(kind)       kind " now-10 0 0 = '' 0 '' - 0"

/* The whole data after T_JOB was created. */
#define MADE_T                                                                                               \
    "bucket:t: " T_JOB "@now\njobs: " T_JOB                                                                  \
    "={\"createdAt\":now,\"url\":\"u\"}\nready: t\nturns: t@1\n" NAMED FIRED("T,fire,0,now-10,now," T_JOB)   \
        AT("now+60")

START_TEST(a_definition_says_until_when_it_is_expected)
{
    CHECK_EXAMPLES( //
        {ABSENT, "define t/s - d now+9 100 5", "1 wake fire now+9",
         NAMED NEVER(D_TAG) AT("now+9") EXPECTS("now+9,0") MISSED_AT("now+114")},
        /* A schedule that has no time, or is paused, is not expected. */
        {ABSENT, "define t/s - d - 100 5", "1", NAMED NEVER(D_TAG) EXPECTS("-,0")},
        {COMING EXPECTS("now+9000,7," OPEN_T) MISSED_AT("now+90"), "define t/s T d - 100 5", "1",
         NAMED NEVER(D_TAG) EXPECTS("-,7")},
        {PAUSED EXPECTS("-,7"), "define t/s T d now+99 100 5", "1 wake fire now+99",
         NAMED NEVER(D_TAG) AT("now+99") EXPECTS("now+99,7") MISSED_AT("now+204")},
        /* The times do not change: an occurrence that has come stays expected, by the new member. */
        {COMING, "define t/s T d = 100 5", "1",
         NAMED NEVER(D_TAG) AT("now+9000") EXPECTS("now+9000,0") MISSED_AT("now+9105")},
        {COMING EXPECTS("now+9000,7," OPEN_T) MISSED_AT("now+90"), "define t/s T d = 300 0", "1",
         NAMED NEVER(D_TAG) AT("now+9000") "expected: t/s=300,0,now+9000,7," OPEN_T
                                           "\n" MISSED_AT("now+290")},
        {NAMED FIRED("T,quota,0,now-20,now-5,") AT("now+9000"), "define t/s T d = 100 5", "1",
         NAMED FIRED(D_TAG ",quota,0,now-20,now-5,") AT("now+9000") EXPECTS("now-20,0") MISSED_AT("now+85")},
        /* New times: the same. */
        {COMING EXPECTS("now+9000,7," OPEN_T) MISSED_AT("now+90"), "define t/s T d now+99 100 5",
         "1 wake fire now+99",
         NAMED NEVER(D_TAG) AT("now+99") EXPECTS("now+99,7," OPEN_T) MISSED_AT("now+90")},
        /* The member, or the schedule, goes. */
        {COMING EXPECTS("now+9000,7," OPEN_T) MISSED_AT("now+90"), "define t/s T d = 0 0", "1",
         NAMED NEVER(D_TAG) AT("now+9000")},
        {COMING EXPECTS("now+9000,7," OPEN_T) MISSED_AT("now+90"), "undefine t/s T", "1", ABSENT},
        {COMING EXPECTS("now+9000,7," OPEN_T) MISSED_AT("now+90"), "define t/s U d = 0 0", "0", NULL},
        {COMING EXPECTS("now+9000,7," OPEN_T) MISSED_AT("now+90"), "recurring t/s '' '' 1 ''",
         "0 t/s now+9000 d T - 0 0 0  now+90 7", NULL}, );
}
END_TEST

START_TEST(a_time_that_has_come_is_expected_until_its_job_is_delivered)
{
#define WAS EXPECTS("now-10,7") MISSED_AT("now+95")
    CHECK_EXAMPLES( //
        {DUE WAS, FIRE(FIRE_T), "now", MADE_T EXPECTS("now+60,7," OPEN_T) MISSED_AT("now+90")},
        /* Times before it were missed: the first one counts. */
        {DUE EXPECTS("now-50,7") MISSED_AT("now+55"), FIRE(FIRE_T), "now",
         MADE_T EXPECTS("now+60,7," OPEN_AT("-", "now-50") "," OPEN_T) MISSED_AT("now+50")},
        /* No job is created. */
        {DUE WAS, FIRE(UNMADE("skip")), "1",
         NAMED FIRED("T,skip,0,now-10,now,") AT("now+60") EXPECTS("now+60,7," OPEN_AT("-", "now-10"))
             MISSED_AT("now+90")},
        {DUE WAS, FIRE(UNMADE("noGroup")), "1",
         NAMED FIRED("T,noGroup,0,now-10,now,") AT("now+60") EXPECTS("now+60,7," OPEN_AT("-", "now-10"))
             MISSED_AT("now+90")},
        /* The time is tried again later, and stays expected. */
        {DUE WAS, FIRE(UNMADE("hold")), "1", NAMED FIRED("T,hold,0,now-10,now,") AT("now+60") WAS},
        /* The clock has stepped back. */
        {COMING EXPECTS("now+9000,7") MISSED_AT("now+9105"), "fire 0 9 t/s T now+9000 now+60 " UNMADE("move"),
         "1", NAMED NEVER("T") AT("now+60") EXPECTS("now+60,7") MISSED_AT("now+165")},
        /* A job of a client is not expected. */
        {COMING EXPECTS("now+9000,7") MISSED_AT("now+9105"), "fire 0 9 t/s T - - " JOB, "now",
         MADE COMING EXPECTS("now+9000,7") MISSED_AT("now+9105")},
        /* A time that the schedule skips, because the last job has not ended, is not expected. */
        {"bucket:t: t/x@now+50\ndue: t@now+50\njobs: t/x={1}\n" NAMED FIRED("T,fire,0,5,6,t/x") AT("now-10")
             WAS,
         "fire 0 9 t/s T now-10 now+60 fire now-10 0 1 = t/s~1 @now-10 \"url\":\"u\"} - 0", "-20",
         "bucket:t: t/x@now+50\ndue: t@now+50\njobs: t/x={1}\n" NAMED FIRED("T,overlap,0,now-10,now,t/x")
             AT("now+60") EXPECTS("now+60,7") MISSED_AT("now+165")}, );
}
END_TEST

#define TIME_U        "20300102T000000Z"
#define HELD_BY_C(id) "holders:t: " id "=n1,now-10\njobs: " id "={r}\nleases: " id "@now+5000\n"
#define OPEN_TU       OPEN_T "," OPEN_AT(TIME_U, "now-5")

START_TEST(a_delivery_makes_up_for_the_times_before_it)
{
    CHECK_EXAMPLES( //
        {COMING EXPECTS("now+9000,7," OPEN_TU) MISSED_AT("now+90") HELD_BY_C(T_JOB),
         "complete " T_JOB " n1 ''", "1",
         COMING EXPECTS("now+9000,now," OPEN_AT(TIME_U, "now-5")) MISSED_AT("now+95")},
        {COMING EXPECTS("now+9000,7," OPEN_TU) MISSED_AT("now+90") HELD_BY_C("t/s~" TIME_U),
         "complete t/s~" TIME_U " n1 ''", "1", COMING EXPECTS("now+9000,now") MISSED_AT("now+9105")},
        /* The schedule has no more times. */
        {PAUSED EXPECTS("-,7," OPEN_T) MISSED_AT("now+90") HELD_BY_C(T_JOB), "complete " T_JOB " n1 ''", "1",
         PAUSED EXPECTS("-,now")},
        /* A job that a client requested makes up for all. */
        {COMING EXPECTS("now+9000,7," OPEN_TU) MISSED_AT("now+90") HELD_BY_C("t/s~run-0123456789abcdef"),
         "complete t/s~run-0123456789abcdef n1 ''", "1",
         COMING EXPECTS("now+9000,now") MISSED_AT("now+9105")},
        /* A group: all its jobs must be delivered. */
        {COMING EXPECTS("now+9000,7,20300101T000000Z,now-10,2") MISSED_AT("now+90") HELD_BY_C(T_JOB "~north"),
         "complete " T_JOB "~north n1 ''", "1", COMING EXPECTS("now+9000,now," OPEN_T) MISSED_AT("now+90")},
        {COMING EXPECTS("now+9000,7," OPEN_T) MISSED_AT("now+90") HELD_BY_C(T_JOB "~south"),
         "complete " T_JOB "~south n1 ''", "1", COMING EXPECTS("now+9000,now") MISSED_AT("now+9105")},
        /* Other jobs, and a stale end. */
        {COMING EXPECTS("now+9000,7," OPEN_T) MISSED_AT("now+90") HELD_BY_C("t/s~x"), "complete t/s~x n1 ''",
         "1", COMING EXPECTS("now+9000,7," OPEN_T) MISSED_AT("now+90")},
        {COMING EXPECTS("now+9000,7," OPEN_T) MISSED_AT("now+90") HELD_BY_C("t/r~20300101T000000Z"),
         "complete t/r~20300101T000000Z n1 ''", "1",
         COMING EXPECTS("now+9000,7," OPEN_T) MISSED_AT("now+90")},
        {COMING EXPECTS("now+9000,7," OPEN_T) MISSED_AT("now+90") HELD_BY_C(T_JOB),
         "complete " T_JOB " n2 ''", "0", NULL}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_schedules");
    TCase *tests = examples_case("schedules");
    tcase_add_test(tests, a_definition_is_written_if_it_is_as_the_caller_read_it);
    tcase_add_test(tests, a_deleted_schedule_leaves_nothing);
    tcase_add_test(tests, an_occurrence_is_made_once);
    tcase_add_test(tests, a_time_may_pass_without_a_job);
    tcase_add_test(tests, a_full_pool_delays_an_occurrence);
    tcase_add_test(tests, a_client_may_ask_for_an_occurrence);
    tcase_add_test(tests, a_run_is_repeated_under_its_key);
    tcase_add_test(tests, an_occurrence_goes_to_a_group);
    tcase_add_test(tests, skipped_times_are_kept_until_the_clock_steps_back);
    tcase_add_test(tests, schedules_are_read);
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, a_definition_says_until_when_it_is_expected);
    tcase_add_test(tests, a_time_that_has_come_is_expected_until_its_job_is_delivered);
    tcase_add_test(tests, a_delivery_makes_up_for_the_times_before_it);
    return suite;
}

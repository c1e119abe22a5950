/* Tests groups and jobs that are sent to groups: the scripts send, schedule_all, replace_send, sent, unsend,
 * group and groups, and how forget removes sends. */
#include "support/script_examples.h"
#include "support/suite.h"

/* Job t/s was sent to group g with the endpoints a and b by an earlier version, and its jobs wait. */
#define SENT                                                                                                 \
    "bucket:t: t/s~a@now+5000 t/s~b@now+5000.0005\n"                                                         \
    "due: t@now+5000\n"                                                                                      \
    "jobs: t/s~a={r} t/s~b={q}\n"                                                                            \
    "sends: t/s=m,g,a,b\n"                                                                                   \
    "sends_until: t/s@now+65000\n"

#define MADE(created)                                                                                        \
    "jobs: t/s~a={\"createdAt\":" created ",\"r\"} t/s~b={\"createdAt\":" created ",\"q\"}\n"                \
    "sends: t/s=m,g,a,b,@" created "\n"

START_TEST(send_schedules_all_jobs)
{
    CHECK_EXAMPLES( //
        {ABSENT, "send 0 9 t/s 0 - m g 2 a \"r\"} b \"q\"}", "(sent now now)",
         MADE("now") "bucket:t: t/s~a@now t/s~b@now.0005\nready: t\nturns: t@1\n"
                     "sends_until: t/s@now+60000\n"},
        {ABSENT, "send 2 9 t/s 4999 - m g 2 a \"r\"} b \"q\"}", "(sent now+5000 now+5000) wake now+5000",
         MADE("now+1") "bucket:t: t/s~a@now+5000 t/s~b@now+5000.0005\ndue: t@now+5000\n"
                       "sends_until: t/s@now+65000\n"},
        {ABSENT, "send 0 9 t/s @now+900000000 - m g 1 a \"r\"}", "(sent now+900000000) wake now+900000000",
         "bucket:t: t/s~a@now+900000000\ndue: t@now+900000000\njobs: t/s~a={\"createdAt\":now,\"r\"}\n"
         "sends: t/s=m,g,a,@now\nsends_until: t/s@now+86400000\n"},
        /* two sends in one call */
        {ABSENT, "send 0 9 t/s 0 - m g 1 a \"r\"} u/s 0 - m g 1 a \"r\"}", "(sent now) (sent now)",
         "bucket:t: t/s~a@now\nbucket:u: u/s~a@now\n"
         "jobs: t/s~a={\"createdAt\":now,\"r\"} u/s~a={\"createdAt\":now,\"r\"}\nready: t\n"
         "sends: t/s=m,g,a,@now u/s=m,g,a,@now\nsends_until: t/s@now+60000 u/s@now+60000\nturns: t@1 "
         "u@2\n"}, );
}
END_TEST

START_TEST(send_schedules_all_or_none)
{
    CHECK_EXAMPLES( //
        {DELAYED, "send 2 9 t/s 0 - m g 2 a \"r\"} b \"q\"}", "-7", NULL},
        {SENT, "send 0 9 t/s 0 - other g 2 a \"r\"} b \"q\"}", "(taken t/s~a)", NULL},
        {SENT, "send 0 9 t/s 0 - m other 2 c \"r\"} d \"q\"}", "(taken t/s~a)", NULL},
        {"bucket:t: t/s~b@now+9\ndue: t@now+9\njobs: t/s~b={r}\n", "send 0 9 t/s 0 - m g 2 a \"r\"} b \"q\"}",
         "(taken t/s~b)", NULL},
        /* the first id belongs to a leased job, the second to a job in no bucket and no leases */
        {"holders:t: t/s~b=n1,now-9\njobs: t/s~b={r}\nleases: t/s~b@now+9\n",
         "send 0 9 t/s 0 - m g 2 a \"r\"} b \"q\"}", "(taken t/s~b)", NULL},
        {"jobs: t/s~b={r}\n", "send 0 9 t/s 0 - m g 2 a \"r\"} b \"q\"}", "(taken t/s~b)", NULL},
        /* the second send in the call has the same id as the first */
        {ABSENT,
         "send 3 9 t/s 0 - m g 2 a \"r\"} b \"q\"} t/s 0 - m g 2 a \"r\"} b \"q\"} u/s 0 - m g 2 a x b y",
         "(sent now now) (same a ready now b ready now) -7",
         MADE("now") "bucket:t: t/s~a@now t/s~b@now.0005\nready: t\nturns: t@1\n"
                     "sends_until: t/s@now+60000\n"},
        /* the group has no endpoints, because it no longer exists */
        {ABSENT, "send 0 9 t/s 0 - m g 0", "-1", NULL}, );
}
END_TEST

START_TEST(send_finds_the_same_while_a_job_of_it_is_there)
{
#define HALF_ENDED                                                                                           \
    "bucket:t: t/s~b@now+5000\n"                                                                             \
    "due: t@now+5000\n"                                                                                      \
    "jobs: t/s~b={q}\n"                                                                                      \
    "sends: t/s=m,g,a,b\n"                                                                                   \
    "sends_until: t/s@now+65000\n"
#define ALL_ENDED "sends: t/s=m,g,a,b\nsends_until: t/s@now+65000\n"
    CHECK_EXAMPLES( //
        {SENT, "send 0 9 t/s 0 - m g 2 a \"r\"} b \"q\"}", "(same a delayed now+5000 b delayed now+5000)",
         NULL},
        {SENT, "send 0 9 t/s 0 - m g 0", "(same a delayed now+5000 b delayed now+5000)", NULL},
        {SENT, "send 1 9 t/s 0 - m g 3 a \"r\"} b \"q\"} c \"s\"}",
         "(same a delayed now+5000 b delayed now+5000)", NULL},
        {HALF_ENDED, "send 0 9 t/s 0 - m g 2 a \"r\"} b \"q\"}", "(same a ended 0 b delayed now+5000)", NULL},
        /* The answer is kept under the idempotency key. */
        {HALF_ENDED, "send 0 9 t/s 0 'f,k' m g 2 a \"r\"} b \"q\"}", "(same a ended 0 b delayed now+5000)",
         "bucket:t: t/s~b@now+5000\n"
         "due: t@now+5000\n"
         "idempotency: k=f,now+5000,now+9,t/s|a,b\n"
         "jobs: t/s~b={q}\n"
         "sends: t/s=m,g,a,b\n"
         "sends_until: t/s@now+65000\n"
         "windows: k@now+9\n"},
        {ALL_ENDED, "send 0 9 t/s 0 - m g 0", "-1", NULL},
        {ALL_ENDED, "send 0 9 t/s 0 - other h 1 z \"r\"}", "(sent now)",
         "bucket:t: t/s~z@now\njobs: t/s~z={\"createdAt\":now,\"r\"}\nready: t\nsends: t/s=other,h,z,@now\n"
         "sends_until: t/s@now+60000\nturns: t@1\n"}, );
}
END_TEST

START_TEST(send_refuses_what_has_another_form)
{
    CHECK_EXAMPLES( //
        {ABSENT, "send 0 9 t/s 0 - m g 2 a x", "ERR", NULL}, {ABSENT, "send 0 9 t/s 0 - m g x", "ERR", NULL},
        {ABSENT, "send 0 9 t/s 0 - m g -1", "ERR", NULL}, {ABSENT, "send 0 9 t 0 - m g 1 a x", "ERR", NULL},
        {ABSENT, "send 0 9 t/s x - m g 1 a x", "ERR", NULL},
        {ABSENT, "send 0 9 t/s 0 - m g 1 a/b x", "ERR", NULL},
        {ABSENT, "send 0 9 t/s 0 - m '' 1 a x", "ERR", NULL}, );
}
END_TEST

START_TEST(schedule_all_schedules_all_new_jobs)
{
    CHECK_EXAMPLES( //
        {ABSENT, "schedule_all 0 9 2 t/a 0 \"r\"} - t/b 0 \"q\"} -", "(now now)",
         "bucket:t: t/a@now t/b@now.0005\njobs: t/a={\"createdAt\":now,\"r\"} "
         "t/b={\"createdAt\":now,\"q\"}\n"
         "ready: t\nturns: t@1\n"},
        {ABSENT, "schedule_all 3 9 2 t/a 4999 \"r\"} - t/b 4999 \"q\"} - 1 t/c 4999 \"s\"} -",
         "(now+5000 now+5000) (now+5000) wake now+5000",
         "bucket:t: t/a@now+5000 t/b@now+5000.0005 t/c@now+5000.001\ndue: t@now+5000\n"
         "jobs: t/a={\"createdAt\":now+1,\"r\"} t/b={\"createdAt\":now+1,\"q\"} "
         "t/c={\"createdAt\":now+1,\"s\"}\n"}, );
}
END_TEST

START_TEST(schedule_all_schedules_all_or_none)
{
    CHECK_EXAMPLES( //
        {DELAYED, "schedule_all 2 9 2 t/b 0 \"r\"} - t/c 0 \"q\"} -", "-7", NULL},
        {DELAYED, "schedule_all 0 9 2 t/b 0 \"r\"} - t/a 0 \"q\"} -", "-6", NULL},
        {LEASED, "schedule_all 0 9 2 t/b 0 \"r\"} - t/a 0 \"q\"} -", "-6", NULL},
        {ABSENT, "schedule_all 0 9 2 t/a 0 \"r\"} - t/a 0 \"q\"} -", "-6", NULL},
        {ABSENT, "schedule_all 0 9 2 t/a 0 \"r\"} 'f,k' t/b 0 \"q\"} 'f,k'", "-6", NULL},
        /* The second list of jobs exceeds the limit of jobs, and the third one does not. */
        {ABSENT,
         "schedule_all 2 9 1 u/a @now+9 \"r\"} - 2 t/b 0 \"r\"} - t/c 0 \"q\"} - 1 u/b @now+9 \"q\"} -",
         "(now+9) -7 (now+9) wake now+9",
         "bucket:u: u/a@now+9 u/b@now+9.0005\ndue: u@now+9\n"
         "jobs: u/a={\"createdAt\":now,\"r\"} u/b={\"createdAt\":now,\"q\"}\n"}, );
}
END_TEST

START_TEST(schedule_all_repeats_earlier_answers)
{
#define KEY "idempotency: k=f,now-5,now+9,t/z\nwindows: k@now+9\n"
    CHECK_EXAMPLES( //
        {KEY, "schedule_all 1 9 2 t/a 0 \"r\"} 'f,k' t/b @now+9 \"q\"} 'f,l'",
         "((repeated now-5 t/z) now+9) wake now+9",
         "bucket:t: t/b@now+9\ndue: t@now+9\nidempotency: k=f,now-5,now+9,t/z l=f,now+9,now+9,t/b\n"
         "jobs: t/b={\"createdAt\":now,\"q\"}\nwindows: k@now+9 l@now+9\n"},
        {KEY, "schedule_all 0 9 2 t/b 0 \"q\"} - t/a 0 \"r\"} 'g,k'", "-8", NULL},
        {KEY DELAYED, "schedule_all 2 9 3 t/b 0 \"r\"} 'f,k' t/c 0 \"q\"} - t/d 0 \"q\"} -", "-7", NULL}, );
}
END_TEST

START_TEST(schedule_all_refuses_what_has_another_form)
{
    CHECK_EXAMPLES( //
        {ABSENT, "schedule_all 0 9 2 t/a 0 x -", "ERR", NULL}, {ABSENT, "schedule_all 0 9 0", "ERR", NULL},
        {ABSENT, "schedule_all 0 9 x t/a 0 x -", "ERR", NULL},
        {ABSENT, "schedule_all 0 9 1 t 0 x -", "ERR", NULL},
        {ABSENT, "schedule_all 0 9 1 t/a x x -", "ERR", NULL},
        {ABSENT, "schedule_all 0 9 1 t/a 0 x f", "ERR", NULL},
        {ABSENT, "schedule_all 0 9 1 t/a 0 x - 1 t/b 0 x", "ERR", NULL}, );
}
END_TEST

START_TEST(replace_send_replaces_what_was_sent)
{
#define PUT "replace_send 0 t/s 0 '' n h 2 b \"x\"} c \"y\"}"
#define PUT_MADE                                                                                             \
    "bucket:t: t/s~b@now t/s~c@now.0005\n"                                                                   \
    "jobs: t/s~b={\"createdAt\":now,\"x\"} t/s~c={\"createdAt\":now,\"y\"}\nready: t\n"                      \
    "sends: t/s=n,h,b,c,@now\nsends_until: t/s@now+60000\nturns: t@1\n"
    CHECK_EXAMPLES( //
        {ABSENT, PUT, "(replaced 0 0 0 now now)", PUT_MADE},
        {SENT, PUT, "(replaced 1 0 1 now now)", PUT_MADE},
        {SENT, "replace_send 2 t/s 0 '' n h 2 b \"x\"} c \"y\"}", "(replaced 1 0 1 now now)", PUT_MADE},
        {SENT, "replace_send 2 t/s 0 '' n h 3 a \"w\"} b \"x\"} c \"y\"}", "-7", NULL},
        /* Jobs with these ids that do not belong to a send are replaced, too. The losses and attempts of the
         * old jobs are removed. */
        {"attempts: t/s~b=line\nbucket:t: t/s~b@now+9\ncrashes: t/s~b=2,n\ndue: t@now+9\njobs: t/s~b={r}\n",
         PUT, "(replaced 1 0 0 now now)", PUT_MADE},
        /* '!': the send is stored only if none of its jobs is in the pool */
        {ABSENT, "replace_send 0 t/s 0 ! n h 2 b \"x\"} c \"y\"}", "(replaced 0 0 0 now now)", PUT_MADE},
        {SENT, "replace_send 0 t/s 0 ! n h 1 c \"y\"}", "-4", NULL},
        {SENT, "replace_send 0 t/s 0 ! n h 1 a \"y\"}", "-4", NULL},
        /* An attempt is under way: of a job to be replaced, of a job to be cancelled, of a job that a worker
         * has leased. It lingers. */
        {"holders:t: t/s~b=n1,now-9\njobs: t/s~b={r}\nleases: t/s~b@now+9\n", PUT, "(replaced 1 1 0 now now)",
         "holders:t: t/s~b|n1=replaced\nlingering: t/s~b|n1@now+9\n" PUT_MADE},
        {"holders:t: t/s~a=n1,now-9\njobs: t/s~a={r}\nleases: t/s~a@now+9\nsends: t/s=m,g,a\n"
         "sends_until: t/s@now+9\n",
         PUT, "(replaced 0 0 1 now now)", "holders:t: t/s~a|n1=\nlingering: t/s~a|n1@now+9\n" PUT_MADE},
        {"holders:t: t/s~b=p1,now-9\njobs: t/s~b={r}\npulled: t/s~b@now+9\n", PUT, "(replaced 1 1 0 now now)",
         "holders:t: t/s~b|p1=replaced\npull_lingering: t/s~b|p1@now+9\n" PUT_MADE},
        /* When the script checks the second of two replacements in a call, the jobs of the first one are in
         * no bucket yet, so the second one cannot cancel them. */
        {ABSENT, "replace_send 0 t/s 0 '' m g 1 b \"r\"} t/s 0 '' n h 2 b \"x\"} c \"y\"}",
         "(replaced 0 0 0 now) (replaced 1 0 0 now now)",
         "bucket:t: t/s~b@now.0005 t/s~c@now.001\n"
         "jobs: t/s~b={\"createdAt\":now,\"x\"} t/s~c={\"createdAt\":now,\"y\"}\nready: t\n"
         "sends: t/s=n,h,b,c,@now\nsends_until: t/s@now+60000\nturns: t@1\n"},
        {ABSENT, "replace_send 0 t/s 0 '' n h 2 b \"x\"} c \"y\"} t/s 0 '' m g 1 b \"r\"}",
         "(replaced 0 0 0 now now) -2", PUT_MADE},
        {ABSENT, "replace_send 0 t/s 0 '' n h 0", "ERR", NULL},
        {ABSENT, "replace_send 0 t/s 0 '' n h 1 a", "ERR", NULL},
        {ABSENT, "replace_send 0 t/s x '' n h 1 a x", "ERR", NULL},
        {ABSENT, "replace_send 0 t/s 0 '' n '' 1 a x", "ERR", NULL}, );
}
END_TEST

START_TEST(sent_shows_the_states)
{
#define SEEN                                                                                                 \
    "bucket:t: t/s~a@now-9 t/s~b@now+9\n"                                                                    \
    "cancelled:t: t/s~f@now-6\ndead: t/s~d@now-4\ndead:t: t/s~d@now-4\ndead_due: t@inf\n"                    \
    "delivered:t: t/s~e@now-5\nholders:t: t/s~c=n1,now-9\n"                                                  \
    "jobs: t/s~a={} t/s~b={} t/s~c={} t/s~g={}\nleases: t/s~c@now+7\n"                                       \
    "kept: t/s~d=dead,now-4,0,2,{} t/s~e=delivered,now-5,0,2,{} t/s~f=cancelled,now-6,0,2,{}\n"              \
    "kept_until: t/s~e@now+1 t/s~f@now+1\nsends: t/s=m,g,a,b,c,d,e,f,g,h\nturns: t@1\n"
    CHECK_EXAMPLES( //
        {SEEN, "sent t/s g",
         "a ready now-9 b delayed now+9 c leased now+7 d dead now-4 e delivered now-5 f cancelled now-6 "
         "g ready now h ended 0",
         NULL},
        {SEEN, "sent t/s h", "", NULL}, {SEEN, "sent t/x g", "", NULL}, );
}
END_TEST

START_TEST(unsend_cancels_those_that_are_left)
{
#define MIXED                                                                                                \
    "bucket:t: t/s~a@now+9 t/x@now+9\ndue: t@now+9\n"                                                        \
    "dead: t/s~d@now-4\ndead:t: t/s~d@now-4\ndead_due: t@inf\n"                                              \
    "holders:t: t/s~c=n1,now-9\njobs: t/s~a={} t/s~c={} t/x={}\nleases: t/s~c@now+7\n"                       \
    "kept: t/s~d=dead,now-4,0,2,{}\nsends: t/s=m,g,a,b,c,d\nsends_until: t/s@now+9\n"
    CHECK_EXAMPLES( //
        {MIXED, "unsend t/s g", "(a 0 b -1 c 1 d 0)",
         "bucket:t: t/x@now+9\ndue: t@now+9\nholders:t: t/s~c|n1=\njobs: t/x={}\nlingering: "
         "t/s~c|n1@now+7\n"},
        {MIXED, "unsend t/s other t/x g", "-1 -1", NULL},
        {SENT, "unsend t/s g t/s g", "(a 0 b 0) -1", ABSENT},
        {"sends: t/s=m,g,a\nsends_until: t/s@now+9\n", "unsend t/s g", "(a -1)", ABSENT}, );
}
END_TEST

/* The jobs a and d of a send have ended, and other jobs have their ids now: the other job a has not ended,
 * and the other job d is dead. Only b is still a job of the send. */
START_TEST(other_jobs_with_their_ids_do_not_belong_to_a_send)
{
#define OTHER(time) "{\"createdAt\":" time ",\"r\"}"
#define TAKEN                                                                                                \
    "bucket:t: t/s~a@now+9\ndue: t@now+9\ndead: t/s~d@now-4\ndead:t: t/s~d@now-4\ndead_due: t@inf\n"         \
    "jobs: t/s~a=" OTHER("now-1") "\nkept: t/s~d=dead,now-4,0,32," OTHER("now-1") "\n"
#define LEFT                                                                                                 \
    "bucket:t: t/s~a@now+9 t/s~b@now+9\ndue: t@now+9\n"                                                      \
    "jobs: t/s~a=" OTHER("now-1") " t/s~b=" OTHER("now-2") "\n"
#define OF(endpoints) "sends: t/s=m,g," endpoints ",@now-2\nsends_until: t/s@now+9\n"
    CHECK_EXAMPLES( //
        {TAKEN OF("a,d"), "unsend t/s g", "(a -1 d -1)", TAKEN},
        {LEFT OF("a,b,c"), "unsend t/s g", "(a -1 b 0 c -1)",
         "bucket:t: t/s~a@now+9\ndue: t@now+9\njobs: t/s~a=" OTHER("now-1") "\n"},
        /* the send's job a is dead, and another job, which waits, has its id */
        {"bucket:t: t/s~a@now+9\ndue: t@now+9\ndead: t/s~a@now-4\ndead:t: t/s~a@now-4\ndead_due: t@inf\n"
         "jobs: t/s~a=" OTHER("now-1") "\nkept: t/s~a=dead,now-4,0,32," OTHER("now-2") "\n" OF("a"),
         "unsend t/s g", "(a 0)", "bucket:t: t/s~a@now+9\ndue: t@now+9\njobs: t/s~a=" OTHER("now-1") "\n"},
        /* the answer does not show the states of the other jobs */
        {LEFT OF("a,b,c"), "sent t/s g", "a ended 0 b delayed now+9 c ended 0", NULL},
        /* the send's job has ended. It is not sent again, because another job has its id */
        {LEFT OF("a"), "send 0 9 t/s 0 - m g 1 a \"r\"}", "(taken t/s~a)", NULL},
        {LEFT OF("a"), "send 0 9 t/s 0 - m g 0", "-1", NULL},
        {LEFT OF("a,b"), "send 0 9 t/s 0 - m g 0", "(same a ended 0 b delayed now+9)", NULL},
        /* PUT replaces all jobs whose ids are those of the new send. It removes the remaining jobs of the
         * earlier send, and leaves all other jobs */
        {LEFT OF("a,b"), "replace_send 0 t/s @now+9 '' n h 1 c \"r\"}", "(replaced 0 0 1 now+9)",
         "bucket:t: t/s~a@now+9 t/s~c@now+9.0005\ndue: t@now+9\n"
         "jobs: t/s~a=" OTHER("now-1") " t/s~c=" OTHER(
             "now") "\n"
                    "sends: t/s=n,h,c,@now\nsends_until: t/s@now+60009\n"}, );
}
END_TEST

START_TEST(forget_drops_sends_whose_jobs_have_ended)
{
#define OLD_SENDS                                                                                            \
    "bucket:t: t/s~b@now+9000\ndue: t@now+9000\njobs: t/s~b={q}\n"                                           \
    "sends: t/s=m,g,a,b t/u=m,g,a t/v=m,g,a\n"
    CHECK_EXAMPLES( //
        {OLD_SENDS "sends_until: t/s@now-2 t/u@now-1 t/v@now+1\n", "forget 9 9", "0 2",
         "bucket:t: t/s~b@now+9000\ndue: t@now+9000\njobs: t/s~b={q}\n"
         "sends: t/s=m,g,a,b t/v=m,g,a\nsends_until: t/v@now+1 t/s@now+3600000\n"},
        {OLD_SENDS "sends_until: t/s@now-2 t/u@now-1 t/v@now+1\n", "forget 9 1", "0 1",
         OLD_SENDS "sends_until: t/u@now-1 t/v@now+1 t/s@now+3600000\n"},
        {"sends_until: t/s@now\n", "forget 9 9", "0 1", ABSENT},
        /* t/s~a does not belong to the send; t/s~b does */
        {LEFT "sends: t/s=m,g,a,@now-2 t/u=m,g,a,@now-2\nsends_until: t/s@now t/u@now\n", "forget 9 9", "0 2",
         LEFT},
        {LEFT "sends: t/s=m,g,a,b,@now-2\nsends_until: t/s@now\n", "forget 9 9", "0 1",
         LEFT "sends: t/s=m,g,a,b,@now-2\nsends_until: t/s@now+3600000\n"},
        {"sends_until: t/s@now\n", "carry me 1 9 '' 0 5000 250", "me 1 -1 -1 0 f",
         "carry: at=now beat=1 owner=me\nsends_until: t/s@now\n"},
        {"sends_until: t/s@now\n", "carry me 0 9 '' 0 5000 250", "me 1 -1 -1 0 ''",
         "carry: at=now beat=1 owner=me\nsends_until: t/s@now\n"}, );
}
END_TEST

/* ---- groups ---- */

#define GROUP "group_names: g@0 h@0\ngroups: g={x} h={y}\n"

START_TEST(group_writes_what_has_not_changed)
{
    CHECK_EXAMPLES( //
        {ABSENT, "group g '' {x}", "1", "group_names: g@0\ngroups: g={x}\n"},
        {GROUP, "group g {x} {z}", "1", "group_names: g@0 h@0\ngroups: g={z} h={y}\n"},
        {GROUP, "group g {x} ''", "1", "group_names: h@0\ngroups: h={y}\n"},
        {GROUP, "group g {y} {z}", "0", NULL}, {GROUP, "group g '' {z}", "0", NULL},
        {ABSENT, "group g {x} {z}", "0", NULL}, {ABSENT, "group g '' ''", "1", NULL},
        {GROUP, "group g {x} {z} g {x} {w} h {y} ''", "1 0 1", "group_names: g@0\ngroups: g={z}\n"}, );
}
END_TEST

START_TEST(groups_are_read_by_name)
{
    CHECK_EXAMPLES( //
        {GROUP, "groups g '' 1", "0 g {x}", NULL}, {GROUP, "groups i '' 1", "0 i ''", NULL},
        {GROUP, "groups '' '' 9", "0 g {x} h {y}", NULL}, {GROUP, "groups '' '' 1", "1 g {x}", NULL},
        {GROUP, "groups '' g 1", "0 h {y}", NULL}, {GROUP, "groups '' h 1", "0", NULL},
        {ABSENT, "groups '' '' 9", "0", NULL}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_groups");
    TCase *tests = examples_case("groups");
    tcase_add_test(tests, send_schedules_all_jobs);
    tcase_add_test(tests, send_schedules_all_or_none);
    tcase_add_test(tests, send_finds_the_same_while_a_job_of_it_is_there);
    tcase_add_test(tests, send_refuses_what_has_another_form);
    tcase_add_test(tests, schedule_all_schedules_all_new_jobs);
    tcase_add_test(tests, schedule_all_schedules_all_or_none);
    tcase_add_test(tests, schedule_all_repeats_earlier_answers);
    tcase_add_test(tests, schedule_all_refuses_what_has_another_form);
    tcase_add_test(tests, replace_send_replaces_what_was_sent);
    tcase_add_test(tests, sent_shows_the_states);
    tcase_add_test(tests, unsend_cancels_those_that_are_left);
    tcase_add_test(tests, other_jobs_with_their_ids_do_not_belong_to_a_send);
    tcase_add_test(tests, forget_drops_sends_whose_jobs_have_ended);
    tcase_add_test(tests, group_writes_what_has_not_changed);
    tcase_add_test(tests, groups_are_read_by_name);
    suite_add_tcase(suite, tests);
    return suite;
}

/* Tests workflows: the scripts begin, append, arrive, conclude and workflow, and the scripts that end jobs of
 * workflows. */
#include "support/script_examples.h"
#include "support/suite.h"

/* Workflow t/w was created 9 ms ago. The workflow's jobs are t/a, a step whose element is e1, and those that
 * a test adds. */
#define PLACE "t/w/now-9"
#define NAMED "workflow_times: " PLACE "@now-9\nworkflows: t/w=now-9\n"
#define E1    "element_jobs:" PLACE ": s,now-9,2,t/a\nelements:" PLACE ": se1\n"
#define HAS(ended, state)                                                                                    \
    "workflow:" PLACE ": bytes=3 createdAt=now-9 " ended "first=t/a settings={s} state=" state "\n"
#define ACTIVE             NAMED HAS("", "active") E1
#define STEP_A             "t/a=s,1,3," PLACE
#define OVER(ended, state) NAMED HAS("endedAt=now " ended, state) E1 "workflows_over: " PLACE "@now\n"
#define LEASED_STEP        LEASED ACTIVE "open:" PLACE ": t/a=\nworkflow_jobs: " STEP_A "\n"
#define DELAYED_STEP       DELAYED ACTIVE "open:" PLACE ": t/a=\nworkflow_jobs: " STEP_A "\n"

/* ---- begin ---- */

#define BEGIN(parent, replaces) "begin 0 t/w {s} " parent " " replaces " '' 0 0 s t/a 0 \"r\"} e1 '' ''"
#define BEGUN                   BEGUN_AS("")
#define BEGUN_AS(mark)                                                                                       \
    "bucket:t: t/a@now\nelement_jobs:t/w/now: s,now,2,t/a\nelements:t/w/now: se1\njobs: "                    \
    "t/a={\"createdAt\":now,\"r\"}\nopen:t/w/now: t/a=" mark "\n"                                            \
    "ready: t\nturns: t@1\nworkflow_jobs: t/a=s,1,3,t/w/now\nworkflow_times: t/w/now@now\n"                  \
    "workflows: t/w=now\n"

START_TEST(begin_makes_a_workflow_with_its_first_job)
{
    CHECK_EXAMPLES( //
        {ABSENT, BEGIN("'' '' ''", "0"), "(1 now)",
         BEGUN "workflow:t/w/now: bytes=3 createdAt=now first=t/a settings={s} state=active\n"},
        {ABSENT, BEGIN("t/p/now-7 x y", "0"), "(1 now)",
         BEGUN "workflow:t/w/now: bytes=3 createdAt=now first=t/a ifCancelled=y ifFailed=x parent=t/p/now-7 "
               "settings={s} state=active\n"},
        {ABSENT, BEGIN("'' '' ''", "1"), "(1 now)",
         BEGUN "workflow:t/w/now: bytes=3 createdAt=now first=t/a settings={s} state=active\n"},
        /* two workflows in one call: the second one has the id of the first, which is active */
        {ABSENT, BEGIN("'' '' ''", "0") " t/w {z} '' '' '' 0 '' 0 0 s t/b 0 \"q\"} e2 '' ''",
         "(1 now) (0 now t/a)",
         BEGUN "workflow:t/w/now: bytes=3 createdAt=now first=t/a settings={s} state=active\n"}, );
}
END_TEST

START_TEST(begin_leaves_an_active_workflow_alone)
{
    CHECK_EXAMPLES( //
        {DELAYED_STEP, "begin 0 t/w {z} '' '' '' 0 '' 0 0 s t/b 0 \"q\"} e2 '' ''", "(0 now-9 t/a)", NULL},
        {DELAYED_STEP, "begin 1 t/w {z} '' '' '' 0 '' 0 0 s t/b 0 \"q\"} e2 '' ''", "(0 now-9 t/a)", NULL},
        {DELAYED, "begin 0 t/w {z} '' '' '' 0 '' 0 0 s t/a 0 \"q\"} e2 '' ''", "-6", NULL},
        {DELAYED, "begin 1 t/w {z} '' '' '' 0 '' 0 0 s t/b 0 \"q\"} e2 '' ''", "-7", NULL}, );
}
END_TEST

START_TEST(begin_may_replace_an_active_workflow)
{
    CHECK_EXAMPLES( //
        {DELAYED_STEP, "begin 0 t/w {z} '' '' '' 1 '' 0 0 s t/b 0 \"q\"} e2 '' ''", "(1 now-9)",
         "bucket:t: t/b@now\nelement_jobs:" PLACE ": s,now,2,t/b\nelements:" PLACE
         ": se2\njobs: t/b={\"createdAt\":now,\"q\"}\nopen:" PLACE
         ": t/b=\nready: t\nturns: t@1\nworkflow:" PLACE
         ": bytes=3 createdAt=now-9 first=t/b settings={z} state=active\n"
         "workflow_jobs: t/b=s,1,3," PLACE "\n" NAMED},
        {LEASED_STEP, "begin 0 t/w {z} '' '' '' 1 '' 0 0 s t/b 0 \"q\"} e2 '' ''", "(1 now-9)",
         "bucket:t: t/b@now\nelement_jobs:" PLACE ": s,now,2,t/b\nelements:" PLACE
         ": se2\nholders:t: t/a|n1=\njobs: t/b={\"createdAt\":now,\"q\"}\n"
         "lingering: t/a|n1@now+3000\nopen:" PLACE ": t/b=\nready: t\nturns: t@1\nworkflow:" PLACE
         ": bytes=3 createdAt=now-9 first=t/b settings={z} state=active\n"
         "workflow_jobs: t/b=s,1,3," PLACE "\n" NAMED}, );
}
END_TEST

START_TEST(an_id_can_be_used_again)
{
    CHECK_EXAMPLES( //
        {OVER("", "failed"), BEGIN("'' '' ''", "0"), "(1 now)",
         "bucket:t: t/a@now\nelement_jobs:t/w/now: s,now,2,t/a\nelements:t/w/now: se1\njobs: "
         "t/a={\"createdAt\":now,\"r\"}\nopen:t/w/now: t/a=\n"
         "ready: t\nturns: t@1\nworkflow_jobs: t/a=s,1,3,t/w/now\nworkflows: t/w=now\n"
         "workflow:t/w/now: bytes=3 createdAt=now first=t/a previous=now-9 settings={s} state=active\n" E1
             HAS("endedAt=now ", "failed") "workflow_times: " PLACE "@now-9 t/w/now@now\n"
                                           "workflows_over: " PLACE "@now\n"},
        /* the clock has stepped back since an earlier workflow with this id was created, so the creation time
         * of the new workflow is 1 ms after that of the earlier one */
        {"workflow:t/w/now+5: createdAt=now+5 state=failed\nworkflows: t/w=now+5\n", BEGIN("'' '' ''", "0"),
         "(1 now+6)",
         "bucket:t: t/a@now\nelement_jobs:t/w/now+6: s,now,2,t/a\nelements:t/w/now+6: se1\njobs: "
         "t/a={\"createdAt\":now,\"r\"}\n"
         "open:t/w/now+6: t/a=\nready: t\nturns: t@1\nworkflow_jobs: t/a=s,1,3,t/w/now+6\n"
         "workflow_times: t/w/now+6@now+6\nworkflows: t/w=now+6\nworkflow:t/w/now+5: createdAt=now+5 "
         "state=failed\n"
         "workflow:t/w/now+6: bytes=3 createdAt=now+6 first=t/a previous=now+5 settings={s} state=active\n"},
        /* a new workflow that replaces an active one takes over its field "previous", the creation time of
         * the workflow before it */
        {NAMED "workflow:" PLACE
               ": bytes=3 createdAt=now-9 first=t/b previous=now-20 settings={z} state=active\n",
         BEGIN("'' '' ''", "1"), "(1 now-9)",
         "bucket:t: t/a@now\nelement_jobs:" PLACE ": s,now,2,t/a\nelements:" PLACE ": se1\njobs: "
         "t/a={\"createdAt\":now,\"r\"}\nopen:" PLACE
         ": t/a=\nready: t\nturns: t@1\nworkflow_jobs: t/a=s,1,3," PLACE "\n" NAMED "workflow:" PLACE
         ": bytes=3 createdAt=now-9 first=t/a previous=now-20 settings={s} state=active\n"}, );
}
END_TEST

START_TEST(workflows_that_ended_long_ago_go)
{
#define WEEK_AGO "now-604800000"
    CHECK_EXAMPLES( //
        {"elements:t/o/now-9: se1\nworkflow:t/o/now-9: state=failed\nworkflow_times: t/o/now-9@now-9\n"
         "workflows: t/o=now-9\nworkflows_over: t/o/now-9@" WEEK_AGO "\n",
         BEGIN("'' '' ''", "0"), "(1 now)",
         BEGUN "workflow:t/w/now: bytes=3 createdAt=now first=t/a settings={s} state=active\n"},
        /* the id t/o of the old workflow has been used again; only the data of the old workflow is removed */
        {"workflow:t/o/now-9: state=failed\nworkflow_times: t/o/now-9@now-9\n"
         "workflows: t/o=now-7\nworkflows_over: t/o/now-9@" WEEK_AGO "\n",
         BEGIN("'' '' ''", "0"), "(1 now)",
         "bucket:t: t/a@now\nelement_jobs:t/w/now: s,now,2,t/a\nelements:t/w/now: se1\njobs: "
         "t/a={\"createdAt\":now,\"r\"}\nopen:t/w/now: t/a=\n"
         "ready: t\nturns: t@1\nworkflow_jobs: t/a=s,1,3,t/w/now\nworkflow_times: t/w/now@now\n"
         "workflows: t/o=now-7 t/w=now\n"
         "workflow:t/w/now: bytes=3 createdAt=now first=t/a settings={s} state=active\n"}, );
}
END_TEST

/* ---- append ---- */

#define MORE(bytes)                                                                                          \
    "workflow:" PLACE ": bytes=" bytes " createdAt=now-9 first=t/a settings={s} state=active\n"
#define A_AND(ready) "bucket:t: " ready " t/a@now+60000\n"

START_TEST(append_adds_elements_and_their_jobs)
{
    CHECK_EXAMPLES( //
        {DELAYED_STEP, "append 0 t/w 1 s t/b 0 \"q\"} e22 '' ''", "now-9",
         A_AND("t/b@now") "element_jobs:" PLACE ": s,now-9,2,t/a s,now,3,t/b\nelements:" PLACE ": se1 se22\n"
                          "jobs: t/a={r} t/b={\"createdAt\":now,\"q\"}\nopen:" PLACE
                          ": t/a= t/b=\nready: t\nturns: t@1\n"
                          "workflow_jobs: " STEP_A " t/b=s,2,7," PLACE "\n" NAMED MORE("7")},
        /* jobs of the roles call (c), answer (a) and step (s); an answer has no element */
        {DELAYED_STEP, "append 2 t/w 2 c t/b 0 \"q\"} e22 '' '' a t/c 0 \"p\"} '' '' ''", "-7", NULL},
        {DELAYED_STEP,
         "append 3 t/w 1 c t/b 0 \"q\"} e22 '' '' t/w 1 a t/c 0 \"p\"} '' '' '' t/w 1 s t/d 0 \"o\"} e3 '' "
         "''",
         "now-9 now-9 -7",
         A_AND("t/b@now t/c@now.0005") "element_jobs:" PLACE ": s,now-9,2,t/a c,now,3,t/b\nelements:" PLACE
                                       ": se1 ce22\n"
                                       "jobs: t/a={r} t/b={\"createdAt\":now,\"q\"} "
                                       "t/c={\"createdAt\":now,\"p\"}\n"
                                       "open:" PLACE ": t/a= t/b= t/c=\nready: t\nturns: t@1\n"
                                       "workflow_jobs: " STEP_A " t/b=c,2,7," PLACE " t/c=a,0,0," PLACE
                                       "\n" NAMED MORE("7")},
        {DELAYED_STEP, "append 3 t/w 2 s t/b 0 \"q\"} e2 '' '' s t/c 0 \"p\"} e3 '' ''", "now-9",
         A_AND("t/b@now t/c@now.0005") "element_jobs:" PLACE
                                       ": s,now-9,2,t/a s,now,2,t/b s,now,2,t/c\nelements:" PLACE
                                       ": se1 se2 se3\n"
                                       "jobs: t/a={r} t/b={\"createdAt\":now,\"q\"} "
                                       "t/c={\"createdAt\":now,\"p\"}\n"
                                       "open:" PLACE ": t/a= t/b= t/c=\nready: t\nturns: t@1\n"
                                       "workflow_jobs: " STEP_A " t/b=s,2,6," PLACE " t/c=s,3,9," PLACE
                                       "\n" NAMED MORE("9")}, );
}
END_TEST

START_TEST(append_adds_all_or_none)
{
    CHECK_EXAMPLES( //
        {ABSENT, "append 0 t/w 1 s t/b 0 \"q\"} e2 '' ''", "-1", NULL},
        {OVER("", "succeeded"), "append 0 t/w 1 s t/b 0 \"q\"} e2 '' ''", "-1", NULL},
        {DELAYED_STEP, "append 0 t/v 1 s t/b 0 \"q\"} e2 '' ''", "-1", NULL},
        {DELAYED_STEP, "append 0 t/w 2 s t/b 0 \"q\"} e2 '' '' s t/a 0 \"p\"} e3 '' ''", "-6", NULL},
        {DELAYED_STEP, "append 0 t/w 2 s t/b 0 \"q\"} e2 '' '' s t/b 0 \"p\"} e3 '' ''", "-6", NULL},
        {DELAYED_STEP, "append 1 t/w 1 s t/b 0 \"q\"} e2 '' ''", "-7", NULL}, );
}
END_TEST

/* Workflow t/w has the job t/b of its step 1. */
#define JOB_B(b)                                                                                             \
    A_AND("t/b@now")                                                                                         \
    "jobs: t/a={r} t/b={\"createdAt\":now,\"q\"}\nopen:" PLACE ": t/a= t/b=" b "\n"                          \
    "ready: t\nturns: t@1\nworkflow_jobs: " STEP_A " t/b=s,2,6," PLACE                                       \
    "\n" NAMED MORE("6") "element_jobs:" PLACE ": s,now-9,2,t/a s,now,2,t/b\nelements:" PLACE ": se1 se2\n"
#define STEPS(steps) "steps:" PLACE ": " steps "\n"

START_TEST(a_step_is_appended_once)
{
    CHECK_EXAMPLES( //
        {DELAYED_STEP, "append 0 t/w 1 s t/b 0 \"q\"} e2 '' 1", "now-9", JOB_B("2") STEPS("=1 1=2,t/b")},
        {DELAYED_STEP STEPS("=1 1=2,t/x"), "append 0 t/w 1 s t/b 0 \"q\"} e2 '' 1", "(t/x)", NULL},
        /* a repeated step needs no room, and its job may have any id */
        {DELAYED_STEP STEPS("=1 1=2,t/x"), "append 1 t/w 1 s t/a 0 \"q\"} e2 '' 1", "(t/x)", NULL},
        /* a step, a call and a plan with the same number are different steps */
        {DELAYED_STEP STEPS("=1 1c=2,t/x"), "append 0 t/w 1 s t/b 0 \"q\"} e2 '' 1", "now-9",
         JOB_B("2") STEPS("=1 1=2,t/b 1c=2,t/x")},
        /* the result of a planned step is followed by the first step behind all steps of its plan */
        {DELAYED_STEP STEPS("=2 1p=3,t/x 2p=3,t/y"), "append 0 t/w 1 s t/b 0 \"q\"} e2 '' 1", "now-9",
         JOB_B("3") STEPS("=2 1=3,t/b 1p=3,t/x 2p=3,t/y")},
        {DELAYED_STEP STEPS("=1 1p=3,t/x"), "append 0 t/w 2 s t/c 0 \"q\"} e1 '' 1p s t/b 0 \"q\"} e2 '' 2p",
         "(t/x '')", JOB_B("=2") STEPS("=2 1p=3,t/x 2p=3,t/b")},
        /* a step that is not appended again uses no id */
        {DELAYED_STEP STEPS("=1 1p=3,t/x"), "append 0 t/w 2 s t/b 0 \"q\"} e1 '' 1p s t/b 0 \"q\"} e2 '' 2p",
         "(t/x '')", JOB_B("=2") STEPS("=2 1p=3,t/x 2p=3,t/b")},
        /* twice in one call */
        {DELAYED_STEP, "append 0 t/w 2 s t/b 0 \"q\"} e2 '' 1 s t/c 0 \"p\"} e3 '' 1", "('' t/b)",
         JOB_B("2") STEPS("=1 1=2,t/b")},
        {DELAYED_STEP, "append 0 t/w 1 s t/b 0 \"q\"} e2 '' 1 t/w 1 s t/c 0 \"p\"} e3 '' 1", "now-9 (t/b)",
         JOB_B("2") STEPS("=1 1=2,t/b")},
        /* the end of the workflow removes its steps */
        {DELAYED_STEP STEPS("=1 1=2,t/x"), "conclude t/w cancelled '' ''", "now-9",
         NAMED E1 "workflows_over: " PLACE "@now\nworkflow:" PLACE
                  ": bytes=3 createdAt=now-9 endedAt=now first=t/a result= settings={s} state=cancelled\n"},
        {DELAYED_STEP STEPS("=1 1=2,t/x"), "begin 0 t/w {z} '' '' '' 1 '' 0 0 s t/b 0 \"q\"} e2 0 ''",
         "(1 now-9)",
         "bucket:t: t/b@now\nelement_jobs:" PLACE ": s,now,2,t/b\nelements:" PLACE
         ": se2\njobs: t/b={\"createdAt\":now,\"q\"}\nopen:" PLACE
         ": t/b=1\nready: t\nturns: t@1\nworkflow:" PLACE
         ": bytes=3 createdAt=now-9 first=t/b settings={z} state=active\n"
         "workflow_jobs: t/b=s,1,3," PLACE "\n" NAMED STEPS("0=1,t/b")}, );
}
END_TEST

START_TEST(calls_of_a_wrong_shape_change_nothing)
{
    static const char *const calls[] = {
        "begin 0 t {s} '' '' '' 0 '' 0 0 s t/b 0 \"q\"} e '' ''",
        "begin 0 t/w {s} '' '' '' 0 '' 0 0 x t/b 0 \"q\"} e '' ''",
        "begin 0 t/w {s} '' '' '' 0 '' 0 0 s u/b 0 \"q\"} e '' ''",
        "begin 0 t/w {s} '' '' '' 0 '' 0 0 s t/b x \"q\"} e '' ''",
        "begin 0 t/w {s} '' '' '' 0 '' 0 0 s t/b 0 \"q\"}",
        "begin 0 t/w {s} '' '' '' 0 t/w 0 0 s t/b 0 \"q\"} e '' ''",
        "begin 0 t/w {s} '' '' '' 0 u/w/9 0 0 s t/b 0 \"q\"} e '' ''",
        "begin 0 t/w {s} '' '' '' 0 t/w/9 x 0 s t/b 0 \"q\"} e '' ''",
        "begin 0 t/w {s} '' '' '' 0 t/w/9 0 x s t/b 0 \"q\"} e '' ''",
        "begin 0 t/w {s} '' '' '' 0 '' 0 0 s t/b 0 \"q\"} e x ''",
        "begin 0 t/w {s} '' '' '' 0 '' 0 0 s t/b 0 \"q\"} e '' 1x",
        "append 0 t/w 1 s t/b 0 \"q\"} e '' p1",
        "wait 0 t/w E T t/b 0 \"p\"} e2 '' t/b \"q\"} e3 -1",
        "append 0 t 1 s t/b 0 \"q\"} e '' ''",
        "append 0 t/w x s t/b 0 \"q\"} e '' ''",
        "append 0 t/w 2 s t/b 0 \"q\"} e '' ''",
        "append 0 t/w 1 w t/b 0 \"q\"} e '' ''",
        "append 0 t/w 1 s u/b 0 \"q\"} e '' ''",
        "append 0 t/w 1 s t/b x \"q\"} e '' ''",
        "append 0 t/w 1 s t 0 \"q\"} e '' ''",
        "arrive t",
        "conclude t cancelled '' ''",
        "conclude t/w active '' ''",
        "conclude t/w failed '' ''",
        "conclude t/w cancelled ''",
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        check_example(&(struct example){LEASED_STEP, calls[i], "ERR", NULL});
}
END_TEST

/* ---- arrive, workflow ---- */

#define THREE                                                                                                \
    "elements:" PLACE ": se1 ce2 se3\nworkflow:" PLACE                                                       \
    ": bytes=9 createdAt=now-9 first=t/a settings={s} state=active\n" NAMED

START_TEST(a_step_arrives_with_the_elements_up_to_its_own)
{
    CHECK_EXAMPLES( //
        {THREE "workflow_jobs: t/a=s,1,3," PLACE " t/b=s,3,9," PLACE "\n", "arrive t/a t/b",
         "(list now-9 (se1)) (list now-9 (se1 ce2 se3))", NULL},
        {THREE "workflow_jobs: t/a=c,2,6," PLACE " t/b=a,0,0," PLACE "\n", "arrive t/a t/b",
         "(own now-9 (se1)) (own now-9 (se1))", NULL},
        {THREE "workflow_jobs: t/a=s,3,1048576," PLACE " t/b=s,3,1048577," PLACE "\n", "arrive t/a t/b",
         "(list now-9 (se1 ce2 se3)) (long now-9 (se1))", NULL},
        {LEASED, "arrive t/a", "(over)", NULL}, {LEASED_STEP, "arrive t/b", "(over)", NULL}, );
}
END_TEST

/* t/a was delivered, but its attempt was lost. Nothing is sent again if the workflow has the step that this
 * delivery was to make. */
START_TEST(a_delivery_that_has_done_its_work_is_not_repeated)
{
#define OPEN(mark) THREE "open:" PLACE ": t/a=" mark "\nworkflow_jobs: t/a=s,1,3," PLACE "\n"
    CHECK_EXAMPLES( //
        {OPEN("2") STEPS("=1 1=2,t/a"), "arrive t/a", "(list now-9 (se1))", NULL},
        {OPEN("2") STEPS("=2 1=2,t/a 2=3,t/b"), "arrive t/a", "(done)", NULL},
        {OPEN("2") STEPS("=3 1=2,t/a 2p=4,t/b 3p=4,t/c"), "arrive t/a", "(done)", NULL},
        {OPEN("4") STEPS("=3 3=4,t/a"), "arrive t/a", "(list now-9 (se1))", NULL},
        /* t/a is the plan of step 2 */
        {OPEN("=2") STEPS("=3 2p=4,t/a 3=4,t/c 3p=4,t/b"), "arrive t/a", "(list now-9 (se1))", NULL},
        {OPEN("=2") STEPS("=3 2=4,t/c 2p=4,t/a 3p=4,t/b"), "arrive t/a", "(done)", NULL},
        {OPEN("=2") STEPS("=3 2c=3,t/c 2p=4,t/a 3p=4,t/b"), "arrive t/a", "(done)", NULL},
        /* an earlier version has appended the step, or the step after it */
        {OPEN("") STEPS("=2 2=3,t/b"), "arrive t/a", "(list now-9 (se1))", NULL},
        {OPEN("2"), "arrive t/a", "(list now-9 (se1))", NULL}, );
}
END_TEST

START_TEST(a_workflow_is_read_with_or_without_its_elements)
{
#define FIELDS "(bytes 9 createdAt now-9 first t/a settings {s} state active)"
#define THREE_JOBS                                                                                           \
    THREE "element_jobs:" PLACE ": s,now-9,2,t/a c,now-8,2,t/b s,now-7,2,t/c\nopen:" PLACE                   \
          ": t/a=\nworkflow_jobs: t/a=s,1,3," PLACE "\n"
    CHECK_EXAMPLES( //
        {THREE_JOBS, "workflow t/w '' 0 9", FIELDS " 1 3 (se1 ce2 se3) () ()", NULL},
        {THREE_JOBS, "workflow t/w '' 0 8", FIELDS " 1 3 (se1) () ()", NULL},
        {THREE_JOBS, "workflow t/w '' 0 -1", FIELDS " 1 3 () () ()", NULL},
        {THREE_JOBS, "workflow t/w '' 1 -1",
         FIELDS " 1 3 () (s now-9 2 t/a c now-8 2 t/b s now-7 2 t/c) (t/a s 1 3 " PLACE " '')", NULL},
        {THREE_JOBS, "workflow t/w '' 1 9",
         FIELDS " 1 3 (se1 ce2 se3) (s now-9 2 t/a c now-8 2 t/b s now-7 2 t/c) (t/a s 1 3 " PLACE " '')",
         NULL},
        {THREE, "workflow t/w now-9 0 -1", FIELDS " 0 3 () () ()", NULL},
        {THREE, "workflow t/w now-8 0 -1", "", NULL}, {THREE, "workflow t/v '' 0 -1", "", NULL}, );
}
END_TEST

/* Three workflows, in the order of their creation. Two of them have ended. */
#define LISTED                                                                                               \
    "elements:t/w1/now-9: se1 se2\nelements:u/w2/now-8: se1\nelements:t/w3/now-7: se1\n"                     \
    "open:t/w3/now-7: t/c=\nworkflow_times: t/w1/now-9@now-9 u/w2/now-8@now-8 t/w3/now-7@now-7\n"            \
    "workflow:t/w1/now-9: createdAt=now-9 endedAt=now-3 failedBy=t/b first=t/a settings={1} state=failed\n"  \
    "workflow:u/w2/now-8: createdAt=now-8 endedAt=now-2 first=u/a result=2 settings={2} state=succeeded\n"   \
    "workflow:t/w3/now-7: createdAt=now-7 first=t/c settings={3} state=active\n"
#define ITEM_1 "t/w1/now-9 (failed now-9 now-3 t/a t/b '' {1}) 0 2"
#define ITEM_2 "u/w2/now-8 (succeeded now-8 now-2 u/a '' 2 {2}) 0 1"
#define ITEM_3 "t/w3/now-7 (active now-7 '' t/c '' '' {3}) 1 1"

START_TEST(workflows_are_listed_latest_first)
{
    CHECK_EXAMPLES( //
        {LISTED, "workflow_list '' '' '' '' 9 9", "'' " ITEM_3 " " ITEM_2 " " ITEM_1, NULL},
        {LISTED, "workflow_list '' '' '' '' 2 9", "u/w2/now-8 " ITEM_3 " " ITEM_2, NULL},
        {LISTED, "workflow_list '' '' '' u/w2/now-8 2 9", "'' " ITEM_1, NULL},
        {LISTED, "workflow_list '' '' '' t/w1/now-9 2 9", "''", NULL},
        /* the workflow after which the page begins has been removed */
        {LISTED, "workflow_list '' '' '' t/gone/now-8 2 9", "'' " ITEM_1, NULL},
        {LISTED, "workflow_list t '' '' '' 9 9", "'' " ITEM_3 " " ITEM_1, NULL},
        {LISTED, "workflow_list t w1 '' '' 9 9", "'' " ITEM_1, NULL},
        {LISTED, "workflow_list '' '' failed '' 9 9", "'' " ITEM_1, NULL},
        /* the call examines only two workflows */
        {LISTED, "workflow_list '' '' failed '' 9 2", "u/w2/now-8", NULL},
        {ABSENT, "workflow_list '' '' '' '' 9 9", "''", NULL}, );
}
END_TEST

#define HOOKED(bytes)                                                                                        \
    "workflow:" PLACE ": bytes=" bytes " createdAt=now-9 first=t/a settings={s} state=active webhook|E=\n"

START_TEST(a_step_notes_the_webhook_that_it_creates)
{
    CHECK_EXAMPLES( //
        {DELAYED_STEP, "append 0 t/w 1 s t/b 0 \"q\"} e22 webhook\nE ''", "now-9",
         A_AND("t/b@now") "element_jobs:" PLACE ": s,now-9,2,t/a s,now,3,t/b\nelements:" PLACE ": se1 se22\n"
                          "jobs: t/a={r} t/b={\"createdAt\":now,\"q\"}\nopen:" PLACE
                          ": t/a= t/b=\nready: t\nturns: t@1\n"
                          "workflow_jobs: " STEP_A " t/b=s,2,7," PLACE "\n" NAMED HOOKED("7")},
        {DELAYED_STEP, "append 1 t/w 1 s t/b 0 \"q\"} e2 webhook\nE ''", "-7", NULL}, );
}
END_TEST

/* ---- waits ---- */

#define WAITING WAITING_AS("")
#define WAITING_AS(mark)                                                                                     \
    DELAYED ACTIVE "open:" PLACE ": t/a=" mark "\nworkflow_jobs: t/a=w,0,0," PLACE "\nwaits: t/a=1,1,ETe2\n" \
                   "waiters:t/E: t/a@now-5\nwaiters:" PLACE "/E: t/a@now-5\n"
#define TAKEN_BY(job, element) TAKEN_AS(job, element, "")
#define TAKEN_AS(job, element, mark)                                                                         \
    NAMED "element_jobs:" PLACE ": s,now-9,2,t/a s,now,2," job "\nelements:" PLACE ": se1 s" element         \
          "\nopen:" PLACE ": " job "=" mark "\nworkflow:" PLACE                                              \
          ": bytes=6 createdAt=now-9 first=t/a settings={s} state=active\nworkflow_jobs: " job               \
          "=s,2,6," PLACE "\n"
#define B_READY "bucket:t: t/b@now\njobs: t/b={\"createdAt\":now,\"q\"}\nready: t\nturns: t@1\n"

START_TEST(a_wait_ends_with_its_event_or_its_deadline)
{
    CHECK_EXAMPLES( //
        {WAITING, "arrive t/a", "(list now-9 (se1 se2))", DELAYED TAKEN_BY("t/a", "e2")},
        {DELAYED ACTIVE "workflow_jobs: t/a=w,0,0," PLACE "\nwaits: t/a=x\n", "arrive t/a", "(unreadable)",
         NULL},
        {DELAYED ACTIVE "workflow_jobs: t/a=w,0,0," PLACE "\n", "arrive t/a", "(unreadable)", NULL},
        {WAITING, "waiters t E '' 9 ''", "'' t/a T", NULL},
        {WAITING, "waiters t E t/w 9 ''", "'' t/a T", NULL},
        {WAITING, "workflow t/w '' 1 -1",
         "(bytes 3 createdAt now-9 first t/a settings {s} state active) 1 1 () (s now-9 2 t/a) (t/a w 0 "
         "0 " PLACE " T)",
         NULL},
        {WAITING, "waiters t F '' 9 ''", "''", NULL}, {WAITING, "waiters t E t/v 9 ''", "''", NULL},
        {WAITING, "notify t E '' '' t/a t/b \"q\"} e3", "(0 1)", TAKEN_BY("t/b", "e3") B_READY},
        {WAITING "history: backlog=1000000 bodies=on\n", "notify t E t/w d t/a t/b \"q\"} e3", "(0 1)",
         TAKEN_BY("t/b", "e3") B_READY "history: backlog=1000000 bodies=on\n"
                                       "ended: t/a=cancelled,now,0,3,{r}\nended_ids: t/a\n"},
        {WAITING, "notify t E t/w d", "(-2)", NULL}, {WAITING, "notify t E t/v d", "(-1)", NULL},
        {WAITING, "notify t E '' '' t/c t/b \"q\"} e3", "(0 0)", NULL},
        {WAITING, "conclude t/w cancelled '' ''", "now-9",
         NAMED E1 "workflows_over: " PLACE "@now\nworkflow:" PLACE
                  ": bytes=3 createdAt=now-9 endedAt=now first=t/a result= settings={s} state=cancelled\n"},
        {WAITING, "cancel t/a ''", "0",
         NAMED E1 "workflows_over: " PLACE "@now\nworkflow:" PLACE
                  ": bytes=3 createdAt=now-9 endedAt=now first=t/a settings={s} state=cancelled\n"}, );
}
END_TEST

#define THREE_WAIT "waits: t/a=1,1,ETe2 t/b=x t/c=1,1,ESe2\nwaiters:t/E: t/a@now-5 t/b@now-5 t/c@now-5\n"

#define WAIT(event, data, step) "wait 0 t/w " event " T t/w 0 \"p\"} e2 " data " t/b \"q\"} e3 " step

START_TEST(a_step_waits_once)
{
    CHECK_EXAMPLES( //
        {WAITING STEPS("=1 1=2,t/a"), WAIT("E", "''", "1"), "1", NULL},
        {ACTIVE, WAIT("E", "''", "1"), "1",
         ACTIVE "bucket:t: t/w@now\njobs: t/w={\"createdAt\":now,\"p\"}\nopen:" PLACE
                ": t/w=2\nready: t\nturns: t@1\n" STEPS(
                    "=1 1=2,t/w") "waiters:" PLACE "/E: t/w@now\nwaiters:t/E: t/w@now\nwaits: "
                                  "t/w=1,1,ETe2\nworkflow_jobs: t/w=w,0,0," PLACE "\n"},
        /* the job that replaces the wait is followed by the same step */
        {WAITING_AS("2") STEPS("=1 1=2,t/a"), "notify t E '' '' t/a t/b \"q\"} e3", "(0 1)",
         TAKEN_AS("t/b", "e3", "2") B_READY STEPS("=1 1=2,t/a")}, );
}
END_TEST

START_TEST(waiters_are_read_page_by_page)
{
    CHECK_EXAMPLES( //
        {THREE_WAIT, "waiters t E '' 1 ''", "now-5:t/a t/a T", NULL},
        /* t/b cannot be read */
        {THREE_WAIT, "waiters t E '' 1 now-5:t/a", "now-5:t/b t/b ''", NULL},
        {THREE_WAIT, "waiters t E '' 9 now-5:t/a", "'' t/b '' t/c S", NULL},
        {THREE_WAIT, "waiters t E '' 1 now-5:t/b", "'' t/c S", NULL},
        /* the last job of the previous page has stopped waiting */
        {THREE_WAIT, "waiters t E '' 9 now-5:t/bb", "'' t/c S", NULL},
        {THREE_WAIT, "waiters t E '' 9 now-6:t/x", "'' t/a T t/b '' t/c S", NULL},
        {THREE_WAIT, "waiters t E '' 9 now-5:t/c", "''", NULL}, );
}
END_TEST

/* Three events are kept: two named E, one named F. The number of their bytes in the key numbers is not
 * compared here, but in the tests of the model. */
#define KEPT_EVENTS                                                                                          \
    "event_names:" PLACE ": =308 E=206 F=102\nevents:" PLACE "/E: d1 d2\nevents:" PLACE "/F: d\n"
#define KEPT_F     "event_names:" PLACE ": =102 F=102\nevents:" PLACE "/F: d\n"
#define BYTES(all) "numbers: event_bytes=" all "\n"

START_TEST(events_are_kept_within_their_limits)
{
    CHECK_EXAMPLES( //
        {DELAYED_STEP, "notify t F t/w d", "(1)", DELAYED_STEP KEPT_F},
        {DELAYED_STEP KEPT_F BYTES("102"), "notify t E t/w d1", "(1)",
         DELAYED_STEP "event_names:" PLACE ": =205 E=103 F=102\nevents:" PLACE "/E: d1\nevents:" PLACE
                      "/F: d\n"},
        /* events of webhooks may have 2 MiB of the room of their workflow */
        {DELAYED_STEP, "notify t webhook\nF t/w d", "(1)",
         DELAYED_STEP "event_names:" PLACE ": =110 webhook|=110 webhook|F=110\nevents:" PLACE
                      "/webhook|F: d\n"},
        {DELAYED_STEP "event_names:" PLACE ": =2097042 webhook|=2097042\n", "notify t webhook\nF t/w d",
         "(1)",
         DELAYED_STEP "event_names:" PLACE ": =2097152 webhook|=2097152 webhook|F=110\nevents:" PLACE
                      "/webhook|F: d\n"},
        {DELAYED_STEP "event_names:" PLACE ": =2097043 webhook|=2097043\n", "notify t webhook\nF t/w d",
         "(-7)", NULL},
        /* the events that are kept for one workflow may have at most 4 MiB */
        {DELAYED_STEP "event_names:" PLACE ": =4194202\n", "notify t F t/w d", "(1)",
         DELAYED_STEP "event_names:" PLACE ": =4194304 F=102\nevents:" PLACE "/F: d\n"},
        {DELAYED_STEP "event_names:" PLACE ": =4194203\n", "notify t F t/w d", "(-7)", NULL},
        /* the events that are kept for all workflows may have at most 256 MiB */
        {DELAYED_STEP BYTES("268435354"), "notify t F t/w d", "(1)", DELAYED_STEP KEPT_F},
        {DELAYED_STEP BYTES("268435355"), "notify t F t/w d", "(-7)", DELAYED_STEP}, );
}
END_TEST

START_TEST(the_room_of_an_event_is_free_after_it_was_taken)
{
    CHECK_EXAMPLES( //
        {ACTIVE KEPT_F BYTES("102"), WAIT("F", "d", "''"), "2", TAKEN_BY("t/b", "e3") B_READY},
        {ACTIVE KEPT_EVENTS BYTES("400"), WAIT("E", "d1", "''"), "2",
         TAKEN_BY("t/b", "e3") B_READY "event_names:" PLACE ": =205 E=103 F=102\nevents:" PLACE
                                       "/E: d2\nevents:" PLACE "/F: d\n"},
        /* a version before 0.3 has kept the events */
        {ACTIVE "event_names:" PLACE ": E=4\nevents:" PLACE "/E: d1 d2\n", WAIT("E", "d1", "''"), "2",
         TAKEN_BY("t/b", "e3") B_READY "event_names:" PLACE ": =-103 E=-99\nevents:" PLACE "/E: d2\n"},
        {ACTIVE "event_names:" PLACE ": =-103 E=-99\nevents:" PLACE "/E: d2\n" BYTES("-103"),
         WAIT("E", "d2", "''"), "2", TAKEN_BY("t/b", "e3") B_READY},
        {DELAYED_STEP KEPT_EVENTS BYTES("308"), "conclude t/w cancelled '' ''", "now-9",
         NAMED E1 "workflows_over: " PLACE "@now\nworkflow:" PLACE
                  ": bytes=3 createdAt=now-9 endedAt=now first=t/a result= settings={s} state=cancelled\n"},
        {DELAYED_STEP KEPT_EVENTS BYTES("309"), "cancel t/a ''", "0", OVER("", "cancelled")}, );
}
END_TEST

/* ---- ends ---- */

START_TEST(conclude_drops_what_is_left)
{
    CHECK_EXAMPLES( //
        {DELAYED_STEP, "conclude t/w succeeded r ''", "now-9",
         NAMED E1 "workflows_over: " PLACE "@now\nworkflow:" PLACE
                  ": bytes=3 createdAt=now-9 endedAt=now first=t/a result=r settings={s} state=succeeded\n"},
        {LEASED_STEP, "conclude t/w cancelled '' '' t/w succeeded '' ''", "now-9 -1",
         NAMED E1
         "workflows_over: " PLACE "@now\nworkflow:" PLACE
         ": bytes=3 createdAt=now-9 endedAt=now first=t/a result= settings={s} state=cancelled\n" LINGERING},
        {OVER("", "failed"), "conclude t/w cancelled '' ''", "-1", NULL},
        {ABSENT, "conclude t/w cancelled '' ''", "-1", NULL}, );
}
END_TEST

START_TEST(dropped_jobs_are_in_the_history)
{
#define ON "history: backlog=1000000 bodies=on\n"
    CHECK_EXAMPLES( //
        {DELAYED_STEP ON, "conclude t/w succeeded r ''", "now-9",
         ON NAMED E1
         "ended: t/a=cancelled,now,0,3,{r}\nended_ids: t/a\n"
         "workflows_over: " PLACE "@now\nworkflow:" PLACE
         ": bytes=3 createdAt=now-9 endedAt=now first=t/a result=r settings={s} state=succeeded\n"},
        {LEASED_STEP ON, "conclude t/w succeeded r ''", "now-9",
         ON NAMED E1
         "ended: t/a=delivered,now,0,3,{r}\nended_ids: t/a\n" LINGERING "workflows_over: " PLACE
         "@now\nworkflow:" PLACE
         ": bytes=3 createdAt=now-9 endedAt=now first=t/a result=r settings={s} state=succeeded\n"},
        {DELAYED_STEP ON, "begin 0 t/w {z} '' '' '' 1 '' 0 0 s t/b 0 \"q\"} e2 '' ''", "(1 now-9)",
         ON NAMED "bucket:t: t/b@now\nelement_jobs:" PLACE ": s,now,2,t/b\nelements:" PLACE
                  ": se2\nended: t/a=cancelled,now,0,3,{r}\n"
                  "ended_ids: t/a\njobs: t/b={\"createdAt\":now,\"q\"}\nopen:" PLACE ": t/b=\nready: t\n"
                  "turns: t@1\nworkflow:" PLACE
                  ": bytes=3 createdAt=now-9 first=t/b settings={z} state=active\n"
                  "workflow_jobs: t/b=s,1,3," PLACE "\n"}, );
}
END_TEST

#define STEP_AND_ANSWER                                                                                      \
    "bucket:t: t/a@now+60000\ndue: t@now+60000\nholders:t: t/b=n1,now-9\njobs: t/a={r} t/b={q}\n"            \
    "leases: t/b@now+3000\n" ACTIVE "open:" PLACE ": t/a= t/b=\nworkflow_jobs: " STEP_A " t/b=a,0,0," PLACE  \
    "\n"
#define LINGERING_B "holders:t: t/b|n1=\nlingering: t/b|n1@now+3000\n"

START_TEST(a_job_that_ends_leaves_its_workflow)
{
    CHECK_EXAMPLES( //
        {LEASED_STEP, "complete t/a n1 ''", "1", ACTIVE}, {LEASED_STEP, "complete t/a n2 ''", "0", NULL},
        /* When a job of a workflow is cancelled, the workflow ends, because nothing else would continue
         * it. */
        {DELAYED_STEP, "cancel t/a ''", "0", OVER("", "cancelled")},
        {LEASED_STEP, "cancel t/a ''", "1", OVER("", "cancelled") LINGERING},
        /* when the first job is cancelled, the workflow's other jobs are cancelled, too; those that the call
         * also names get the answers of cancelled jobs */
        {STEP_AND_ANSWER, "cancel t/a '' t/b '' t/c ''", "(0 1t/b) 1 -1", OVER("", "cancelled") LINGERING_B},
        {STEP_AND_ANSWER, "cancel t/b alive t/a alive t/b '' t/a ''", "(1 0t/a) 0 -1 -1",
         OVER("", "cancelled") LINGERING_B}, );
}
END_TEST

#define LEASED_AS(role) LEASED ACTIVE "open:" PLACE ": t/a=\nworkflow_jobs: t/a=" role ",0,0," PLACE "\n"
#define FOLLOW_UP       "bucket:t~c: t~c/f@now\nready: t~c\nturns: t~c@1\n"
#define OF_CALL         "open:" PLACE ": t~c/f=\nworkflow_jobs: t~c/f=a,0,0," PLACE "\n"

START_TEST(what_follows_from_a_call_is_its_answer)
{
    CHECK_EXAMPLES( //
        {LEASED_AS("c"), "complete t/a n1 '' 1 t~c/f 0 \"x\"} +1", "1",
         ACTIVE FOLLOW_UP OF_CALL "jobs: t~c/f={\"createdAt\":now,\"x\"}\n"},
        {LEASED_AS("c"), "bury t/a n1 {d} '' 1 t~c/f 0 \"x\"} +1", "1",
         ACTIVE FOLLOW_UP OF_CALL "jobs: t~c/f={\"createdAt\":now,\"x\"}\n" DIED("now", "0,3,{d}")},
        {LEASED_AS("c"), "bury t/a n1 {d} ''", "1", ACTIVE DIED("now", "0,3,{d}")},
        /* follow-ups of a step do not belong to the workflow */
        {LEASED_AS("s"), "complete t/a n1 '' 1 t~c/f 0 \"x\"} +1", "1",
         ACTIVE FOLLOW_UP "jobs: t~c/f={\"createdAt\":now,\"x\"}\n"},
        {LEASED_AS("a"), "complete t/a n1 '' 1 t~c/f 0 \"x\"} +1", "1",
         ACTIVE FOLLOW_UP "jobs: t~c/f={\"createdAt\":now,\"x\"}\n"}, );
}
END_TEST

#define FAILED OVER("failedBy=t/a ", "failed") DIED("now", "0,3,{d}")

START_TEST(the_death_of_a_step_fails_its_workflow)
{
    CHECK_EXAMPLES( //
        {LEASED_STEP, "bury t/a n1 {d} ''", "1", FAILED}, {LEASED_AS("a"), "bury t/a n1 {d} ''", "1", FAILED},
        {LEASED_STEP, "bury t/a n2 {d} ''", "0", NULL},
        {LEASED_STEP, "bury t/a n1 {d} '' 1 t~c/f 0 \"x\"} +1", "1",
         FAILED FOLLOW_UP "jobs: t~c/f={\"createdAt\":now,\"x\"}\n"},
        /* other jobs of the workflow are dropped */
        {"bucket:t: t/b@now+9\ndue: t@now+9\nholders:t: t/a=n1,now-1000 t/c=n1,now-1000\n"
         "jobs: t/a={r} t/b={q} t/c={p}\nleases: t/a@now+9 t/c@now+9\n" ACTIVE "open:" PLACE
         ": t/a= t/b= t/c=\nworkflow_jobs: " STEP_A " t/b=a,0,0," PLACE " t/c=c,1,3," PLACE "\n",
         "bury t/a n1 {d} ''", "1", FAILED "holders:t: t/c|n1=\nlingering: t/c|n1@now+9\n"}, );
}
END_TEST

START_TEST(a_workflow_fails_once)
{
#define TWO_STEPS                                                                                            \
    "holders:t: t/a=n1,now-1000 t/b=n1,now-1000\njobs: t/a={r} t/b={q}\nleases: t/a@now+9 "                  \
    "t/b@now+9\n" ACTIVE "open:" PLACE ": t/a= t/b=\nworkflow_jobs: " STEP_A " t/b=s,1,3," PLACE "\n"
    CHECK_EXAMPLES( //
        {TWO_STEPS, "bury t/a n1 {d} '' t/b n1 {e} '' 1 t~c/f 0 \"x\"} 2 t~c/g 0 \"y\"} +2", "1 0",
         FAILED FOLLOW_UP "jobs: t~c/f={\"createdAt\":now,\"x\"}\n"}, );
}
END_TEST

/* ---- parents ---- */

/* Workflow t/w has a parent, t/p, which gets the element f if t/w fails, or c if it is cancelled. */
#define PARENT(state)                                                                                        \
    "workflow:t/p/now-7: bytes=3 createdAt=now-7 state=" state                                               \
    "\nelement_jobs:t/p/now-7: s,now-7,2,t/p1\nelements:t/p/now-7: se0\n"
#define CHILD                                                                                                \
    LEASED NAMED E1                                                                                          \
        "workflow:" PLACE                                                                                    \
        ": bytes=3 createdAt=now-9 first=t/a ifCancelled=3,4,t/c\"q\"}c ifFailed=3,4,t/f\"q\"}f "            \
        "parent=t/p/now-7 settings={s} state=active\nopen:" PLACE ": t/a=\nworkflow_jobs: " STEP_A "\n"
#define CHILD_OVER(more, state)                                                                              \
    NAMED E1 "workflows_over: " PLACE "@now\nworkflow:" PLACE ": bytes=3 createdAt=now-9 endedAt=now " more  \
             "state=" state "\n"
#define PREPARED           "ifCancelled=3,4,t/c\"q\"}c ifFailed=3,4,t/f\"q\"}f parent=t/p/now-7 "
#define GETS(job, element) GETS_AS(job, element, "")
#define GETS_AS(job, element, mark)                                                                          \
    "bucket:t: " job "@now\njobs: " job "={\"createdAt\":now,\"q\"}\nready: t\nturns: t@1\n"                 \
    "workflow:t/p/now-7: bytes=5 createdAt=now-7 state=active\nelement_jobs:t/p/now-7: s,now-7,2,t/p1 "      \
    "s,now,1," job "\nelements:t/p/now-7: se0 s" element "\n"                                                \
    "open:t/p/now-7: " job "=" mark "\nworkflow_jobs: " job "=s,2,5,t/p/now-7\n"

/* The parent t/p gets an element and a job, and then fails with its own step t/b in the same call, which
 * drops this job. */
START_TEST(a_job_that_a_call_has_scheduled_can_be_dropped_by_it)
{
    CHECK_EXAMPLES( //
        {"holders:t: t/a=n1,now-1000 t/b=n1,now-1000\njobs: t/a={r} t/b={q}\nleases: t/a@now+9 "
         "t/b@now+9\n" NAMED E1 "workflow:" PLACE ": bytes=3 createdAt=now-9 first=t/a " PREPARED
         "settings={s} state=active\nopen:" PLACE ": t/a=\nopen:t/p/now-7: t/b=\nworkflow_jobs: " STEP_A
         " t/b=s,1,3,t/p/now-7\n" PARENT("active"),
         "bury t/a n1 {d} '' t/b n1 {e} ''", "1 1",
         "dead: t/a@now t/b@now\ndead:t: t/a@now t/b@now\ndead_due: t@inf\n"
         "kept: t/a=dead,now,0,3,{d} t/b=dead,now,0,3,{e}\n"
         "element_jobs:t/p/now-7: s,now-7,2,t/p1 s,now,1,t/f\nelements:t/p/now-7: se0 "
         "sf\nworkflow:t/p/now-7: bytes=5 createdAt=now-7 endedAt=now failedBy=t/b "
         "state=failed\n" NAMED E1 "workflows_over: t/p/now-7@now " PLACE "@now\nworkflow:" PLACE
         ": bytes=3 createdAt=now-9 endedAt=now failedBy=t/a first=t/a " PREPARED
         "settings={s} state=failed\n"}, );
}
END_TEST

START_TEST(the_parent_gets_an_element_at_the_end)
{
    CHECK_EXAMPLES( //
        {PARENT("active") CHILD, "bury t/a n1 {d} ''", "1",
         GETS("t/f", "f") CHILD_OVER("failedBy=t/a first=t/a " PREPARED "settings={s} ", "failed")
             DIED("now", "0,3,{d}")},
        {PARENT("active") CHILD, "conclude t/w cancelled '' ''", "now-9",
         GETS("t/c", "c") CHILD_OVER("first=t/a " PREPARED "result= settings={s} ", "cancelled") LINGERING},
        {PARENT("failed") CHILD, "bury t/a n1 {d} ''", "1",
         PARENT("failed") CHILD_OVER("failedBy=t/a first=t/a " PREPARED "settings={s} ", "failed")
             DIED("now", "0,3,{d}")}, );
}
END_TEST

START_TEST(a_step_of_the_parent_starts_one_workflow)
{
    CHECK_EXAMPLES( //
        {PARENT("active"), "begin 0 t/w {s} t/p/now-7 x y 0 '' 0 0 s t/a 0 \"r\"} e1 0 4", "(1 now)",
         PARENT("active") BEGUN_AS("1") "steps:t/w/now: 0=1,t/a\nsteps:t/p/now-7: =4 4=5,t/a\n"
                                        "workflow:t/w/now: bytes=3 createdAt=now first=t/a ifCancelled=y "
                                        "ifFailed=x parent=t/p/now-7 "
                                        "parentStep=4 settings={s} state=active\n"},
        {PARENT("active") "steps:t/p/now-7: =4 4=5,t/x\n",
         "begin 0 t/w {s} t/p/now-7 x y 0 '' 0 0 s t/a 0 \"r\"} e1 0 4", "(0 now-7 t/x)", NULL},
        /* a parent that has ended gets nothing */
        {PARENT("failed"), "begin 0 t/w {s} t/p/now-7 x y 0 '' 0 0 s t/a 0 \"r\"} e1 '' 4", "(1 now)",
         PARENT("failed") BEGUN "workflow:t/w/now: bytes=3 createdAt=now first=t/a ifCancelled=y "
                                "ifFailed=x parent=t/p/now-7 settings={s} state=active\n"},
        /* the child's end is followed by the same step as the parent's step */
        {PARENT("active") "steps:t/p/now-7: =4 4=5,t/a\n" LEASED NAMED E1 "workflow:" PLACE
                          ": bytes=3 createdAt=now-9 first=t/a " PREPARED
                          "parentStep=4 settings={s} state=active\nopen:" PLACE
                          ": t/a=\nworkflow_jobs: " STEP_A "\n",
         "conclude t/w cancelled '' ''", "now-9",
         GETS_AS("t/c", "c", "5") "steps:t/p/now-7: =4 4=5,t/a\n" LINGERING CHILD_OVER(
             "first=t/a " PREPARED "parentStep=4 result= settings={s} ", "cancelled")}, );
}
END_TEST

/* ---- workflows that go on ---- */

/* Workflow t/w has failed with its job t/a, and is continued as t/v. */
#define LETTER     DIED("now-4", "0,3,{d}")
#define HAS_FAILED OVER("failedBy=t/a ", "failed") LETTER
#define THREE_OVER                                                                                           \
    NAMED "element_jobs:" PLACE ": s,now-9,2,t/a c,now-8,3,t/x s,now-7,2,t/y\n"                              \
          "elements:" PLACE ": se1 ce22 se3\nworkflows_over: " PLACE "@now\nworkflow:" PLACE                 \
          ": bytes=10 createdAt=now-9 endedAt=now failedBy=t/a first=t/a settings={s} state=failed\n" LETTER
#define GO_ON(kept) "begin 0 t/v {z} '' '' '' 0 " PLACE " " kept " s t/b 0 \"q\"} e4 '' ''"
#define GOES_ON(jobs_of_elements, elements, bytes, number)                                                   \
    "bucket:t: t/b@now\nelement_jobs:t/v/now: " jobs_of_elements "s,now,2,t/b\nelements:t/v/now: " elements  \
    "\njobs: t/b={\"createdAt\":now,\"q\"}\n"                                                                \
    "open:t/v/now: t/b=\nready: t\nturns: t@1\nworkflow_jobs: t/b=s," number "," bytes ",t/v/now\n"          \
    "workflow_times: " PLACE "@now-9 t/v/now@now\nworkflows: t/v=now t/w=now-9\n"                            \
    "workflows_over: " PLACE "@now\nworkflow:t/v/now: bytes=" bytes                                          \
    " createdAt=now first=t/b settings={z} state=active\n"
#define LEFT                                                                                                 \
    "element_jobs:" PLACE ": s,now-9,2,t/a c,now-8,3,t/x s,now-7,2,t/y\n"                                    \
    "elements:" PLACE ": se1 ce22 se3\nworkflow:" PLACE                                                      \
    ": bytes=10 createdAt=now-9 endedAt=now failedBy=t/a first=t/a settings={s} state=failed\n"

START_TEST(a_failed_workflow_goes_on_as_another_one)
{
    CHECK_EXAMPLES( //
        {THREE_OVER, GO_ON("2 7"), "(1 now)",
         GOES_ON("s,now-9,2,t/a c,now-8,3,t/x ", "se1 ce22 se4", "10", "3") LEFT},
        {THREE_OVER, GO_ON("0 0"), "(1 now)", GOES_ON("", "se4", "3", "1") LEFT},
        /* the job is an answer, which has no element */
        {THREE_OVER, "begin 0 t/v {z} '' '' '' 0 " PLACE " 3 10 a t/b 0 \"q\"} '' '' ''", "(1 now)",
         "bucket:t: t/b@now\nelement_jobs:t/v/now: s,now-9,2,t/a c,now-8,3,t/x "
         "s,now-7,2,t/y\nelements:t/v/now: se1 ce22 se3\njobs: t/b={\"createdAt\":now,\"q\"}\n"
         "open:t/v/now: t/b=\nready: t\nturns: t@1\nworkflow_jobs: t/b=a,0,0,t/v/now\n"
         "workflow_times: " PLACE "@now-9 t/v/now@now\nworkflows: t/v=now t/w=now-9\n"
         "workflows_over: " PLACE "@now\nworkflow:t/v/now: bytes=10 createdAt=now first=t/b settings={z} "
         "state=active\n" LEFT},
        /* the workflow is continued under its own id */
        {HAS_FAILED, "begin 0 t/w {z} '' '' '' 0 " PLACE " 1 3 s t/b 0 \"q\"} e4 '' ''", "(1 now)",
         "bucket:t: t/b@now\nelement_jobs:t/w/now: s,now-9,2,t/a s,now,2,t/b\nelements:t/w/now: se1 "
         "se4\njobs: t/b={\"createdAt\":now,\"q\"}\n"
         "open:t/w/now: t/b=\nready: t\nturns: t@1\nworkflow_jobs: t/b=s,2,6,t/w/now\n"
         "workflow_times: " PLACE "@now-9 t/w/now@now\nworkflows: t/w=now\n"
         "workflows_over: " PLACE
         "@now\nworkflow:t/w/now: bytes=6 createdAt=now first=t/b previous=now-9 settings={z} "
         "state=active\n" E1 HAS("endedAt=now failedBy=t/a ", "failed")},
        /* the dead job that is removed is written to the outbox of the history */
        {THREE_OVER ON, GO_ON("0 0"), "(1 now)",
         GOES_ON("", "se4", "3", "1") LEFT ON "ended: t/a=cancelled,now,0,3,{d}\nended_ids: t/a\n"}, );
}
END_TEST

START_TEST(a_workflow_goes_on_once_and_only_if_it_has_failed)
{
    CHECK_EXAMPLES( //
        {HAS_FAILED, GO_ON("2 7"), "-1", NULL}, {OVER("failedBy=t/a ", "failed"), GO_ON("0 0"), "-1", NULL},
        {OVER("", "cancelled") LETTER, GO_ON("0 0"), "-1", NULL}, {DELAYED_STEP, GO_ON("0 0"), "-1", NULL},
        {ABSENT, GO_ON("0 0"), "-1", NULL},
        {THREE_OVER, GO_ON("0 0") " t/u {z} '' '' '' 0 " PLACE " 0 0 s t/c 0 \"q\"} e4 '' ''", "(1 now) -1",
         GOES_ON("", "se4", "3", "1") LEFT},
        {HAS_FAILED "jobs: t/b={r}\nbucket:t: t/b@now+60000\ndue: t@now+60000\n", GO_ON("0 0"), "-6", NULL},
        {HAS_FAILED DELAYED, "begin 1 t/v {z} '' '' '' 0 " PLACE " 0 0 s t/b 0 \"q\"} e4 '' ''", "-7",
         NULL}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_workflows");
    TCase *tests = examples_case("workflows");
    tcase_add_test(tests, begin_makes_a_workflow_with_its_first_job);
    tcase_add_test(tests, begin_leaves_an_active_workflow_alone);
    tcase_add_test(tests, begin_may_replace_an_active_workflow);
    tcase_add_test(tests, an_id_can_be_used_again);
    tcase_add_test(tests, workflows_that_ended_long_ago_go);
    tcase_add_test(tests, append_adds_elements_and_their_jobs);
    tcase_add_test(tests, append_adds_all_or_none);
    tcase_add_test(tests, a_step_notes_the_webhook_that_it_creates);
    tcase_add_test(tests, a_step_is_appended_once);
    tcase_add_test(tests, calls_of_a_wrong_shape_change_nothing);
    tcase_add_test(tests, a_step_arrives_with_the_elements_up_to_its_own);
    tcase_add_test(tests, a_delivery_that_has_done_its_work_is_not_repeated);
    tcase_add_test(tests, a_workflow_is_read_with_or_without_its_elements);
    tcase_add_test(tests, workflows_are_listed_latest_first);
    tcase_add_test(tests, a_wait_ends_with_its_event_or_its_deadline);
    tcase_add_test(tests, a_step_waits_once);
    tcase_add_test(tests, waiters_are_read_page_by_page);
    tcase_add_test(tests, events_are_kept_within_their_limits);
    tcase_add_test(tests, the_room_of_an_event_is_free_after_it_was_taken);
    tcase_add_test(tests, conclude_drops_what_is_left);
    tcase_add_test(tests, dropped_jobs_are_in_the_history);
    tcase_add_test(tests, a_job_that_ends_leaves_its_workflow);
    tcase_add_test(tests, what_follows_from_a_call_is_its_answer);
    tcase_add_test(tests, the_death_of_a_step_fails_its_workflow);
    tcase_add_test(tests, a_workflow_fails_once);
    tcase_add_test(tests, a_job_that_a_call_has_scheduled_can_be_dropped_by_it);
    tcase_add_test(tests, the_parent_gets_an_element_at_the_end);
    tcase_add_test(tests, a_step_of_the_parent_starts_one_workflow);
    tcase_add_test(tests, a_failed_workflow_goes_on_as_another_one);
    tcase_add_test(tests, a_workflow_goes_on_once_and_only_if_it_has_failed);
    suite_add_tcase(suite, tests);
    return suite;
}

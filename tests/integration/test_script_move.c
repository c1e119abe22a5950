/* Tests export.lua and import.lua: rows of one Redis, and the same rows in another. */
#include "support/script_examples.h"
#include "support/suite.h"

#define RECORD   "{\"createdAt\":1,\"head\":\"1;0;0;0;-;0;\"}"
#define KEYED    "{\"createdAt\":1,\"head\":\"1;0;0;7;k;9;k1\",\"key\":\"k1\"}"
#define PAUSED   "{\"paused\":true}"
#define SHARD    "export '' shard 100"
#define FIFO     "{\"order\":\"fifo\"}"
#define IMPORTED "bucket:t: t/a@now+60000\ndue: t@now+60000\njobs: t/a=" RECORD "\n"
#define JOB      "import 0 job t/a 2 score now+60000 record " RECORD

START_TEST(a_shard_is_read_in_rows)
{
    CHECK_EXAMPLES( //
        {ABSENT, SHARD, "'' 0", NULL},
        {DELAYED, SHARD, "'' 1 (job t/a place waiting score now+60000 record {r})", NULL},
        {LEASED, SHARD, "'' 1 (job t/a place leased score now-1000 record {r})", NULL},
        {DELAYED "topics: t=" PAUSED "\n", SHARD,
         "'' 0 (topic t settings " PAUSED ") (job t/a place waiting score now+60000 record {r})", NULL},
        /* A held job is due at its own time. */
        {DELAYED "held: t@now\nheld:t: t/a@now\n", SHARD, "'' 1 (job t/a place waiting score now record {r})",
         NULL},
        /* An attempt of a cancelled job has no row. */
        {LINGERING, SHARD, "'' 1", NULL},
        {DEAD, SHARD, "'' 0 (ended t/a state dead at now-5000 text dead now-5000 0 3 {r})", NULL},
        /* Patterns and limits are a part of their own. */
        {"patterns: t*=" PAUSED "\nlimits: x={}\n", SHARD, "'' 0", NULL},
        {"patterns: t*=" PAUSED "\nlimits: x={}\n", "export '' common 100",
         "'' 0 (limit x settings {}) (pattern t* settings " PAUSED ")", NULL}, );
}
END_TEST

START_TEST(a_step_ends_at_its_maximum_and_the_next_one_continues)
{
    static const char two[] = "bucket:t: t/a@now t/b@now\ndue: t@now\njobs: t/a={r} t/b={r}\n";
    CHECK_EXAMPLES( //
        {two, "export '' shard 1", "7 t\n2\nnow t/a 1 (job t/a place waiting score now record {r})", NULL},
        {two, "export '7,t\n2\nnow,t/a' shard 1",
         "7 t\n2\nnow t/b 0 (job t/b place waiting score now record {r})", NULL},
        {two, "export '7,t\n2\nnow,t/b' shard 1", "'' 0", NULL},
        /* The job at which the step before ended was removed. */
        {two, "export '7,t\n2\nnow,t/aa' shard 1",
         "7 t\n2\nnow t/b 0 (job t/b place waiting score now record {r})", NULL}, );
}
END_TEST

START_TEST(a_job_gets_its_place)
{
    CHECK_EXAMPLES( //
        {ABSENT, JOB, "imported wake now+60000", IMPORTED}, {IMPORTED, JOB, "same", NULL},
        {DELAYED, JOB, "exists", NULL}, {LEASED, JOB, "exists", NULL},
        /* A dead job of this name is another one. */
        {DEAD, JOB, "imported wake now+60000", IMPORTED DEAD},
        {ABSENT, "import 1 job t/a 2 score now+60000 record " RECORD " job t/b 2 score now record " RECORD,
         "imported refused Redis has as many jobs as --max-jobs allows wake now+60000", IMPORTED},
        {ABSENT, "import 0 job t/a 1 score now", "refused record is not that of a job", NULL},
        {ABSENT, "import 0 job t/a 2 score x record " RECORD, "refused score is not a number", NULL},
        {ABSENT, "import 0 job t/a 3 score now record " RECORD " workflow 's,1,1,t/w/5'",
         "refused the workflow is missing", NULL},
        {ABSENT, "import 0 new t/a 0", "refused this version does not know the kind", NULL},
        {ABSENT, "import 0 job t/a 2 score", "ERR", NULL},
        /* The head of a fifo topic waits for its next attempt. */
        {"topics: t=" FIFO "\n",
         "import 0 job t/a 5 score now-5 record " RECORD " lineAt now+900 attempts l crashes '1,n1'",
         "imported wake now+900",
         "attempts: t/a=l\nbucket:t: t/a@now-5\ncrashes: t/a=1,n1\ndue: t@now+900\njobs: t/a=" RECORD
         "\nlines: t=now+900,now-5,t/a\ntopics: t=" FIFO "\n"}, );
}
END_TEST

START_TEST(settings_and_ended_jobs_are_written_once)
{
#define SETTINGS "import 0 topic t 1 settings " PAUSED
#define ENDED    "import 0 ended t/a 2 text 'dead,now-5000,0,3,{r}' at now-5000"
    CHECK_EXAMPLES( //
        {ABSENT, SETTINGS, "imported", "topics: t=" PAUSED "\n"},
        {"topics: t=" PAUSED "\n", SETTINGS, "same", NULL}, {"topics: t={}\n", SETTINGS, "exists", NULL},
        {ABSENT, "import 0 topic t 1 settings {\"limit\":\"x\"}", "refused there is no limit x", NULL},
        {ABSENT, "import 0 group g 1 text {}", "imported", "group_names: g@0\ngroups: g={}\n"},
        {ABSENT, "import 0 idempotency t/k 2 answer a until now+5", "imported",
         "idempotency: t/k=a\nwindows: t/k@now+5\n"},
        {ABSENT, "import 0 send t/s 2 text m until now+5", "imported",
         "sends: t/s=m\nsends_until: t/s@now+5\n"},
        {ABSENT, "import 0 schedule t/s 3 definition d next now+5 fired 'f,-,0,0,0,'",
         "imported wake fire now+5",
         "fired: t/s=f,-,0,0,0,\nfires: t/s@now+5\nschedule_names: t/s@0\nschedules: t/s=d\n"},
        /* Its jobs stay expected. A text of another form is left out. */
        {ABSENT,
         "import 0 schedule t/s 3 definition d fired 'f,-,0,0,0,' expected "
         "'100,5,-,7,20300101T000000Z,now-10,1'",
         "imported",
         "expected: t/s=100,5,-,7,20300101T000000Z,now-10,1\nexpected_until: t/s@now+90\n"
         "fired: t/s=f,-,0,0,0,\nschedule_names: t/s@0\nschedules: t/s=d\n"},
        {ABSENT, "import 0 schedule t/s 3 definition d fired 'f,-,0,0,0,' expected soon", "imported",
         "fired: t/s=f,-,0,0,0,\nschedule_names: t/s@0\nschedules: t/s=d\n"},
        {"expected: t/s=100,5,-,7\nfired: t/s=f,-,0,0,0,\nschedule_names: t/s@0\nschedules: t/s=d\n", SHARD,
         "'' 0 (schedule t/s definition d fired f - 0 0 0  expected 100 5 - 7)", NULL},
        {ABSENT, ENDED, "imported", DEAD}, {DEAD, ENDED, "same", NULL},
        {DEAD_BY_LOSSES, ENDED, "exists", NULL},
        /* A job that waits may have the id of an ended one. */
        {DELAYED, ENDED, "imported", DELAYED DEAD}, );
}
END_TEST

START_TEST(a_workflow_comes_in_parts)
{
#define PLACE "t/w/now"
#define WORKFLOW                                                                                             \
    "workflow:" PLACE ": createdAt=now state=active\nworkflow_times: " PLACE "@now\nworkflows: t/w=now\n"
#define ELEMENTS "elements:" PLACE ": s1 s2\n"
    CHECK_EXAMPLES( //
        {ABSENT, "import 0 workflow " PLACE " 2 .state active .createdAt now", "imported", WORKFLOW},
        {WORKFLOW, "import 0 workflow " PLACE " 2 .state active .createdAt now", "same", NULL},
        {WORKFLOW, "import 0 workflow " PLACE " 1 .state failed", "exists", NULL},
        {WORKFLOW, "import 0 workflowPart " PLACE " 4 part elements from 0 .0 s1 .1 s2", "imported",
         ELEMENTS WORKFLOW},
        {WORKFLOW ELEMENTS, "import 0 workflowPart " PLACE " 4 part elements from 0 .0 s1 .1 s2", "same",
         NULL},
        {WORKFLOW ELEMENTS, "import 0 workflowPart " PLACE " 4 part elements from 1 .1 s2 .2 s3", "imported",
         "elements:" PLACE ": s1 s2 s3\n" WORKFLOW},
        {WORKFLOW ELEMENTS, "import 0 workflowPart " PLACE " 3 part elements from 1 .1 s9", "exists", NULL},
        {WORKFLOW ELEMENTS, "import 0 workflowPart " PLACE " 3 part elements from 3 .3 s4",
         "refused the rows before this one are missing", NULL},
        {WORKFLOW, "import 0 workflowPart " PLACE " 2 part steps .1 '2,t/j'", "imported",
         "steps:" PLACE ": 1=2,t/j\n" WORKFLOW},
        /* Entries of a hash come in several rows. */
        {WORKFLOW "steps:" PLACE ": 1=2\n", "import 0 workflowPart " PLACE " 3 part steps .1 2 .2 3",
         "imported", "steps:" PLACE ": 1=2 2=3\n" WORKFLOW},
        {WORKFLOW "steps:" PLACE ": 1=2\n", "import 0 workflowPart " PLACE " 2 part steps .1 2", "same",
         NULL},
        {WORKFLOW "steps:" PLACE ": 1=2\n", "import 0 workflowPart " PLACE " 3 part steps .2 3 .1 9",
         "exists", NULL},
        /* The workflow itself is one row, which changes nothing that is there. */
        {WORKFLOW, "import 0 workflow " PLACE " 3 .state active .createdAt now .result r", "exists", NULL},
        {WORKFLOW, "import 0 workflow " PLACE " 0", "refused has no entries", NULL},
        {ABSENT, "import 0 workflowPart " PLACE " 2 part steps .1 x", "refused the workflow is missing",
         NULL}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_move");
    TCase *tests = examples_case("move");
    tcase_add_test(tests, a_shard_is_read_in_rows);
    tcase_add_test(tests, a_step_ends_at_its_maximum_and_the_next_one_continues);
    tcase_add_test(tests, a_job_gets_its_place);
    tcase_add_test(tests, settings_and_ended_jobs_are_written_once);
    tcase_add_test(tests, a_workflow_comes_in_parts);
    suite_add_tcase(suite, tests);
    return suite;
}

/* Tests the scripts of alerts: alert begins and ends episodes together with the jobs that report them,
 * symptoms reads the facts. */
#include "support/keyspace.h"
#include "support/script_examples.h"
#include "support/script_runner.h"
#include "support/suite.h"

#define NAME   "died/t"
#define JOB    "duepost~alerts/j"
#define STATE  "alerts: died/t=5,1,2,3\n"
#define WAITS  "bucket:duepost~alerts: " JOB "@now\njobs: " JOB "={\"createdAt\":now,r}\n"
#define OPENED WAITS "ready: duepost~alerts\nturns: duepost~alerts@1\n"

START_TEST(alert_changes_an_episode_and_schedules_its_job)
{
    CHECK_EXAMPLES( //
        /* The episode is as the caller has read it, or another one. */
        {STATE, "alert 1700000000123456 " NAME " '5,1,2,3' '5,2,2,4' '' ''", "1", "alerts: died/t=5,2,2,4\n"},
        {STATE, "alert 1700000000123456 " NAME " '5,1,2,2' '5,2,2,4' '' ''", "0", NULL},
        {STATE, "alert 1700000000123456 " NAME " '' '9,1,2,3' " JOB " r}", "0", NULL},
        {"", "alert 1700000000123456 " NAME " '5,1,2,3' '' " JOB " r}", "0", NULL},
        {STATE, "alert 1700000000123456 " NAME " '5,1,2,3' '' '' ''", "1", ""}, );
}
END_TEST

START_TEST(old_facts_change_nothing)
{
    CHECK_EXAMPLES( //
        {STATE, "alert 1699999990123455 " NAME " '5,1,2,3' '' '' ''", "0", NULL},
        {STATE, "alert 1699999990123456 " NAME " '5,1,2,3' '' '' ''", "1", ""},
        {STATE, "alert 1700000010123457 " NAME " '5,1,2,3' '' '' ''", "0", NULL}, );
}
END_TEST

START_TEST(an_alert_and_its_job_begin_together)
{
    CHECK_EXAMPLES( //
        {"", "alert 1700000000123456 " NAME " '' '5,1,2,3' " JOB " r}", "1",
         "alerts: died/t=5,1,2,3\n" OPENED},
        /* A job that tries an alert out. */
        {"", "alert 1700000000123456 '' '' '' " JOB " r}", "1", OPENED}, );
}
END_TEST

#define RULES    "{\"alerts\":[{\"on\":\"died\",\"url\":\"http://h/\"}]}"
#define ALERTING "alerting: t\n"
#define SETTINGS "topics: t=" RULES "\n"

START_TEST(settings_note_which_topics_have_alerts)
{
    CHECK_EXAMPLES( //
        {"", "settings t '' " RULES, "1", ALERTING "" SETTINGS},
        {ALERTING SETTINGS, "settings t " RULES " ''", "1", ""},
        {ALERTING SETTINGS, "settings t " RULES " {\"weight\":2}", "1", "topics: t={\"weight\":2}\n"},
        {"", "set_patterns 0 '' 3 1 o* " RULES, "1700000000123456",
         "alerting: *\nmeta: format=3 patterns=1700000000123456 redate=0\npatterns: o*=" RULES "\n"}, );
}
END_TEST

START_TEST(symptoms_are_those_of_topics_with_alerts)
{
    CHECK_EXAMPLES( //
        {"", "symptoms 0 0 0", "5666666 '' 0 () () ()", NULL},
        /* A topic that the caller names is listed without alerts, too. */
        {"", "symptoms 1 0 0 t h:80", "5666666 '' 0 ((t '' 0 0 '' -1 0 -1)) (h:80 '' -1) ()", NULL},
        {"failures:5666666: t@1 u@2\nhour:5666666: dt=7 rt=2 xt=3\nhour:5666664: xt=4\nnumbers: "
         "hours=5666664,5666666\n" ALERTING SETTINGS,
         "symptoms 0 0 0", "5666666 '' 0 ((t " RULES " 7 5 5666664 4 5666666 3 -1 0 -1)) () ()",
         ALERTING SETTINGS}, );
}
END_TEST

/* Three schedules, of which the first two are missed, and only that of t has alerts. */
#define EXPECTED                                                                                             \
    "expected: t/r=100,0,now+50,0 t/s=100,0,now-200,7 u/s=100,0,now-150,0\n"                                 \
    "expected_until: t/s@now-100 u/s@now-50 t/r@now+150\n"

START_TEST(symptoms_have_the_schedules_that_are_missed)
{
    CHECK_EXAMPLES( //
        {EXPECTED ALERTING SETTINGS, "symptoms 0 0 0", "5666666 '' 0 () () ((t/s " RULES " now-100 7))",
         NULL},
        {EXPECTED, "symptoms 0 0 0", "5666666 '' 0 () () ()", NULL},
        /* Schedules that the caller names are listed also if they are in time, gone, or have no alerts. */
        {EXPECTED ALERTING SETTINGS, "symptoms 0 4 0 t/r u/s t/s t/gone h:80",
         "5666666 '' 0 () (h:80 '' -1) ((t/r " RULES " now+150 0) (u/s '' now-50 0) (t/s " RULES
         " now-100 7) (t/gone " RULES " -1 0))",
         NULL}, );
}
END_TEST

#define WEEK "604800000"
#define SHOWN                                                                                                \
    "certificates: h:443@now-604800000 i:443@now+1209600000 j:443@now+1209600001 k:443@now+9000000000\n"
#define ALL "{\"alerts\":[{\"on\":\"certificateEnds\",\"url\":\"http://h/\"}]}"

START_TEST(certificates_are_noted_until_a_week_after_their_end)
{
    CHECK_EXAMPLES( //
        {"", "certificate h:443 1700000000200 [::1]:80 1700000000100", "",
         "certificates: [::1]:80@now-23 h:443@now+77\n"},
        {"certificates: h:443@now+77\n", "certificate h:443 1700000000100", "",
         "certificates: h:443@now-23\n"},
        {"certificates: g:443@now-604800001 h:443@now-" WEEK "\n", "certificate i:443 1700000000200", "",
         "certificates: h:443@now-" WEEK " i:443@now+77\n"},
        /* Nothing is written if an argument is not valid. */
        {"", "certificate h:443 1700000000200 h:443/path 1", "ERR", NULL},
        {"", "certificate h:443 soon", "ERR", NULL}, {"", "certificate h:443", "ERR", NULL}, );
}
END_TEST

START_TEST(symptoms_have_the_certificates_that_end_soon)
{
    CHECK_EXAMPLES( //
        {"alerting: *\npatterns: *=" ALL "\n" SHOWN, "symptoms 0 0 1209600000",
         "5666666 " ALL " 0 () (h:443 '' now-604800000 i:443 '' now+1209600000) ()", NULL},
        {"alerting: *\npatterns: *=" ALL "\n" SHOWN, "symptoms 0 0 8999999000",
         "5666666 " ALL " 0 () (h:443 '' now-604800000 i:443 '' now+1209600000 j:443 '' now+1209600001) ()",
         NULL},
        {"alerting: *\npatterns: *=" ALL "\n" SHOWN, "symptoms 0 0 0", "5666666 " ALL " 0 () () ()", NULL},
        /* A path has the certificate of its host. One that ended long ago is forgotten. */
        {"certificates: h:443@now-604800001 i:443@now+9\n", "symptoms 0 0 0 i:443/a h:443",
         "5666666 '' 0 () (i:443/a '' now+9 h:443 '' -1) ()", NULL}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_alerts");
    TCase *tests = examples_case("alerts");
    tcase_add_test(tests, alert_changes_an_episode_and_schedules_its_job);
    tcase_add_test(tests, old_facts_change_nothing);
    tcase_add_test(tests, an_alert_and_its_job_begin_together);
    tcase_add_test(tests, settings_note_which_topics_have_alerts);
    tcase_add_test(tests, symptoms_are_those_of_topics_with_alerts);
    tcase_add_test(tests, symptoms_have_the_schedules_that_are_missed);
    tcase_add_test(tests, certificates_are_noted_until_a_week_after_their_end);
    tcase_add_test(tests, symptoms_have_the_certificates_that_end_soon);
    suite_add_tcase(suite, tests);
    return suite;
}

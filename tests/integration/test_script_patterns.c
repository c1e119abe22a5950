/* Tests settings of patterns: which topics get them, and how changed patterns take effect on topics. */
#include "support/script_examples.h"
#include "support/suite.h"

#define CLAIM     "claim 10 n5 5000 2 1000 0"
#define PAUSED    "{\"paused\":true}"
#define GOES_ON   "{\"paused\":false}"
#define CLAIMED_T "holders:t: t/a=n5,now-1000\njobs: t/a={r}\nleases: t/a@now+5000\n"
#define STAYS     "bucket:t: t/a@now-1000\njobs: t/a={r}\n"
#define IN_TURNS  "turns: t@1\n"
#define AS_HELD   "due: t@inf\n"

START_TEST(a_topic_gets_settings_of_its_longest_pattern)
{
    CHECK_EXAMPLES( //
        {READY "patterns: *=" PAUSED "\n", CLAIM, "0 0 0", STAYS AS_HELD BELL "patterns: *=" PAUSED "\n"},
        {READY "patterns: t*=" PAUSED "\n", CLAIM, "0 0 0", STAYS AS_HELD BELL "patterns: t*=" PAUSED "\n"},
        {READY "patterns: tt*=" PAUSED "\n", CLAIM, "0 0 1 t/a now-1000 {r}",
         CLAIMED_T BELL "patterns: tt*=" PAUSED "\n"},
        /* The longer of two matching patterns counts. Its stored text also contains those settings of the
         * shorter pattern that the longer one does not change. */
        {READY "patterns: *=" PAUSED " t*=" GOES_ON "\n", CLAIM, "0 0 1 t/a now-1000 {r} t " GOES_ON,
         CLAIMED_T BELL "patterns: *=" PAUSED " t*=" GOES_ON "\n"},
        /* Each setting of the topic itself has priority over the pattern's. */
        {READY "patterns: *=" PAUSED "\ntopics: t=" GOES_ON "\n", CLAIM,
         "0 0 1 t/a now-1000 {r} t [" GOES_ON "," PAUSED "]",
         CLAIMED_T BELL "patterns: *=" PAUSED "\ntopics: t=" GOES_ON "\n"},
        {READY "patterns: t*=" PAUSED "\ntopics: t={\"maxInFlight\":1}\n", CLAIM, "0 0 0",
         STAYS AS_HELD BELL "patterns: t*=" PAUSED "\ntopics: t={\"maxInFlight\":1}\n"},
        /* The pattern's settings list in "needs" a feature that this process does not know; or duepost did
         * not write their text. */
        {READY "patterns: t*={\"needs\":[\"wings\"]}\n", CLAIM, "0 0 0 t {\"needs\":[\"wings\"]}",
         STAYS IN_TURNS BELL "patterns: t*={\"needs\":[\"wings\"]}\n"},
        {READY "patterns: t*=x\n", CLAIM, "0 0 0 t x", STAYS AS_HELD BELL "patterns: t*=x\n"}, );
}
END_TEST

START_TEST(a_url_of_a_pattern_is_enough_for_a_job)
{
    CHECK_EXAMPLES( //
        {"patterns: t*={\"url\":\"http://u/\"}\n", "schedule 0 9 u/a 5 \"url\":\"\"} -", "-5", NULL},
        {"patterns: t*={\"url\":\"http://u/\"}\n", "topics t '' 1",
         "0 t {\"url\":\"http://u/\"} 0 0 0 0 -1 -1 0 0 0 0 '' t* '' 0 0 0 0 '' -1 -1 0", NULL},
        {"patterns: t*={\"url\":\"http://u/\"}\ntopics: t=" PAUSED "\n", "topics t '' 1",
         "0 t [" PAUSED ",{\"url\":\"http://u/\"}] 0 0 0 0 -1 -1 0 0 0 0 " PAUSED " t* '' 0 0 0 0 '' -1 -1 0",
         NULL},
        {"patterns: t*={\"url\":\"http://u/\"}\n", "topics t~c '' 1",
         "0 t~c '' 0 0 0 0 -1 -1 0 0 0 0 '' '' '' 0 0 0 0 '' -1 -1 0", NULL}, );
}
END_TEST

#define VERSION                "1700000000123456"
#define META(reoffer, version) "meta: format=3 patterns=" version " redate=0" reoffer "\n"

START_TEST(a_change_is_made_under_the_version_that_was_read)
{
    CHECK_EXAMPLES( //
        {ABSENT, "patterns 0", "0", NULL},
        {ABSENT, "set_patterns 0 '' 3 1 t* " PAUSED, VERSION, META("", VERSION) "patterns: t*=" PAUSED "\n"},
        {"meta: format=3 patterns=7\npatterns: t*=" PAUSED "\n", "patterns 0", "7 t* " PAUSED, NULL},
        {"meta: format=3 patterns=7\npatterns: t*=" PAUSED "\n", "patterns 1", "7", NULL},
        {"meta: format=3 patterns=7\npatterns: t*=" PAUSED "\n", "set_patterns 6 '' 3 0", "0", NULL},
        {"meta: format=3 patterns=7\npatterns: t*=" PAUSED "\n", "set_patterns 7 '' 3 0", VERSION,
         META("", VERSION)},
        /* A shard's copy of the patterns is replaced only by a higher version. */
        {"meta: format=3 patterns=7\npatterns: t*=" PAUSED "\n", "set_patterns '' 9 3 1 u* {}", "9",
         META("", "9") "patterns: u*={}\n"},
        {"meta: format=3 patterns=7\npatterns: t*=" PAUSED "\n", "set_patterns '' 7 3 1 u* {}", "7", NULL},
        {"meta: format=3 patterns=7\n", "set_patterns '' 6 3 1 u* {} '' 9 3 0", "7 9", META("", "9")},
        {"meta: format=4\n", "set_patterns 0 '' 3 0", VERSION,
         "meta: format=4 patterns=" VERSION " redate=0\n"}, );
}
END_TEST

#define BEFORE_ITS_TIME "bucket:t: t/a@now+7.9995 t/b@now+8\ndue: t@now+7\njobs: t/a={1} t/b={1}\n"

START_TEST(topics_are_offered_again)
{
    CHECK_EXAMPLES( //
        /* Topics that only the old patterns paused move to "turns". Topics that the new patterns pause leave
         * "turns". */
        {STAYS AS_HELD "patterns: t*=" PAUSED "\n", "set_patterns 0 '' 3 0", VERSION,
         STAYS IN_TURNS BELL META("", VERSION)},
        {STAYS IN_TURNS, "set_patterns 0 '' 3 1 t* " PAUSED, VERSION,
         STAYS AS_HELD META("", VERSION) "patterns: t*=" PAUSED "\n"},
        /* The walk through all topics has several steps: first the topics in "behind", by name, then the
         * topics in "turns". */
        {ABSENT, "reoffer 9 0", "0 0", NULL},
        {"bucket:a: a/a@now-9\nbucket:b: b/a@now-9\ndue: a@inf b@inf\njobs: a/a={1} b/a={1}\nmeta: "
         "reoffer=behind//\n",
         "reoffer 1 0", "1 1",
         "bucket:a: a/a@now-9\nbucket:b: b/a@now-9\ndue: b@inf\njobs: a/a={1} b/a={1}\nmeta: "
         "reoffer=behind/a/\n"
         "ready: a\nturns: a@1\n"},
        {"bucket:a: a/a@now-9\nbucket:b: b/a@now-9\ndue: b@inf\njobs: a/a={1} b/a={1}\nmeta: "
         "reoffer=behind/a/1\n"
         "patterns: a*=" PAUSED "\nturns: a@1\n",
         "reoffer 2 0", "2 1",
         "bucket:a: a/a@now-9\nbucket:b: b/a@now-9\ndue: a@inf\njobs: a/a={1} b/a={1}\nmeta: "
         "reoffer=turns/1/1\n"
         "patterns: a*=" PAUSED "\nready: b\nturns: b@1\n"},
        {"meta: reoffer=turns/1/1\n", "reoffer 2 0", "0 0", ABSENT},
        /* A topic that is no longer fifo is in neither of these sets if its first job is not due. Its first
         * job now waits until the time in the key lines. */
        {BEFORE_ITS_TIME "lines: t=now+500,now+7.9995,t/a\npatterns: t*={\"order\":\"fifo\"}\n",
         "set_patterns 0 '' 3 0", VERSION,
         "bucket:t: t/b@now+8 t/a@now+500\ndue: t@now+8\njobs: t/a={1} t/b={1}\n" META("", VERSION)},
        {BEFORE_ITS_TIME "lines: t=now+500,now+7.9995,t/a\nmeta: reoffer_lines=0\n", "reoffer 2 0", "0 0",
         "bucket:t: t/b@now+8 t/a@now+500\ndue: t@now+8\njobs: t/a={1} t/b={1}\n"},
        /* Both walks have begun: through the topics in "turns", and through the lines of fifo topics. */
        {BEFORE_ITS_TIME "lines: t=now+500,now+7.9995,t/a\nmeta: reoffer=turns/1/1 reoffer_lines=0\n",
         "reoffer 1 0", "0 0", "bucket:t: t/b@now+8 t/a@now+500\ndue: t@now+8\njobs: t/a={1} t/b={1}\n"}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_patterns");
    TCase *group = examples_case("script_patterns");
    tcase_add_test(group, a_topic_gets_settings_of_its_longest_pattern);
    tcase_add_test(group, a_url_of_a_pattern_is_enough_for_a_job);
    tcase_add_test(group, a_change_is_made_under_the_version_that_was_read);
    tcase_add_test(group, topics_are_offered_again);
    suite_add_tcase(suite, group);
    return suite;
}

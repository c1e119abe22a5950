/* Tests the walk through held jobs of topics whose setting "breaker" is turned off: where each step begins
 * and ends. test_scripts.c tests jobs of a receiver whose breaker closes. */
#include "support/script_examples.h"
#include "support/suite.h"

#define ON      "{\"breaker\":true}"
#define OFF     "{\"breaker\":false}"
#define LIMITED "{\"maxInFlight\":9}"
#define FIFO    "{\"order\":\"fifo\"}"

/* Three held jobs of t, whose holds end in another order than that of their due times, and one held job of
 * u. */
#define HELD_IN_T "held:t: t/a@now-3000 t/b@now-2000 t/c@now-1000\n"
#define PLACES_T  "bucket:t: t/c@now+7001 t/b@now+8001 t/a@now+9001\n"
#define JOBS_T    "jobs: t/a={1} t/b={2} t/c={3}\n"
#define HELD_T    PLACES_T "due: t@now+7001\nheld: t@now-3000\n" HELD_IN_T JOBS_T
#define RESUMED_T "bucket:t: t/a@now-3000 t/b@now-2000 t/c@now-1000\n" JOBS_T BELL "turns: t@1\n"

START_TEST(a_topic_that_turns_its_breaker_off_resumes)
{
    CHECK_EXAMPLES( //
        {HELD_T, "settings t '' " OFF, "1", RESUMED_T "topics: t=" OFF "\n"},
        {HELD_T "topics: t=" ON "\n", "settings t " ON " " OFF, "1", RESUMED_T "topics: t=" OFF "\n"},
        /* The setting is removed, so the option --breaker decides. If it is on, breakers hold the jobs again
         * later. */
        {HELD_T "topics: t=" ON "\n", "settings t " ON " ''", "1", RESUMED_T},
        {HELD_T "topics: t=" ON "\n", "settings t " ON " " LIMITED, "1", RESUMED_T "topics: t=" LIMITED "\n"},
        {HELD_T "patterns: t*=" ON "\ntopics: t=" ON "\n", "settings t " ON " ''", "1",
         HELD_T "patterns: t*=" ON "\n"},
        /* Other changes resume nothing. */
        {HELD_T, "settings t '' " ON, "1", HELD_T "topics: t=" ON "\n"},
        {HELD_T, "settings t '' " LIMITED, "1", HELD_T "topics: t=" LIMITED "\n"},
        {HELD_T "topics: t=" OFF "\n", "settings t " OFF " ''", "1", HELD_T},
        {HELD_T, "settings t stale " OFF, "0", NULL},
        {HELD_T, "settings u '' " OFF, "1", HELD_T "topics: u=" OFF "\n"},
        /* A job that is no longer held, because it was changed, keeps its place. */
        {"bucket:t: t/a@now+500 t/b@now+9000\ndue: t@now+500\nheld: t@now-2000\nheld:t: t/b@now-2000\n"
         "jobs: t/a={1} t/b={2}\n",
         "settings t '' " OFF, "1",
         "bucket:t: t/b@now-2000 t/a@now+500\njobs: t/a={1} t/b={2}\n" BELL "topics: t=" OFF
         "\nturns: t@1\n"},
        /* The topic also stops being fifo. The head stood in its line, before the time at which it was due,
         * because the clock had stepped back. */
        {"bucket:t: t/a@now-5000\ndue: t@now+9001\nheld: t@now-3000\nheld:t: t/a@now-3000\njobs: t/a={1}\n"
         "lines: t=now+9001,now-5000,t/a\ntopics: t=" FIFO "\n",
         "settings t " FIFO " " OFF, "1",
         "bucket:t: t/a@now-3000\njobs: t/a={1}\n" BELL "topics: t=" OFF "\nturns: t@1\n"}, );
}
END_TEST

#define URL    "{\"url\":\"http://h/\"}"
#define PULL   "{\"delivery\":\"pull\"}"
#define NO_URL "breaker:/t: t/c@now+7001 t/b@now+8001 t/a@now+9001\n"
#define PLACES "bucket:t: t/a@now-3000 t/b@now-2000 t/c@now-1000\n" JOBS_T
#define BREAKS "{\"breaker\":true,\"url\":\"http://h/\"}"

START_TEST(a_topic_that_has_a_url_again_resumes)
{
    CHECK_EXAMPLES( //
        {HELD_T NO_URL, "settings t '' " URL, "1", RESUMED_T "topics: t=" URL "\n"},
        /* The jobs resume although the topic has a breaker. */
        {HELD_T NO_URL "topics: t=" ON "\n", "settings t " ON " " BREAKS, "1",
         RESUMED_T "topics: t=" BREAKS "\n"},
        {HELD_T NO_URL, "settings t '' " PULL, "1",
         PLACES "due: t@inf\nmeta: format=4\ntopics: t=" PULL "\n"},
        /* Other changes resume nothing, nor does a url if no job is held for want of it. */
        {HELD_T NO_URL, "settings t '' " LIMITED, "1", HELD_T NO_URL "topics: t=" LIMITED "\n"},
        {HELD_T, "settings t '' " URL, "1", HELD_T "topics: t=" URL "\n"},
        {HELD_T NO_URL, "topics t '' 1", "0 t '' 0 0 0 0 now-3000 -1 3 0 0 0 '' '' '' 0 0 1 0 '' -1 -1 0",
         NULL},
        {HELD_T, "topics t '' 1", "0 t '' 0 0 0 0 now-3000 -1 3 0 0 0 '' '' '' 0 0 0 0 '' -1 -1 0", NULL},
        /* An attempt that had no url ends after the topic has a url again: it does not hold the job. */
        {LEASED "topics: t=" URL "\n", "release t/a n1 5000 now - url", "1",
         "bucket:t: t/a@now-1000\njobs: t/a={r}\n" BELL "topics: t=" URL "\nturns: t@1\n"},
        {LEASED, "release t/a n1 5000 now - url", "1 wake now+5001",
         "breaker:/t: t/a@now+5001\nbucket:t: t/a@now+5001\ndue: t@now+5001\nheld: t@now-1000\n"
         "held:t: t/a@now-1000\njobs: t/a={r}\n"}, );
}
END_TEST

#define IS_OFF "topics: t=" OFF "\n"

/* The expected data while a walk resumes the jobs of t. AFTER_NONE: no job is resumed yet; AFTER_A: t/a is
 * resumed; and so on. */
#define AFTER_NONE PLACES_T "due: t@now+7001\nheld: t@now-3000\n" HELD_IN_T JOBS_T "resuming: t@0\n" IS_OFF
#define AFTER_A                                                                                              \
    "bucket:t: t/a@now-3000 t/c@now+7001 t/b@now+8001\nheld: t@now-2000\n"                                   \
    "held:t: t/b@now-2000 t/c@now-1000\n" JOBS_T BELL "resuming: t@now-3000\n" IS_OFF "turns: t@1\n"
#define AFTER_B                                                                                              \
    "bucket:t: t/a@now-3000 t/b@now-2000 t/c@now+7001\nheld: t@now-1000\nheld:t: t/c@now-1000\n" JOBS_T BELL \
    "resuming: t@now-2000\n" IS_OFF "turns: t@1\n"

START_TEST(a_step_goes_on_where_the_last_one_ended)
{
    CHECK_EXAMPLES( //
        {ABSENT, "reoffer 9 0", "0 0", NULL}, {AFTER_NONE, "reoffer 1 0", "0 1", AFTER_A},
        {AFTER_A, "reoffer 1 0", "0 1", AFTER_B},
        {AFTER_B, "reoffer 1 0", "0 1", RESUMED_T "resuming: t@now-1000\n" IS_OFF},
        {RESUMED_T "resuming: t@now-1000\n" IS_OFF, "reoffer 1 0", "0 1", RESUMED_T IS_OFF},
        {AFTER_NONE, "reoffer 3 0", "0 1", RESUMED_T "resuming: t@now-1000\n" IS_OFF},
        {AFTER_NONE, "reoffer 9 0", "0 0", RESUMED_T IS_OFF},
        /* A job that is held again, after the walk has resumed it, is not resumed a second time. */
        {"bucket:t: t/a@now+9001\ndue: t@now+9001\nheld: t@now-3000\nheld:t: t/a@now-3000\njobs: t/a={1}\n"
         "resuming: t@now-3000\n" IS_OFF,
         "reoffer 9 0", "0 0",
         "bucket:t: t/a@now+9001\ndue: t@now+9001\nheld: t@now-3000\nheld:t: t/a@now-3000\njobs: "
         "t/a={1}\n" IS_OFF},
        /* Jobs that were due at the same time are resumed in one step. */
        {"bucket:t: t/a@now+9001 t/b@now+9002 t/c@now+9003\ndue: t@now+9001\nheld: t@now-3000\n"
         "held:t: t/a@now-3000 t/b@now-3000 t/c@now-3000\n" JOBS_T "resuming: t@0\n" IS_OFF,
         "reoffer 2 0", "0 1",
         "bucket:t: t/a@now-3000 t/b@now-3000 t/c@now-3000\n" JOBS_T BELL "resuming: t@now-3000\n" IS_OFF
         "turns: t@1\n"},
        /* The setting has been turned on again since the walk began; or no held jobs are left. */
        {HELD_T "resuming: t@0\ntopics: t=" ON "\n", "reoffer 9 0", "0 0", HELD_T "topics: t=" ON "\n"},
        {"resuming: t@0\n" IS_OFF, "reoffer 9 0", "0 0", IS_OFF}, );
}
END_TEST

#define HELD_IN_BOTH                                                                                         \
    "bucket:t: t/a@now+9001\nbucket:u: u/a@now+9002\ndue: t@now+9001 u@now+9002\n"                           \
    "held: t@now-3000 u@now-2000\nheld:t: t/a@now-3000\nheld:u: u/a@now-2000\njobs: t/a={1} u/a={2}\n"
#define HELD_IN_SIBLING                                                                                      \
    "bucket:t~callbacks: t~callbacks/a@now+9001\ndue: t~callbacks@now+9001\nheld: t~callbacks@now-3000\n"    \
    "held:t~callbacks: t~callbacks/a@now-3000\njobs: t~callbacks/a={1}\n"
#define T_RESUMED                                                                                            \
    "bucket:t: t/a@now-3000\nbucket:u: u/a@now+9002\ndue: u@now+9002\nheld: u@now-2000\n"                    \
    "held:u: u/a@now-2000\njobs: t/a={1} u/a={2}\n" BELL

START_TEST(a_change_of_patterns_finds_the_topics)
{
    CHECK_EXAMPLES( //
        {HELD_IN_BOTH, "set_patterns 0 '' 3 1 t* " OFF, "1700000000123456",
         HELD_IN_BOTH "meta: format=3 patterns=1700000000123456 redate=0 resume_held=0\npatterns: t*=" OFF
                      "\n"},
        {HELD_IN_BOTH "meta: resume_held=0\npatterns: t*=" OFF "\n", "reoffer 1 0", "0 1",
         HELD_IN_BOTH "patterns: t*=" OFF "\nresuming: t@0\n"},
        {HELD_IN_BOTH "patterns: t*=" OFF "\nresuming: t@0\n", "reoffer 9 0", "0 0",
         T_RESUMED "patterns: t*=" OFF "\nturns: t@1\n"},
        {HELD_IN_BOTH "meta: resume_held=0\npatterns: t*=" OFF "\n", "reoffer 9 0", "0 0",
         T_RESUMED "patterns: t*=" OFF "\nturns: t@1\n"},
        /* The topic's own setting has priority over the pattern. Without held jobs no walk begins. */
        {HELD_IN_BOTH "meta: resume_held=0\npatterns: *=" OFF "\ntopics: u=" ON "\n", "reoffer 9 0", "0 0",
         T_RESUMED "patterns: *=" OFF "\ntopics: u=" ON "\nturns: t@1\n"},
        {ABSENT, "set_patterns 0 '' 3 1 t* " OFF, "1700000000123456",
         "meta: format=3 patterns=1700000000123456 redate=0\npatterns: t*=" OFF "\n"},
        /* A pattern loses the setting "breaker", so the option --breaker decides. */
        {HELD_IN_BOTH "patterns: t*=" ON "\n", "set_patterns 0 '' 0 0", "1700000000123456",
         HELD_IN_BOTH "meta: patterns=1700000000123456 redate=0 resume_held=0 resume_lost=t*\n"},
        {HELD_IN_BOTH "patterns: t*=" ON "\n", "set_patterns 0 '' 3 1 t* " LIMITED, "1700000000123456",
         HELD_IN_BOTH "meta: format=3 patterns=1700000000123456 redate=0 resume_held=0 resume_lost=t*\n"
                      "patterns: t*=" LIMITED "\n"},
        {HELD_IN_BOTH "patterns: t*=" ON "\n", "set_patterns 0 '' 3 2 t* " ON " u* " LIMITED,
         "1700000000123456",
         HELD_IN_BOTH "meta: format=3 patterns=1700000000123456 redate=0 resume_held=0\n"
                      "patterns: t*=" ON " u*=" LIMITED "\n"},
        {HELD_IN_BOTH "meta: resume_held=0 resume_lost=t*\n", "reoffer 9 0", "0 0", T_RESUMED "turns: t@1\n"},
        {HELD_IN_BOTH "meta: resume_held=0 resume_lost=*\ntopics: u=" ON "\n", "reoffer 9 0", "0 0",
         T_RESUMED "topics: u=" ON "\nturns: t@1\n"},
        /* An earlier walk has not ended. The patterns that it has to examine stay in resume_lost. */
        {HELD_IN_BOTH "meta: resume_held=7 resume_lost=u*\npatterns: t*=" ON "\n", "set_patterns 0 '' 0 0",
         "1700000000123456",
         HELD_IN_BOTH "meta: patterns=1700000000123456 redate=0 resume_held=0 resume_lost=t* u*\n"},
        {HELD_IN_BOTH "meta: resume_held=7 resume_lost=t*\npatterns: t*=" ON "\n", "set_patterns 0 '' 0 0",
         "1700000000123456",
         HELD_IN_BOTH "meta: patterns=1700000000123456 redate=0 resume_held=0 resume_lost=t*\n"},
        /* Another pattern still sets breaker; and patterns do not match sibling topics. */
        {HELD_IN_BOTH "meta: resume_held=0 resume_lost=t*\npatterns: *=" ON "\n", "reoffer 9 0", "0 0",
         HELD_IN_BOTH "patterns: *=" ON "\n"},
        {HELD_IN_SIBLING "meta: resume_held=0 resume_lost=*\n", "reoffer 9 0", "0 0", HELD_IN_SIBLING},
        /* The script continues first with the topic whose jobs were resumed up to the earliest due time. */
        {HELD_IN_BOTH "resuming: t@now-4000 u@now-5000\n", "reoffer 1 0", "0 1",
         "bucket:t: t/a@now+9001\nbucket:u: u/a@now-2000\ndue: t@now+9001\nheld: t@now-3000\n"
         "held:t: t/a@now-3000\njobs: t/a={1} u/a={2}\nready: u\nresuming: t@now-4000 u@now-2000\nturns: "
         "u@1\n"}, );
}
END_TEST

START_TEST(a_job_that_was_claimed_before_is_not_held)
{
    CHECK_EXAMPLES( //
        {LEASED "topics: t=" OFF "\n", "release t/a n1 5000 now h:1 0", "1", READY "topics: t=" OFF "\n"},
        {LEASED "topics: t=" ON "\n", "release t/a n1 5000 now h:1 0", "1 wake now+5001",
         "breaker:h:1: t/a@now+5001\nbucket:t: t/a@now+5001\ndue: t@now+5001\nheld: t@now-1000\n"
         "held:t: t/a@now-1000\njobs: t/a={r}\ntopics: t=" ON "\n"},
        /* In the first two examples, the topic has lost the setting "breaker" since the claim. In the third,
         * it still has the setting. In the fourth, the option --breaker had turned the breaker on. */
        {LEASED, "release t/a n1 5000 now h:1 1", "1", READY},
        {LEASED "topics: t=" LIMITED "\n", "release t/a n1 5000 now h:1 1", "1",
         READY "topics: t=" LIMITED "\n"},
        {LEASED "topics: t=" ON "\n", "release t/a n1 5000 now h:1 1", "1 wake now+5001",
         "breaker:h:1: t/a@now+5001\nbucket:t: t/a@now+5001\ndue: t@now+5001\nheld: t@now-1000\n"
         "held:t: t/a@now-1000\njobs: t/a={r}\ntopics: t=" ON "\n"},
        {LEASED, "release t/a n1 5000 now h:1 0", "1 wake now+5001",
         "breaker:h:1: t/a@now+5001\nbucket:t: t/a@now+5001\ndue: t@now+5001\nheld: t@now-1000\n"
         "held:t: t/a@now-1000\njobs: t/a={r}\n"},
        /* The job is held for another reason than a breaker. */
        {LEASED "topics: t=" OFF "\n", "release t/a n1 5000 now - 0", "1 wake now+5001",
         "bucket:t: t/a@now+5001\ndue: t@now+5001\nheld: t@now-1000\nheld:t: t/a@now-1000\njobs: "
         "t/a={r}\ntopics: t=" OFF "\n"}, );
}
END_TEST

#define CLAIMED_T "holders:t: t/a=n1,now-1000\njobs: t/a={r}\nleases: t/a@now+3000\n" BELL

START_TEST(a_claim_tells_how_long_a_job_was_held)
{
    CHECK_EXAMPLES( //
        {READY "resumed: t@now-5\n", "claim 1 n1 3000 2 1000 0", "0 0 1 t/a now-1000 now-5 {r}", CLAIMED_T},
        {READY "resumed: u@now-5\n", "claim 1 n1 3000 2 1000 0", "0 0 1 t/a now-1000 {r}", CLAIMED_T},
        {READY "resumed: t@now-1001\n", "claim 1 n1 3000 2 1000 0", "0 0 1 t/a now-1000 {r}", CLAIMED_T},
        /* The clock has stepped back since the job was resumed. */
        {READY "resumed: t@now+9\n", "claim 1 n1 3000 2 1000 0", "0 0 1 t/a now-1000 {r}", CLAIMED_T}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_resume");
    TCase *group = examples_case("script_resume");
    tcase_add_test(group, a_topic_that_turns_its_breaker_off_resumes);
    tcase_add_test(group, a_topic_that_has_a_url_again_resumes);
    tcase_add_test(group, a_step_goes_on_where_the_last_one_ended);
    tcase_add_test(group, a_change_of_patterns_finds_the_topics);
    tcase_add_test(group, a_job_that_was_claimed_before_is_not_held);
    tcase_add_test(group, a_claim_tells_how_long_a_job_was_held);
    suite_add_tcase(suite, group);
    return suite;
}

/* Tests the setting windows in scripts: a topic is closed outside of its spans, and where they are unknown.
 */
#include "support/keyspace.h"
#include "support/script_examples.h"
#include "support/script_runner.h"
#include "support/suite.h"

#define WINDOWS "{\"windows\":[{\"from\":\"09:00\",\"to\":\"10:00\"}]}"
#define TOPIC   "topics: t=" WINDOWS "\n"
#define DUE_JOB "bucket:t: t/a@now-1000\n"
#define HELD_UNTIL(time, openings, wanted, ready)                                                            \
    DUE_JOB "due: t@" time "\njobs: t/a={r}\n" openings wanted ready TOPIC
#define MAY_GO(openings, wanted) DUE_JOB "jobs: t/a={r}\n" openings wanted "ready: t\n" TOPIC "turns: t@1\n"
#define OPEN                     "openings: t=now-5000,now+5000,now+90000,now+95000\n"
#define CLOSED                   "openings: t=now+5000,now+9000,now+90000,now+95000\n"
#define OVER                     "openings: t=now-9000,now\n"
#define LONG                     "openings: t=now-5000,now+86400000\n"
#define LAST_DAY                 "openings: t=now-5000,now+86399999\n"
#define CLAIM                    "claim 16 n1 5000 16 1000000 0"
#define WANTED                   "openings_wanted: t\n"
#define RUNG                     "ready: t\n"
#define TOLD                     " wake openings"

START_TEST(a_topic_is_closed_until_its_spans_are_known)
{
    CHECK_EXAMPLES( //
        {READY TOPIC, CLAIM, "0 0 0" TOLD, HELD_UNTIL("inf", "", WANTED, RUNG)},
        {READY TOPIC WANTED, CLAIM, "0 0 0", HELD_UNTIL("inf", "", WANTED, RUNG)},
        /* The last span is over. */
        {READY OVER TOPIC, CLAIM, "0 0 0" TOLD, HELD_UNTIL("inf", OVER, WANTED, RUNG)},
        {READY CLOSED TOPIC, CLAIM, "0 0 0 wake now+5000", HELD_UNTIL("now+5000", CLOSED, "", RUNG)},
        {READY OPEN TOPIC, CLAIM, "0 0 1 t/a now-1000 {r} t " WINDOWS,
         "holders:t: t/a=n1,now-1000\njobs: t/a={r}\nleases: t/a@now+5000\n" OPEN RUNG TOPIC}, );
}
END_TEST

START_TEST(openings_stores_spans_and_lists_topics)
{
    static const char wanted[] = HELD_UNTIL("inf", "", WANTED, "");
#define STORE "openings 100 t " WINDOWS
    CHECK_EXAMPLES( //
        {wanted, "openings 100", "t " WINDOWS, NULL},
        {wanted, STORE " 'now+5000,now+9000,now+90000,now+95000'", " wake now+5000",
         HELD_UNTIL("now+5000", CLOSED, "", "")},
        /* The settings have changed since the topic was listed. */
        {wanted, "openings 100 t {} 'now+5000,now+9000'", "t " WINDOWS, NULL},
        /* The last span is computed again within its last day only. */
        {wanted, STORE " 'now-5000,now+86400000'", "", MAY_GO(LONG, "")},
        {wanted, STORE " 'now-5000,now+86399999'", "t " WINDOWS TOLD, MAY_GO(LAST_DAY, WANTED)}, );
}
END_TEST

START_TEST(spans_of_an_unknown_zone_are_computed_again)
{
    static const char wanted[] = HELD_UNTIL("inf", "", WANTED, "");
#define UNKNOWN(spans) "openings: t=" spans "\n"
    CHECK_EXAMPLES( //
        {wanted, STORE " '-,now+600000'", " wake now+600000",
         HELD_UNTIL("now+600000", UNKNOWN("-,now+600000"), "", "")},
        {READY UNKNOWN("-,now") TOPIC, CLAIM, "0 0 0" TOLD,
         HELD_UNTIL("inf", UNKNOWN("-,now"), WANTED, RUNG)},
        {READY UNKNOWN("-") TOPIC, CLAIM, "0 0 0" TOLD, HELD_UNTIL("inf", UNKNOWN("-"), WANTED, RUNG)},
        /* Another window of the topic is in a zone that is known. */
        {wanted, STORE " 'now+5000,now+9000,-,now+600000'", " wake now+5000",
         HELD_UNTIL("now+5000", UNKNOWN("now+5000,now+9000,-,now+600000"), "", "")},
        {wanted, STORE " 'now+5000,now+9000,-,now+3000'", " wake now+3000",
         HELD_UNTIL("now+3000", UNKNOWN("now+5000,now+9000,-,now+3000"), "", "")},
        {wanted, STORE " 'now-5000,now+9000,-,now+3000'", "",
         MAY_GO(UNKNOWN("now-5000,now+9000,-,now+3000"), "")},
        {wanted, STORE " 'now-5000,now+9000,-,now'", "t " WINDOWS TOLD,
         MAY_GO(UNKNOWN("now-5000,now+9000,-,now"), WANTED)}, );
}
END_TEST

#define PULL_WINDOWS "{\"delivery\":\"pull\",\"windows\":[{\"from\":\"09:00\",\"to\":\"10:00\"}]}"
#define PULL_READY(openings, wanted)                                                                         \
    DUE_JOB "due: t@inf\njobs: t/a={r}\n" openings wanted "topics: t=" PULL_WINDOWS "\n"
#define LEASE         "lease t 1 p1 5000 0 - ''"
#define NOTHING(next) "(p1 0 0 " next " " PULL_WINDOWS ")"

/* While workers may lease jobs of a topic, no other script offers it, so all its spans may be over when a
 * worker comes. */
START_TEST(workers_ask_for_spans)
{
    CHECK_EXAMPLES( //
        {PULL_READY(OVER, ""), LEASE, NOTHING("-1") TOLD, PULL_READY(OVER, WANTED)},
        {PULL_READY("", ""), LEASE, NOTHING("-1") TOLD, PULL_READY("", WANTED)},
        {PULL_READY(CLOSED, ""), LEASE, NOTHING("now+5000"), NULL}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_openings");
    TCase *tests = examples_case("openings");
    tcase_add_test(tests, a_topic_is_closed_until_its_spans_are_known);
    tcase_add_test(tests, openings_stores_spans_and_lists_topics);
    tcase_add_test(tests, spans_of_an_unknown_zone_are_computed_again);
    tcase_add_test(tests, workers_ask_for_spans);
    suite_add_tcase(suite, tests);
    return suite;
}

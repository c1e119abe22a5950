/* Tests the setting windows in scripts: a topic is closed outside of its spans, and where they are unknown.
 */
#include "support/keyspace.h"
#include "support/script_examples.h"
#include "support/script_runner.h"
#include "support/suite.h"

#define WINDOWS "{\"windows\":[{\"from\":\"09:00\",\"to\":\"10:00\"}]}"
#define TOPIC   "topics: t=" WINDOWS "\n"
#define HELD_UNTIL(time, openings, wanted)                                                                   \
    "behind: t@0\nbucket:t: t/a@now-1000\ndue: t@" time "\njobs: t/a={r}\n" openings wanted TOPIC
#define OPEN   "openings: t=now-5000,now+5000,now+90000,now+95000\n"
#define CLOSED "openings: t=now+5000,now+9000,now+90000,now+95000\n"
#define CLAIM  "claim 16 n1 5000 16 1000000 0"
#define WANTED "openings_wanted: t\n"

START_TEST(a_topic_is_closed_until_its_spans_are_known)
{
    CHECK_EXAMPLES( //
        {READY TOPIC, CLAIM, "0 0 0 t " WINDOWS, HELD_UNTIL("inf", "", WANTED)},
        /* The last span is over. */
        {READY "openings: t=now-9000,now\n" TOPIC, CLAIM, "0 0 0 t " WINDOWS,
         HELD_UNTIL("inf", "openings: t=now-9000,now\n", WANTED)},
        {READY CLOSED TOPIC, CLAIM, "0 0 0 t " WINDOWS " wake now+5000", HELD_UNTIL("now+5000", CLOSED, "")},
        {READY OPEN TOPIC, CLAIM, "0 0 1 t/a now-1000 {r} t " WINDOWS,
         "holders:t: t/a=n1,now-1000\njobs: t/a={r}\nleases: t/a@now+5000\n" OPEN TOPIC}, );
}
END_TEST

START_TEST(openings_stores_spans_and_lists_topics)
{
    CHECK_EXAMPLES( //
        {HELD_UNTIL("inf", "", WANTED), "openings 100", "t " WINDOWS, NULL},
        {HELD_UNTIL("inf", "", WANTED), "openings 100 t " WINDOWS " now+5000,now+9000", "wake now+5000",
         HELD_UNTIL("now+5000", "openings: t=now+5000,now+9000\n", "")}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_openings");
    TCase *tests = examples_case("openings");
    tcase_add_test(tests, a_topic_is_closed_until_its_spans_are_known);
    tcase_add_test(tests, openings_stores_spans_and_lists_topics);
    suite_add_tcase(suite, tests);
    return suite;
}

/* Tests the events of topics with the setting events. */
#include "support/keyspace.h"
#include "support/script_examples.h"
#include "support/script_runner.h"
#include "support/suite.h"

#define EVENTS             "topics: t={\"events\":true}\n"
#define STREAM(type, data) "stream:t: " type ",now,1,0,a" data "\n"
#define READERS            "stream_readers: t@now+9000\n"
#define CLAIM              "claim 16 n1 5000 16 1000000 0"

START_TEST(what_happens_to_a_job_is_an_event)
{
    CHECK_EXAMPLES( //
        {EVENTS, "schedule 0 86400000 t/a @now+60000 \"x\":1} -", "now+60000 wake now+60000",
         "bucket:t: t/a@now+60000\ndue: t@now+60000\njobs: t/a={\"createdAt\":now,\"x\":1}\n" STREAM(
             "accepted", "") EVENTS},
        {READY EVENTS, CLAIM, "0 0 1 t/a now-1000 {r} t {\"events\":true}",
         "holders:t: t/a=n1,now-1000\njobs: t/a={r}\nleases: t/a@now+5000\nready: t\n" STREAM("begun", "")
             EVENTS},
        {LEASED EVENTS, "complete t/a n1 2", "1", STREAM("delivered", "2|") EVENTS},
        {LEASED EVENTS, "retry t/a n1 5000 {e} 2", "1 wake now+5001",
         "attempts: t/a=2|\nbucket:t: t/a@now+5001\ndue: t@now+5001\njobs: t/a={e}\n" STREAM("retried", "2|")
             EVENTS},
        {LEASED EVENTS, "bury t/a n1 {d} 1", "1", DIED("now", "0,3,{d}1|") STREAM("dead", "1|") EVENTS},
        {DELAYED EVENTS, "cancel t/a ''", "0", STREAM("cancelled", "") EVENTS},
        /* Other topics pay nothing. */
        {LEASED "topics: u={\"events\":true}\n", "complete t/a n1 2", "1",
         "topics: u={\"events\":true}\n"}, );
}
END_TEST

START_TEST(readers_are_told_once)
{
    CHECK_EXAMPLES( //
        {DELAYED EVENTS READERS, "cancel t/a ''", "0 wake stream t", STREAM("cancelled", "") READERS EVENTS},
        {DELAYED EVENTS "stream_readers: t@now\n", "cancel t/a ''", "0",
         STREAM("cancelled", "") "stream_readers: t@now\n" EVENTS}, );
}
END_TEST

START_TEST(events_are_read_from_a_place)
{
#define TWO "stream:t: accepted,1,1,0,a begun,2,1,0,a\n"
    CHECK_EXAMPLES( //
        {TWO EVENTS, "stream t '' 9 0", "(1 1-1 0)", NULL}, {TWO, "stream t '' 9 0", "(0 1-1 0)", NULL},
        {EVENTS, "stream t '' 9 9000", "(1 0-0 0)", EVENTS READERS},
        {TWO EVENTS, "stream t 1-1 9 0", "(1 1-1 0)", NULL},
        /* The events after this one may have been removed. */
        {EVENTS, "stream t 1-1 9 0", "(1 0-0 1)", NULL}, );
}
END_TEST

START_TEST(without_the_setting_the_stream_is_removed)
{
    CHECK_EXAMPLES( //
        {TWO EVENTS, "settings t {\"events\":true} {}", "1", "stream:t:\ntopics: t={}\n"},
        {TWO EVENTS, "settings t {\"events\":true} {\"paused\":true,\"events\":true}", "1",
         TWO "topics: t={\"paused\":true,\"events\":true}\n"}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_stream");
    TCase *tests = examples_case("stream");
    tcase_add_test(tests, what_happens_to_a_job_is_an_event);
    tcase_add_test(tests, readers_are_told_once);
    tcase_add_test(tests, events_are_read_from_a_place);
    tcase_add_test(tests, without_the_setting_the_stream_is_removed);
    suite_add_tcase(suite, tests);
    return suite;
}

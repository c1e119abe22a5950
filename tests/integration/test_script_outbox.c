/* Tests the outbox of the history: which ends are written to it, how it is read, and that only the archiver
 * removes texts. */
#include "support/script_examples.h"
#include "support/suite.h"

#define ON            "history: backlog=1000000 bodies=on\n"
#define KEEPS         "topics: t={\"retention\":10}\n"
#define ONE           "attempts: t/a=1|\n"
#define ENDED(text)   "ended: t/a=" text "\nended_ids: t/a\n"
#define START         "{\"createdAt\":1,\"head\":\"1;0;0;0;-;27;\",\"headers\":{\"body\":\"x\\\"{\"}"
#define BODY          START ",\"body\":{\"a\":[1]}}"
#define LEFT          START ",\"bodyLeftOut\":true}"
#define WITH(bodies)  "history: backlog=1000000 bodies=" bodies "\n"
#define HOLDS(record) "holders:t: t/a=n1,now-1000\njobs: t/a=" record "\nleases: t/a@now+3000\n"

START_TEST(each_end_reaches_the_outbox)
{
    CHECK_EXAMPLES( //
        {LEASED ON, "complete t/a n1 2", "1", ENDED("delivered,now,0,3,{r}2|") ON},
        {ONE LEASED ON, "complete t/a n1 2", "1", ENDED("delivered,now,0,3,{r}1|2|") ON},
        {ONE LEASED ON, "complete t/a n1 ''", "1", ENDED("delivered,now,0,3,{r}1|") ON},
        {LOST ON, "complete t/a n1 2", "1", BELL ENDED("delivered,now,1,3,{r}2|") ON},
        {DEAD_BY_LOSSES ON, "complete t/a n1 2", "1", ENDED("delivered,now,0,3,{r}2|") ON},
        {LEASED ON, "complete t/a nx 2", "0", NULL},
        {ONE LEASED ON, "bury t/a n1 {d} 2", "1",
         DIED("now", "0,3,{d}1|2|") ENDED("dead,now,0,3,{d}1|2|") ON},
        {ONE DELAYED ON, "cancel t/a ''", "0", ENDED("cancelled,now,0,3,{r}1|") ON},
        {LEASED ON, "cancel t/a ''", "1", LINGERING ENDED("cancelled,now,0,3,{r}") ON},
        {DELAYED ON, "cancel t/a no", "-4", NULL}, {ON, "cancel t/a ''", "-1", NULL},
        /* When a dead job is cancelled or changed, a new text about its end is written to the outbox. */
        {DEAD ON, "cancel t/a ''", "0", ENDED("cancelled,now,0,3,{r}") ON},
        {DEAD ON, "change t/a * - {n}", "0",
         DIED("now-5000", "0,3,{n}") ENDED("dead,now-5000,0,3,{n}") ON}, );
}
END_TEST

START_TEST(a_job_that_a_retention_keeps_reaches_it_too)
{
    CHECK_EXAMPLES( //
        {LEASED KEEPS ON, "complete t/a n1 2", "1",
         "delivered:t: t/a@now\nkept: t/a=delivered,now,0,3,{r}2|\nkept_until: t/a@now+10000\n" KEEPS ENDED(
             "delivered,now,0,3,{r}2|") ON}, );
}
END_TEST

START_TEST(a_job_that_is_replaced_during_its_attempt_is_cancelled)
{
#define NEW  "bucket:t: t/a@now+60001\ndue: t@now+60001\njobs: t/a={\"createdAt\":now+1,\"x\":1}\n"
#define OLD  "holders:t: t/a|n1=replaced\nlingering: t/a|n1@now+3000\n"
#define GONE "cancelled,now,0,23,{r,\"reason\":\"replaced\"}"
    static const char put[] = "replace 0 t/a 60000 \"x\":1} ''";
    CHECK_EXAMPLES( //
        {ONE LEASED ON, put, "(now+60001 now+1 2) wake now+60001", ENDED(GONE "1|") NEW OLD ON},
        {LEASED ON KEEPS, put, "(now+60001 now+1 2) wake now+60001",
         ENDED(GONE) "cancelled:t: t/a@now\nkept: t/a=" GONE
                     "\nkept_until: t/a@now+10000\n" NEW OLD ON KEEPS},
        {HOLDS(BODY) WITH("off"), put, "(now+60001 now+1 2) wake now+60001",
         ENDED("cancelled,now,0,103," START ",\"bodyLeftOut\":true,\"reason\":\"replaced\"}")
             NEW OLD WITH("off")}, );
#undef NEW
#undef OLD
#undef GONE
}
END_TEST

START_TEST(jobs_that_do_not_end_leave_it_alone)
{
    CHECK_EXAMPLES( //
        {LEASED ON, "retry t/a n1 5000 {e} 2", "1 wake now+5001",
         "attempts: t/a=2|\nbucket:t: t/a@now+5001\ndue: t@now+5001\njobs: t/a={e}\n" ON},
        {DEAD ON, "run 0 t/a 0 '' {r} {f}", "now", DUE_NOW("{f}") ON},
        {DELAYED ON, "replace 0 t/a 60000 \"x\":1} ''", "(now+60001 now+1 1)",
         "bucket:t: t/a@now+60001\ndue: t@now+60001\njobs: t/a={\"createdAt\":now+1,\"x\":1}\n" ON}, );
}
END_TEST

START_TEST(without_a_history_nothing_does)
{
    CHECK_EXAMPLES( //
        {ONE LEASED, "complete t/a n1 2", "1", ABSENT}, {DELAYED, "cancel t/a ''", "0", ABSENT},
        {DEAD, "cancel t/a ''", "0", ABSENT}, {LEASED, "bury t/a n1 {d} 2", "1", DIED("now", "0,3,{d}2|")}, );
}
END_TEST

START_TEST(many_ends_of_one_call_keep_their_order)
{
    CHECK_EXAMPLES( //
        {"attempts: t/b=1|\nholders:t: t/a=n1,now-9 t/b=n1,now-8 t/c=n1,now-7\njobs: t/a={r} t/b={s} "
         "t/c={t}\n"
         "leases: t/a@now+9 t/b@now+9 t/c@now+9\n" ON,
         "complete t/b n1 2 t/c nx 3 t/a n1 4", "1 0 1",
         "ended: t/a=delivered,now,0,3,{r}4| t/b=delivered,now,0,3,{s}1|2|\nended_ids: t/b t/a\n"
         "holders:t: t/c=n1,now-7\njobs: t/c={t}\nleases: t/c@now+9\n" ON},
        {"bucket:t: t/a@now+5\ndead: t/b@now-5\ndead:t: t/b@now-5\ndead_due: t@inf\ndue: t@now+5\n"
         "jobs: t/a={1}\nkept: t/b=dead,now-5,0,3,{2}\n" ON,
         "cancel t/a '' t/b '' t/a ''", "0 0 -1",
         "ended: t/a=cancelled,now,0,3,{1} t/b=cancelled,now,0,3,{2}\nended_ids: t/a t/b\n" ON}, );
}
END_TEST

START_TEST(bodies_are_left_out_as_the_settings_say)
{
    CHECK_EXAMPLES( //
        {HOLDS(BODY) WITH("on"), "complete t/a n1 ''", "1", ENDED("delivered,now,0,81," BODY) WITH("on")},
        {HOLDS(BODY) WITH("off"), "complete t/a n1 ''", "1", ENDED("delivered,now,0,83," LEFT) WITH("off")},
        {HOLDS(BODY) WITH("errors"), "complete t/a n1 ''", "1",
         ENDED("delivered,now,0,83," LEFT) WITH("errors")},
        {HOLDS(BODY) WITH("errors"), "cancel t/a ''", "1",
         LINGERING ENDED("cancelled,now,0,81," BODY) WITH("errors")},
        /* The record has no body; or it is an old one, or not valid JSON, so the archiver leaves the body
           out. */
        {HOLDS(START "}") WITH("off"), "complete t/a n1 ''", "1",
         ENDED("delivered,now,0,64," START "}") WITH("off")},
        {HOLDS("{\"createdAt\":1,\"body\":\"x\"}") WITH("off"), "complete t/a n1 ''", "1",
         ENDED("delivered,now,0,26,{\"createdAt\":1,\"body\":\"x\"}") WITH("off")},
        {HOLDS("\"x\\") WITH("off"), "complete t/a n1 ''", "1",
         ENDED("delivered,now,0,3,\"x\\") WITH("off")}, );
}
END_TEST

START_TEST(a_later_end_of_the_id_gets_a_field_of_its_own)
{
#define URL(n) "{\"createdAt\":1,\"url\":\"http://a/" n "\"}"
#define OLD    "dead,now-9,0,3,{o}"
    CHECK_EXAMPLES( //
        {ENDED(OLD) LEASED ON, "complete t/a n1 2", "1",
         "ended: t/a=" OLD
         " t/a|b1=delivered,now,0,3,{r}2|\nended_ids: t/a t/a|b1\nended_last: t/a=t/a|b1\n" ON
         "numbers: hours=5666666 outbox_again=1 outbox_bytes=77\n"},
        /* The old and the new text of the end differ only near their ends, and have the same size. */
        {DIED("now-5000", "0,34," URL("1")) ENDED("dead,now-5000,0,34," URL("1")) ON,
         "change t/a * - " URL("2"), "0",
         DIED("now-5000", "0,34," URL("2")) "ended: t/a=dead,now-5000,0,34," URL(
             "1") " t/a|b1=dead,now-5000,0,34," URL("2") "\nended_ids: t/a t/a|b1\nended_last: "
                                                         "t/a=t/a|b1\n" ON
                                                         "numbers: outbox_again=1 outbox_bytes=134\n"},
        /* The archiver has removed the text in the field t/a in the meantime, so the text about the new end
         * is written to this field. */
        {"ended: t/a|b1=" OLD "\nended_ids: t/a|b1\nended_last: t/a=t/a|b1\n" LEASED ON, "complete t/a n1 2",
         "1", "ended: t/a=delivered,now,0,3,{r}2| t/a|b1=" OLD "\nended_ids: t/a|b1 t/a\n" ON}, );
}
END_TEST

START_TEST(beyond_the_backlog_the_oldest_are_dropped_and_counted)
{
#define SMALL "history: backlog=80 bodies=on\n"
    CHECK_EXAMPLES( //
        {"ended: t/x=dead,now-9,0,3,{o} t/y=dead,now-8,0,3,{o} t/z=dead,now-7,0,3,{o}\n"
         "ended_ids: t/x t/y\nended_read: t/z\n" LEASED SMALL,
         "complete t/a n1 2", "1",
         "ended: t/a=delivered,now,0,3,{r}2| t/z=dead,now-7,0,3,{o}\nended_ids: t/a\nended_read: t/z\n"
         "numbers: hours=5666666 outbox_bytes=71 outbox_dropped=2\n" SMALL}, );
}
END_TEST

START_TEST(the_archiver_reads_texts)
{
#define TWO "ended: t/a=dead,now-9,0,3,{o} t/b=dead,now-8,0,3,{o}\n"
#define A   "dead now-9 0 3 {o}"
#define B   "dead now-8 0 3 {o}"
    CHECK_EXAMPLES( //
        {ABSENT, "archive 1000 on 500 9999 0", "0 0 0 0 0", "history: backlog=1000 bodies=on\n"},
        {ON, "archive 0 on 500 9999 0", "0 0 0 0 0", ABSENT},
        {TWO "ended_ids: t/a t/b\n" ON, "archive 0 on 500 9999 0", "2 64 0 0 0", TWO "ended_ids: t/a t/b\n"},
        {TWO "ended_ids: t/a t/b\n" ON, "archive 1000000 on 500 9999 0", "2 64 0 0 0 (t/a t/b) (" A " " B ")",
         TWO "ended_read: t/a t/b\n" ON},
        {TWO "ended_ids: t/a t/b\n" ON, "archive 1000000 on 1 9999 0", "2 64 0 0 0 (t/a) (" A ")",
         TWO "ended_ids: t/b\nended_read: t/a\n" ON},
        {TWO "ended_ids: t/a t/b\n" ON, "archive 1000000 on 500 1 0", "2 64 0 0 0 (t/a) (" A ")",
         TWO "ended_read: t/a t/b\n" ON},
        /* Texts that an earlier caller has read are returned first. Texts that this caller still has are left
         * out. */
        {TWO "ended_ids: t/b\nended_read: t/a\n" ON, "archive 1000000 on 500 9999 0",
         "2 64 0 0 0 (t/a) (" A ") (t/b) (" B ")", TWO "ended_read: t/a t/b\n" ON},
        {TWO "ended_ids: t/b\nended_read: t/a\n" ON, "archive 1000000 on 500 9999 1",
         "2 64 0 0 0 (t/b) (" B ")", TWO "ended_read: t/a t/b\n" ON},
        /* The list ended_ids names a field that is missing in ended. */
        {"ended_ids: t/c\n" ON, "archive 1000000 on 500 9999 0", "0 0 0 0 0 (t/c) (nil)",
         "ended_read: t/c\n" ON}, );
}
END_TEST

START_TEST(the_archiver_removes_what_it_has_read)
{
#define A0      "dead,now-9,0,3,{o}"
#define REMOVED "numbers: outbox_bytes=32 outbox_removed=1\n"
    CHECK_EXAMPLES( //
        {TWO "ended_read: t/a t/b\n" ON, "archived 0 0 1 32 t/a t/a", "1",
         "ended: t/b=dead,now-8,0,3,{o}\nended_read: t/b\n" ON REMOVED},
        {TWO "ended_read: t/a t/b\n" ON, "archived 0 0 2 64 t/a t/b", "2", ON "numbers: outbox_removed=2\n"},
        /* A field that had no text when it was read may have one now. */
        {TWO "ended_read: t/a t/b\n" ON, "archived 0 0 2 32 t/a t/b 2", "1",
         "ended: t/b=dead,now-8,0,3,{o}\n" ON "numbers: outbox_bytes=32 outbox_removed=2\n"},
        {"ended: t/a=" A0 " t/a|b1=" A0 " t/b=" A0
         "\nended_read: t/a t/a|b1 t/b\nended_last: t/a=t/a|b1\n" ON,
         "archived 0 0 3 99 t/a t/b", "3", ON "numbers: outbox_removed=3\n"}, );
}
END_TEST

START_TEST(the_archiver_removes_nothing_of_a_list_that_has_changed)
{
    CHECK_EXAMPLES( //
        {TWO "ended_read: t/a t/b\n" ON, "archived 1 0 1 32 t/a t/a", "-35", NULL},
        {TWO "ended_read: t/a t/b\n" ON, "archived 0 1 1 32 t/a t/a", "-35", NULL},
        {TWO "ended_read: t/a t/b\n" ON, "archived 0 0 1 32 t/b t/b", "-35", NULL},
        {TWO "ended_read: t/a t/b\n" ON, "archived 0 0 2 64 t/a t/a", "-35", NULL},
        {TWO "ended_ids: t/b\nended_read: t/a\n" ON, "archived 0 0 2 64 t/a t/b", "-35", NULL}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_outbox");
    TCase *tests = examples_case("outbox");
    tcase_add_test(tests, each_end_reaches_the_outbox);
    tcase_add_test(tests, a_job_that_a_retention_keeps_reaches_it_too);
    tcase_add_test(tests, a_job_that_is_replaced_during_its_attempt_is_cancelled);
    tcase_add_test(tests, jobs_that_do_not_end_leave_it_alone);
    tcase_add_test(tests, without_a_history_nothing_does);
    tcase_add_test(tests, many_ends_of_one_call_keep_their_order);
    tcase_add_test(tests, bodies_are_left_out_as_the_settings_say);
    tcase_add_test(tests, a_later_end_of_the_id_gets_a_field_of_its_own);
    tcase_add_test(tests, beyond_the_backlog_the_oldest_are_dropped_and_counted);
    tcase_add_test(tests, the_archiver_reads_texts);
    tcase_add_test(tests, the_archiver_removes_what_it_has_read);
    tcase_add_test(tests, the_archiver_removes_nothing_of_a_list_that_has_changed);
    suite_add_tcase(suite, tests);
    return suite;
}

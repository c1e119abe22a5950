/* Tests that a sibling topic, t~c, has its own limits, and uses its owner's retention and settings for
 * deliveries. */
#include "support/script_examples.h"
#include "support/suite.h"

#define DUE     "bucket:t~c: t~c/a@now-9\njobs: t~c/a={r}\n"
#define TURN    "turns: t~c@1\n"
#define HOLDING "holders:t~c: t~c/a=n5,now-9\njobs: t~c/a={r}\nleases: t~c/a@now+5000\n"
#define CLAIM   "claim 10 n5 5000 2 1000 0"
#define CLAIMED "0 0 1 t~c/a now-9 {r}"
#define KEEPS   "topics: t={\"retention\":10}\n"

START_TEST(no_setting_of_the_owner_holds_a_sibling_up)
{
#define PAUSED "topics: t={\"paused\":true,\"maxInFlight\":1,\"rate\":{\"jobs\":1,\"per\":9,\"burst\":1}}\n"
    CHECK_EXAMPLES( //
        {DUE TURN PAUSED, CLAIM,
         CLAIMED " t~c {\"paused\":true,\"maxInFlight\":1,\"rate\":{\"jobs\":1,\"per\":9,\"burst\":1}}",
         HOLDING PAUSED},
        {DUE "due: t~c@now-9\n" PAUSED, "carry me 1 9 '' 0 5000 500", "me 1 -1 -1 1 t",
         DUE "ready: t~c\n" TURN PAUSED "carry: at=now beat=1 owner=me\n"}, );
}
END_TEST

START_TEST(a_sibling_is_not_served_without_its_owners_settings)
{
#define NEEDING    "topics: t={\"needs\":[\"later\"]}\n"
#define UNREADABLE "topics: t=x\n"
    CHECK_EXAMPLES( //
        {DUE TURN NEEDING, CLAIM, "0 0 0 t~c {\"needs\":[\"later\"]}", DUE NEEDING "turns: t~c@1\n"},
        {DUE TURN UNREADABLE, CLAIM, "0 0 0 t~c x", DUE UNREADABLE "turns: t~c@1\n"}, );
}
END_TEST

START_TEST(a_sibling_keeps_what_its_owner_keeps)
{
#define OF_ALL "patterns: *={\"retention\":10}\n"
#define KEPT   "kept: t~c/a=delivered,now,0,3,{r}2|\nkept_until: t~c/a@now+10000\ndelivered:t~c: t~c/a@now\n"
    CHECK_EXAMPLES( //
        {HOLDING KEEPS, "complete t~c/a n5 2", "1", KEPT KEEPS},
        {HOLDING OF_ALL, "complete t~c/a n5 2", "1", KEPT OF_ALL},
        {HOLDING, "complete t~c/a n5 ''", "1", ABSENT},
        {DUE TURN OF_ALL, CLAIM, CLAIMED " t~c {\"retention\":10}", HOLDING OF_ALL},
        {DUE TURN KEEPS OF_ALL, CLAIM, CLAIMED " t~c [{\"retention\":10},{\"retention\":10}]",
         HOLDING KEEPS OF_ALL}, );
}
END_TEST

START_TEST(another_retention_of_the_owner_dates_its_siblings_dead)
{
#define DEAD_SIBLING                                                                                         \
    "dead: t~c/a@now-9\ndead:t~c: t~c/a@now-9\ndead_due: t~c@inf\nkept: t~c/a=dead,now-9,0,3,{d}\n"
    CHECK_EXAMPLES( //
        {DEAD_SIBLING, "settings t '' {\"retention\":10}", "1", DEAD_SIBLING KEEPS "meta: redate=0\n"},
        {DEAD_SIBLING, "settings s '' {\"retention\":10}", "1",
         DEAD_SIBLING "topics: s={\"retention\":10}\n"},
        {DEAD_SIBLING, "settings t~ '' {\"retention\":10}", "1",
         DEAD_SIBLING "topics: t~={\"retention\":10}\n"}, );
}
END_TEST

START_TEST(a_sibling_is_read_with_its_owners_settings_and_shown_without)
{
    CHECK_EXAMPLES( //
        {DUE TURN KEEPS, "read t~c/a", "(ready now-9 {r} 0 {\"retention\":10})", NULL},
        {DUE TURN KEEPS, "topics t~c '' 1", "0 t~c '' 0 1 0 0 now-9 -1 0 0 0 0 '' '' '' 0 0 0 0 '' -1 -1 0",
         NULL}, );
}
END_TEST

START_TEST(a_sibling_has_settings_of_its_own)
{
#define FIFO      "{\"order\":\"fifo\",\"note\":{\"a\":1},\"needs\":[\"fifo\"]}"
#define OWN(text) "topics: t~c=" text "\n"
#define TWO       "bucket:t~c: t~c/a@now-9 t~c/b@now-8\njobs: t~c/a={r} t~c/b={r}\n"
#define ONE_OF_TWO                                                                                           \
    "bucket:t~c: t~c/b@now-8\ndue: t~c@inf\nholders:t~c: t~c/a=n5,now-9\n"                                   \
    "jobs: t~c/a={r} t~c/b={r}\nleases: t~c/a@now+5000\n"
    CHECK_EXAMPLES( //
        {DUE TURN, "settings t~c '' {\"paused\":true}", "1", DUE "due: t~c@inf\n" OWN("{\"paused\":true}")},
        {DUE "due: t~c@inf\n" OWN("{\"paused\":true}"), "settings t~c {\"paused\":true} ''", "1",
         DUE TURN "ready: t~c\n"},
        {TWO TURN OWN(FIFO), CLAIM, CLAIMED, ONE_OF_TWO OWN(FIFO)},
        {TWO TURN OWN("{\"maxInFlight\":1}"), CLAIM, CLAIMED, ONE_OF_TWO OWN("{\"maxInFlight\":1}")},
        {DUE TURN OWN("{\"needs\":[\"later\"]}"), CLAIM, "0 0 0", DUE TURN OWN("{\"needs\":[\"later\"]}")},
        {ABSENT, "settings t~c '' " FIFO, "1", OWN(FIFO)}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_siblings");
    TCase *tests = examples_case("siblings");
    tcase_add_test(tests, no_setting_of_the_owner_holds_a_sibling_up);
    tcase_add_test(tests, a_sibling_is_not_served_without_its_owners_settings);
    tcase_add_test(tests, a_sibling_keeps_what_its_owner_keeps);
    tcase_add_test(tests, another_retention_of_the_owner_dates_its_siblings_dead);
    tcase_add_test(tests, a_sibling_is_read_with_its_owners_settings_and_shown_without);
    tcase_add_test(tests, a_sibling_has_settings_of_its_own);
    suite_add_tcase(suite, tests);
    return suite;
}

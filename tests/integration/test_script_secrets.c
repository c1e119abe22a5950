/* Tests secrets.lua and reseal.lua: reads texts that may be encrypted, and replaces them. */
#include "support/script_examples.h"
#include "support/suite.h"

#define SHARED  "topics: t={}\n"
#define PLACE   "t/w/5"
#define RUN     "workflow:" PLACE ": settings=x state=active\nworkflow_times: " PLACE "@5\nworkflows: t/w=5\n"
#define EVENTS  "event_names:" PLACE ": =103 e=103\nevents:" PLACE "/e: d1\n"
#define RECORDS "jobs: t/a={r}\n"

START_TEST(a_page_has_the_texts_of_a_hash_or_of_a_workflow)
{
    CHECK_EXAMPLES( //
        {ABSENT, "secrets jobs 0 10", "''", NULL}, {DELAYED, "secrets jobs 0 10", "'' jobs t/a {r}", NULL},
        {SHARED, "secrets topics 0 10", "'' topics t {}", NULL},
        {RUN, "secrets workflows 0 10", "'' workflows " PLACE " ''", NULL},
        {"elements:" PLACE ": s1 s2\n" RUN, "secrets " PLACE " 0 10",
         "'' workflow:" PLACE " settings x elements:" PLACE " 0 s1 elements:" PLACE " 1 s2", NULL},
        {"elements:" PLACE ": s1 s2\n" RUN, "secrets " PLACE " 0 1",
         "1 workflow:" PLACE " settings x elements:" PLACE " 0 s1", NULL},
        {"elements:" PLACE ": s1 s2\n" RUN, "secrets " PLACE " 1 1", "2 elements:" PLACE " 1 s2", NULL},
        {EVENTS RUN, "secrets " PLACE " 0 10", "'' workflow:" PLACE " settings x events:" PLACE "/e 0 d1",
         NULL},
        {ABSENT, "secrets numbers 0 10", "ERR", NULL}, {ABSENT, "secrets jobs x 10", "ERR", NULL}, );
}
END_TEST

START_TEST(a_text_is_replaced_if_it_is_still_the_same)
{
    CHECK_EXAMPLES( //
        {SHARED, "reseal topics t {} {new}", "1", "topics: t={new}\n"},
        {SHARED, "reseal topics t {old} {new}", "0", NULL}, {ABSENT, "reseal topics t {} {new}", "0", NULL},
        {"elements:" PLACE ": s1 s2\n", "reseal elements:" PLACE " 1 s2 s3", "1",
         "elements:" PLACE ": s1 s3\n"},
        {"elements:" PLACE ": s1 s2\n", "reseal elements:" PLACE " 0 s2 s3", "0", NULL},
        {"elements:" PLACE ": s1\n", "reseal elements:" PLACE " 4 s2 s3", "0", NULL},
        {EVENTS, "reseal events:" PLACE "/e 0 d1 d2", "1",
         "event_names:" PLACE ": =103 e=103\nevents:" PLACE "/e: d2\n"},
        {SHARED, "reseal topics t {} {new} topics t {} {other}", "1 0", "topics: t={new}\n"},
        /* The tag of a schedule's definition moves with it: the SHA-1 of a and of b. */
        {"fired: t/s=86f7e437faa5a7fce15d1ddcb9eaeaea377667b8,fire,0,1,1,\nschedules: t/s=a\n",
         "reseal schedules t/s a b", "1",
         "fired: t/s=e9d71f5ee7c92d6dc9e92ffdad17b8bd49418f98,fire,0,1,1,\nschedules: t/s=b\n"},
        {ABSENT, "reseal numbers waiting 1 2", "ERR", NULL}, {ABSENT, "reseal topics t {}", "ERR", NULL}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_secrets");
    TCase *tests = examples_case("secrets");
    tcase_add_test(tests, a_page_has_the_texts_of_a_hash_or_of_a_workflow);
    tcase_add_test(tests, a_text_is_replaced_if_it_is_still_the_same);
    suite_add_tcase(suite, tests);
    return suite;
}

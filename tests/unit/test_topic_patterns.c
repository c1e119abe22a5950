#include "support/suite.h"

#include "job/topic/topic_patterns.h"

static const struct {
    const char *patterns;
    bool is_valid;
} spellings[] = {
    {"mail", true}, {"orders-*,mail", true}, {"*", true},       {".*", true},
    {"..*", true},  {"a,a", true},           {"", false},       {",", false},
    {"a,", false},  {",a", false},           {"a,,b", false},   {".", false},
    {"..", false},  {"a**", false},          {"*a", false},     {"a b", false},
    {"a/b", false}, {"a:*", false},          {"a,b c*", false}, {"a~b", false},
    {"a~*", false},
};

START_TEST(a_pattern_is_a_topic_or_a_beginning)
{
    struct problem problem;
    enum status status = topic_patterns_check(slice_of(spellings[_i].patterns), &problem);
    ck_assert_msg((status == STATUS_OK) == spellings[_i].is_valid, "%s", spellings[_i].patterns);
}
END_TEST

START_TEST(there_are_bounds)
{
    struct buffer text;
    struct problem problem;
    buffer_init(&text, 100000);
    for (int i = 0; i < TOPIC_PATTERNS_MAX - 1; i++)
        buffer_append(&text, SLICE("a,"));
    buffer_append(&text, SLICE("a"));
    ck_assert_int_eq(topic_patterns_check(buffer_slice(&text), &problem), STATUS_OK);
    buffer_append(&text, SLICE(",a"));
    ck_assert_int_eq(topic_patterns_check(buffer_slice(&text), &problem), STATUS_INVALID);
    buffer_clear(&text);
    for (int i = 0; i < TOPIC_PATTERNS_BYTES_MAX; i++)
        buffer_append_byte(&text, 'a');
    buffer_append_byte(&text, '*');
    ck_assert_int_eq(topic_patterns_check(buffer_slice(&text), &problem), STATUS_INVALID);
    buffer_fini(&text);
}
END_TEST

static const struct {
    const char *patterns, *topic;
    bool is_match;
} matches[] = {
    {"mail", "mail", true},
    {"mail", "mai", false},
    {"mail", "mails", false},
    {"mail", "Mail", false},
    {"orders-*", "orders-", true},
    {"orders-*", "orders-eu", true},
    {"orders-*", "orders", false},
    {"orders-*", "order", false},
    {"a,b*,c", "c", true},
    {"a,b*,c", "bb", true},
    {"a,b*,c", "ac", false},
    {"*", "anything", true},
    {"mail", "mail~callbacks", true},
    {"mail", "mails~callbacks", false},
    {"mail", "mail-~x", false},
    {"orders-*", "orders-eu~callbacks", true},
    {"orders-*", "orders~callbacks", false},
};

START_TEST(topics_match)
{
    ck_assert_msg(topic_patterns_match(slice_of(matches[_i].patterns), slice_of(matches[_i].topic)) ==
                      matches[_i].is_match,
                  "%s %s", matches[_i].patterns, matches[_i].topic);
}
END_TEST

/* Names of topics, sorted as Redis sorts them. */
static const char *const names[] = {"-",    "A",      "a",       "ab",        "abc",      "abc~d",
                                    "ab~c", "a~c",    "a~d",     "b",         "ba",       "bb",
                                    "c",    "orders", "orders-", "orders-eu", "orders~c", "z"};
enum { NAMES = sizeof names / sizeof *names };

/* Collects the names that match a pattern. After each name, jumps to the next name that can match. */
static void walk(const char *patterns, struct buffer *found)
{
    struct buffer from;
    struct slice after = {NULL, 0};
    buffer_init(&from, 1000);
    buffer_clear(found);
    while (topic_patterns_seek(slice_of(patterns), after, &from)) {
        int i = 0;
        while (i < NAMES && strcmp(names[i], buffer_text(&from)) <= 0)
            i++;
        if (i == NAMES)
            break;
        after = slice_of(names[i]);
        if (topic_patterns_match(slice_of(patterns), after))
            buffer_printf(found, "%s ", names[i]);
    }
    buffer_fini(&from);
}

static const struct {
    const char *patterns, *found;
} walks[] = {
    {"*", "- A a ab abc abc~d ab~c a~c a~d b ba bb c orders orders- orders-eu orders~c z "},
    {"a*", "a ab abc abc~d ab~c a~c a~d "},
    {"ab*,orders-*,c", "ab abc abc~d ab~c c orders- orders-eu "},
    {"z,b,-,a", "- a a~c a~d b z "},
    {"orders,ab", "ab ab~c orders orders~c "},
    {"nothing", ""},
    {"a,a*,ab*", "a ab abc abc~d ab~c a~c a~d "},
};

START_TEST(a_walk_misses_nothing_and_sees_nothing_twice)
{
    struct buffer found;
    buffer_init(&found, 1000);
    walk(walks[_i].patterns, &found);
    ck_assert_str_eq(buffer_text(&found), walks[_i].found);
    buffer_fini(&found);
}
END_TEST

START_TEST(a_walk_leaves_out_what_lies_between)
{
    struct buffer from;
    buffer_init(&from, 1000);
    ck_assert(topic_patterns_seek(SLICE("b*,orders"), SLICE("a"), &from));
    ck_assert(strcmp(buffer_text(&from), "azzz") > 0 && strcmp(buffer_text(&from), "b") < 0);
    ck_assert(topic_patterns_seek(SLICE("b*,orders"), SLICE("bx"), &from));
    ck_assert_str_eq(buffer_text(&from), "bx");
    ck_assert(topic_patterns_seek(SLICE("b*,orders"), SLICE("c"), &from));
    ck_assert(strcmp(buffer_text(&from), "orderr~~~") > 0 && strcmp(buffer_text(&from), "orders") < 0);
    ck_assert(topic_patterns_seek(SLICE("b*,orders"), SLICE("orders"), &from));
    ck_assert(strcmp(buffer_text(&from), "orderszzz") > 0 && strcmp(buffer_text(&from), "orders~") < 0);
    ck_assert(topic_patterns_seek(SLICE("b*,orders"), SLICE("orders~c"), &from));
    ck_assert_str_eq(buffer_text(&from), "orders~c");
    ck_assert(!topic_patterns_seek(SLICE("b*,orders"), SLICE("ordert"), &from));
    buffer_fini(&from);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("topic_patterns");
    TCase *tests = tcase_create("all");
    tcase_add_loop_test(tests, a_pattern_is_a_topic_or_a_beginning, 0, sizeof spellings / sizeof *spellings);
    tcase_add_test(tests, there_are_bounds);
    tcase_add_loop_test(tests, topics_match, 0, sizeof matches / sizeof *matches);
    tcase_add_loop_test(tests, a_walk_misses_nothing_and_sees_nothing_twice, 0, sizeof walks / sizeof *walks);
    tcase_add_test(tests, a_walk_leaves_out_what_lies_between);
    suite_add_tcase(suite, tests);
    return suite;
}

/* Tests how a topic's settings are merged from layers, such as its own settings and those of patterns: each
 * member comes from the right layer, and the result names this layer. */
#include "job/topic/topic_patterns.h"

#include "job/topic/topic_settings.h"
#include "support/suite.h"

static char text[4096];
static struct buffer out;

static void out_begin(void)
{
    out = (struct buffer){.data = text, .capacity = sizeof text, .max = sizeof text - 1};
}

START_TEST(members_come_from_the_longest_layer_that_has_them)
{
    static const struct {
        const char *own, *common, *merged;
    } cases[] = {
        {"", "{\"paused\":true}", "{\"paused\":true,\"from\":{\"paused\":\"a*\"}}"},
        {"{\"paused\":false}", "{\"paused\":true}", "{\"paused\":false}"},
        {"{\"timeout\":1}", "{}", "{\"timeout\":1}"},
        {"{\"timeout\":1}", "{\"rate\":{\"jobs\":1},\"timeout\":2}",
         "{\"timeout\":1,\"rate\":{\"jobs\":1},\"from\":{\"rate\":\"a*\"}}"},
        {"{\"rate\":{\"jobs\":2}}", "{\"rate\":{\"jobs\":1,\"burst\":3}}", "{\"rate\":{\"jobs\":2}}"},
        /* If the pattern got a member from a shorter pattern, "from" names the shorter pattern. */
        {"{\"a\":1}", "{\"b\":2,\"c\":3,\"from\":{\"c\":\"*\"}}",
         "{\"a\":1,\"b\":2,\"c\":3,\"from\":{\"b\":\"a*\",\"c\":\"*\"}}"},
        /* The merged "needs" have the features of both layers, because a process must know all of them. */
        {"{\"needs\":[\"x\"],\"a\":1}", "{\"b\":2,\"needs\":[\"y\",\"z\"]}",
         "{\"a\":1,\"b\":2,\"needs\":[\"x\",\"y\",\"z\"],\"from\":{\"b\":\"a*\"}}"},
        /* Headers may be secret: they do not follow the url to another origin. */
        {"{\"url\":\"http://h/x\"}", "{\"headers\":{\"A\":\"1\"},\"url\":\"http://h/\"}",
         "{\"url\":\"http://h/x\",\"headers\":{\"A\":\"1\"},\"from\":{\"headers\":\"a*\"}}"},
        {"{\"url\":\"http://other/\"}", "{\"headers\":{\"A\":\"1\"},\"url\":\"http://h/\"}",
         "{\"url\":\"http://other/\"}"},
        {"{\"url\":\"http://other/\"}", "{\"headers\":{\"A\":\"1\"}}",
         "{\"url\":\"http://other/\",\"headers\":{\"A\":\"1\"},\"from\":{\"headers\":\"a*\"}}"},
        {"x", "{}", NULL},
        {"{}", "[]", NULL},
        {"{}", "", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        out_begin();
        bool is_merged =
            topic_layers_merge(slice_of(cases[i].own), slice_of(cases[i].common), SLICE("a*"), &out);
        ck_assert_int_eq(is_merged, cases[i].merged != NULL);
        if (is_merged)
            ck_assert_str_eq(buffer_text(&out), cases[i].merged);
    }
}
END_TEST

START_TEST(a_text_with_two_layers_is_read_as_one)
{
    struct topic_settings settings;
    const char *layers = "[{\"maxInFlight\":3},{\"paused\":true,\"maxInFlight\":5,\"url\":\"http://u/\","
                         "\"from\":{\"url\":\"*\"}}]";
    ck_assert_int_eq(topic_settings_read(slice_of(layers), &settings), STATUS_OK);
    ck_assert(settings.is_paused && settings.max_in_flight == 3 &&
              slice_equal(settings.url, SLICE("http://u/")));
    topic_settings_fini(&settings);
    ck_assert_int_eq(topic_settings_service(slice_of(layers)), TOPIC_PAUSED);
    ck_assert_int_eq(topic_settings_service(SLICE("[{\"paused\":false},{\"paused\":true}]")), TOPIC_SERVED);
    ck_assert_int_eq(topic_settings_service(SLICE("[{},{\"needs\":[\"wings\"]}]")), TOPIC_LACKING);
    static const char *const bad[] = {"[]",      "[{}]",   "[{},{},{}]",          "[{},{}",
                                      "[x,{}]",  "[{},1]", "[{\"paused\":1},{}]", "[{},{\"paused\":1}]",
                                      "[{}},{}]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(topic_settings_service(slice_of(bad[i])), TOPIC_UNREADABLE);
}
END_TEST

START_TEST(own_settings_of_a_pattern_are_found_again)
{
    out_begin();
    ck_assert(
        topic_layers_own(SLICE("{\"a\":1,\"b\":{\"c\":2},\"needs\":[\"x\"],\"from\":{\"b\":\"*\"}}"), &out));
    ck_assert_str_eq(buffer_text(&out), "{\"a\":1}");
    out_begin();
    ck_assert(topic_layers_own(SLICE("{\"retention\":10}"), &out));
    ck_assert_str_eq(buffer_text(&out), "{\"retention\":10}");
    ck_assert(!topic_layers_own(SLICE("x"), &out));
}
END_TEST

START_TEST(each_setting_says_where_it_comes_from)
{
    struct topic_layers both = {SLICE("[{\"timeout\":1},{\"paused\":true,\"timeout\":5,\"url\":\"http://u/"
                                      "\",\"from\":{\"url\":\"*\"}}]"),
                                SLICE("{\"timeout\":1}"), SLICE("orders-*")};
    struct topic_layers only = {SLICE("{\"timeout\":5}"), SLICE(""), SLICE("*")};
    struct topic_layers own = {SLICE("{\"timeout\":5}"), SLICE("{\"timeout\":5}"), SLICE("")};
    out_begin();
    topic_layers_show_from(&both, &topic_settings_members, &out);
    ck_assert_ptr_nonnull(strstr(buffer_text(&out), "\"timeout\":\"topic\""));
    ck_assert_ptr_nonnull(strstr(buffer_text(&out), "\"paused\":\"orders-*\""));
    ck_assert_ptr_nonnull(strstr(buffer_text(&out), "\"url\":\"*\""));
    ck_assert_ptr_nonnull(strstr(buffer_text(&out), "\"rate\":\"default\""));
    out_begin();
    topic_layers_show_from(&only, &topic_settings_members, &out);
    ck_assert_ptr_nonnull(strstr(buffer_text(&out), "\"timeout\":\"*\""));
    /* Another program has written these texts. */
    static const char *const odd[] = {"{\"timeout\":5,\"from\":{\"timeout\":\"nonsense\"}}",
                                      "{\"timeout\":5,\"from\":{\"timeout\":7}}",
                                      "{\"timeout\":5,\"from\":7}", "{\"timeout\":5,\"from\":{\"timeout\""};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        only.text = slice_of(odd[i]);
        out_begin();
        topic_layers_show_from(&only, &topic_settings_members, &out);
        ck_assert_ptr_nonnull(strstr(buffer_text(&out), "\"timeout\":\"*\""));
    }
    out_begin();
    topic_layers_show_from(&own, &topic_settings_members, &out);
    ck_assert_ptr_nonnull(strstr(buffer_text(&out), "\"timeout\":\"topic\""));
}
END_TEST

START_TEST(patterns_contain_each_other)
{
    ck_assert(topic_pattern_contains(SLICE("*"), SLICE("a*")));
    ck_assert(topic_pattern_contains(SLICE("a*"), SLICE("a*")));
    ck_assert(!topic_pattern_contains(SLICE("ab*"), SLICE("a*")));
    static const char *const open[] = {"*", "a*", "orders-*", ".*", "..*"};
    static const char *const not_open[] = {"", "a", "a**", "a*b", "*a", "a~*", "a~b*", "a b*"};
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        ck_assert_msg(topic_pattern_is_open(slice_of(open[i])), "%s", open[i]);
    for (size_t i = 0; i < sizeof not_open / sizeof *not_open; i++)
        ck_assert_msg(!topic_pattern_is_open(slice_of(not_open[i])), "%s", not_open[i]);
}
END_TEST

static struct pattern_set set;

static void check_change(const char *name, const char *own, const char *expected)
{
    ck_assert_int_eq(pattern_set_change(&set, slice_of(name), slice_of(own)), PATTERN_SET_DONE);
    out_begin();
    for (size_t i = 0; i < set.count; i++) {
        buffer_append(&out, buffer_slice(&set.patterns[i].name));
        buffer_append(&out, buffer_slice(&set.patterns[i].text));
    }
    ck_assert_str_eq(buffer_text(&out), expected);
}

START_TEST(a_change_of_a_pattern_reaches_all_that_begin_with_it)
{
    set = (struct pattern_set){0};
    check_change("a-b*", "{\"timeout\":1}", "a-b*{\"timeout\":1}");
    check_change("*", "{\"retention\":10}",
                 "*{\"retention\":10}a-b*{\"timeout\":1,\"retention\":10,\"from\":{\"retention\":\"*\"}}");
    check_change("a*", "{\"retention\":20}",
                 "*{\"retention\":10}a*{\"retention\":20}"
                 "a-b*{\"timeout\":1,\"retention\":20,\"from\":{\"retention\":\"a*\"}}");
    check_change("c*", "{\"timeout\":2}",
                 "*{\"retention\":10}a*{\"retention\":20}"
                 "c*{\"timeout\":2,\"retention\":10,\"from\":{\"retention\":\"*\"}}a-b*{\"timeout\":1,"
                 "\"retention\":20,\"from\":{\"retention\":\"a*\"}}");
    check_change("a*", "",
                 "*{\"retention\":10}c*{\"timeout\":2,\"retention\":10,\"from\":{\"retention\":\"*\"}}"
                 "a-b*{\"timeout\":1,\"retention\":10,\"from\":{\"retention\":\"*\"}}");
    check_change("*", "", "c*{\"timeout\":2}a-b*{\"timeout\":1}");
    pattern_set_fini(&set);
    ck_assert(pattern_set_add(&set, SLICE("ab*"), SLICE("nonsense")));
    ck_assert_int_eq(pattern_set_change(&set, SLICE("a*"), SLICE("{}")), PATTERN_SET_UNREADABLE);
    pattern_set_fini(&set);
    ck_assert(pattern_set_add(&set, SLICE("ab*"), SLICE("{\"needs\":[\"wings\"]}")));
    ck_assert_int_eq(pattern_set_change(&set, SLICE("a*"), SLICE("{}")), PATTERN_SET_LACKING);
    ck_assert_int_eq(pattern_set_change(&set, SLICE("b*"), SLICE("{}")), PATTERN_SET_DONE);
    pattern_set_fini(&set);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("topic_layers");
    TCase *tests = tcase_create("topic_layers");
    tcase_add_test(tests, members_come_from_the_longest_layer_that_has_them);
    tcase_add_test(tests, a_text_with_two_layers_is_read_as_one);
    tcase_add_test(tests, own_settings_of_a_pattern_are_found_again);
    tcase_add_test(tests, each_setting_says_where_it_comes_from);
    tcase_add_test(tests, patterns_contain_each_other);
    tcase_add_test(tests, a_change_of_a_pattern_reaches_all_that_begin_with_it);
    suite_add_tcase(suite, tests);
    return suite;
}

#include "support/suite.h"

#include "job/text/json.h"

static const char *merged(const char *old, const char *patch, enum json_names names)
{
    static char text[1000];
    struct buffer out = {.data = text, .capacity = sizeof text, .max = sizeof text - 1};
    struct json_writer json = json_writer_to(&out);
    json_merge(slice_of(old), slice_of(patch), names, &json);
    return buffer_text(&out);
}

/* The examples of RFC 7396, appendix A. Members of old that are kept come first in the result. */
START_TEST(merges_as_the_rfc_says)
{
    static const char *const cases[][3] = {
        {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
        {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
        {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
        {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
        {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"},
        {"{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]"},
        {"{\"a\":\"foo\"}", "null", "null"},
        {"{\"a\":\"foo\"}", "\"bar\"", "\"bar\""},
        {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
        {"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
        {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
        {"", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
        {"{\"a\":0.10}", "{}", "{\"a\":0.10}"},
        {"{\"a\":{\"b\":1,\"c\":2},\"d\":3}", " {\"a\": { \"c\" : 1E2 } }",
         "{\"d\":3,\"a\":{\"b\":1,\"c\":1E2}}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(merged(cases[i][0], slice_trim(slice_of(cases[i][1])).data, JSON_NAMES_EXACT),
                         cases[i][2]);
}
END_TEST

START_TEST(compares_names_without_their_escapes)
{
    ck_assert_str_eq(merged("{\"a\":1,\"b\":2}", "{\"\\u0061\":3}", JSON_NAMES_EXACT),
                     "{\"b\":2,\"\\u0061\":3}");
    ck_assert_str_eq(merged("{\"\\u0061\":1}", "{\"a\":null}", JSON_NAMES_EXACT), "{}");
    ck_assert_str_eq(merged("{\"a\":1}", "{\"A\":2}", JSON_NAMES_EXACT), "{\"a\":1,\"A\":2}");
}
END_TEST

START_TEST(ignores_case_at_the_top)
{
    ck_assert_str_eq(merged("{\"Ab\":1,\"c\":2}", "{\"aB\":null}", JSON_NAMES_NO_CASE), "{\"c\":2}");
    ck_assert_str_eq(merged("{\"a\":{\"b\":1}}", "{\"A\":{\"B\":2}}", JSON_NAMES_NO_CASE),
                     "{\"A\":{\"b\":1,\"B\":2}}");
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("json_merge");
    TCase *tests = tcase_create("json_merge");
    tcase_add_test(tests, merges_as_the_rfc_says);
    tcase_add_test(tests, compares_names_without_their_escapes);
    tcase_add_test(tests, ignores_case_at_the_top);
    suite_add_tcase(suite, tests);
    return suite;
}

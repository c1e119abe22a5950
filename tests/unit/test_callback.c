#include <stdio.h>

#include "support/errors.h"
#include "support/suite.h"

#include "job/delivery/callback.h"

static struct callback callback;
static struct job_errors errors;

static bool parse(const char *value)
{
    job_errors_clear(&errors);
    return callback_parse(&errors, "onDead", slice_of(value), &callback);
}

START_TEST(is_a_url_or_an_object)
{
    ck_assert(parse("\"http://h/\""));
    ck_assert(slice_equal(callback.url, SLICE("http://h/")) && callback.method == JOB_METHOD_POST &&
              !callback.has_body);
    callback_fini(&callback);
    ck_assert(parse("\"http:\\/\\/h/\""));
    ck_assert(slice_equal(callback.url, SLICE("http://h/")));
    callback_fini(&callback);
    ck_assert(
        parse("{ \"includeBody\" : true, \"method\":\"PUT\",\"headers\":{\"X-A\":\"\\u0031\",\"X-B\":\"2\"},"
              "\"url\":\"http:\\/\\/h/\"}"));
    ck_assert(slice_equal(callback.url, SLICE("http://h/")) && callback.method == JOB_METHOD_PUT);
    ck_assert(callback.has_body);
    ck_assert_uint_eq(callback.header_count, 2);
    ck_assert(slice_equal(callback.headers[0].value, SLICE("1")));
    callback_fini(&callback);
    ck_assert(parse("{\"url\":\"http://h/\",\"method\":null,\"headers\":null,\"includeBody\":null}"));
    callback_fini(&callback);
}
END_TEST

START_TEST(refuses_what_it_is_not)
{
    static const char *const cases[][2] = {
        {"1", "onDead"},
        {"[]", "onDead"},
        {"\"\"", "onDead"},
        {"\"ftp://h/\"", "onDead"},
        {"\"http://h/?***\"", "onDead"},
        {"{}", "onDead.url"},
        {"{\"url\":null}", "onDead.url"},
        {"{\"url\":1}", "onDead.url"},
        {"{\"url\":\"x\"}", "onDead.url"},
        {"{\"url\":\"http://h/\",\"method\":\"GET\"}", "onDead.method"},
        {"{\"url\":\"http://h/\",\"method\":1}", "onDead.method"},
        {"{\"url\":\"http://h/\",\"method\":\"post\"}", "onDead.method"},
        {"{\"url\":\"http://h/\",\"headers\":[]}", "onDead.headers"},
        {"{\"url\":\"http://h/\",\"headers\":{\"Host\":\"h\"}}", "onDead.headers.Host"},
        {"{\"url\":\"http://h/\",\"headers\":{\"X-A\":\"***\"}}", "onDead.headers.X-A"},
        {"{\"url\":\"http://h/\",\"includeBody\":1}", "onDead.includeBody"},
        {"{\"url\":\"http://h/\",\"body\":true}", "onDead.body"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_msg(!parse(cases[i][0]), "%s", cases[i][0]);
        ck_assert_uint_eq(errors.count, 1);
        ck_assert_str_eq(error_at(&errors, 0).field, cases[i][1]);
    }
}
END_TEST

START_TEST(refuses_a_text_that_is_too_long)
{
    static char text[CALLBACK_BYTES_MAX + 64];
    int size = snprintf(text, sizeof text, "{\"url\":\"http://h/\"%*s}", CALLBACK_BYTES_MAX, "");
    ck_assert_int_gt(size, CALLBACK_BYTES_MAX);
    ck_assert(!parse(text));
    ck_assert_str_eq(error_at(&errors, 0).detail, "must have at most 16384 bytes");
}
END_TEST

START_TEST(shows_no_secrets)
{
    static const char *const cases[][2] = {
        {"\"http://h/?key=1\"", "\"http://h/?***\""},
        {"{\"headers\":{\"X-A\":\"1\"},\"url\":\"http://h/?key=1\",\"method\":\"PUT\",\"includeBody\":true}",
         "{\"url\":\"http://h/?***\",\"method\":\"PUT\",\"headers\":{\"X-A\":\"***\"},\"includeBody\":true}"},
        {"{\"url\":\"http://h/\"}", "{\"url\":\"http://h/\"}"},
        {"{\"no\":1}", "null"}, /* a value that duepost did not write */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer out;
        buffer_init(&out, 1000);
        callback_show(slice_of(cases[i][0]), &out);
        ck_assert_str_eq(buffer_text(&out), cases[i][1]);
        buffer_fini(&out);
    }
}
END_TEST

#define H(members) "{\"url\":\"http://h/\"" members "}"

START_TEST(compares_what_they_mean)
{
    static const struct {
        const char *a, *b;
        bool is_same;
    } cases[] = {
        {"\"http://h/\"", "\"http://h/\"", true},
        {"\"http://h/\"", "\"http://h/a\"", false},
        {"\"http://h/\"", H(""), true},
        {H(",\"method\":\"POST\""), "{ \"url\" : \"http:\\/\\/h/\" }", true},
        {H(",\"method\":\"PUT\""), H(""), false},
        {H(",\"includeBody\":true"), H(",\"includeBody\":false"), false},
        {H(",\"headers\":{\"A\":\"1\",\"B\":\"2\"}"), H(",\"headers\":{\"B\":\"2\",\"a\":\"1\"}"), true},
        {H(",\"headers\":{\"A\":\"1\"}"), H(",\"headers\":{\"A\":\"2\"}"), false},
        {H(",\"headers\":{\"A\":\"1\"}"), H(",\"headers\":{\"B\":\"1\"}"), false},
        {H(",\"headers\":{\"A\":\"1\"}"), H(""), false},
        {"1", H(""), false},
        {H(""), "1", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(callback_is_same(slice_of(cases[i].a), slice_of(cases[i].b)) == cases[i].is_same,
                      "%s %s", cases[i].a, cases[i].b);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("callback");
    TCase *tests = tcase_create("callback");
    tcase_add_test(tests, is_a_url_or_an_object);
    tcase_add_test(tests, refuses_what_it_is_not);
    tcase_add_test(tests, refuses_a_text_that_is_too_long);
    tcase_add_test(tests, shows_no_secrets);
    tcase_add_test(tests, compares_what_they_mean);
    suite_add_tcase(suite, tests);
    return suite;
}

#include <stdio.h>

#include "job/text/json.h"
#include "support/suite.h"
#include "tracing/exporter.h"

#define TRACE  "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00-" TRACE "-00f067aa0ba902b7-01"
#define OWN    "00-" TRACE "-000102feff100009-01"

static struct buffer text;

static void text_begin(void)
{
    buffer_init(&text, 1024 * 1024);
}

static void text_end(void)
{
    buffer_fini(&text);
}

static void expect(const char *expected)
{
    ck_assert_str_eq(buffer_text(&text), expected);
}

START_TEST(writes_a_request_with_its_spans)
{
    struct span accept = {.kind = SPAN_SERVER,
                          .start_us = 1700000000000001,
                          .end_us = 1700000000000002,
                          .status = 201,
                          .jobs = 2};
    struct span attempt = {.kind = SPAN_CLIENT,
                           .has_parent = true,
                           .is_error = true,
                           .start_us = 1700000000000003,
                           .end_us = 1700000000000004};
    memcpy(accept.context, PARENT, sizeof accept.context);
    snprintf(accept.method, sizeof accept.method, "POST");
    snprintf(accept.route, sizeof accept.route, "/jobs");
    memcpy(attempt.context, OWN, sizeof attempt.context);
    memcpy(attempt.parent, PARENT, sizeof attempt.parent);
    snprintf(attempt.method, sizeof attempt.method, "PUT");
    snprintf(attempt.job_id, sizeof attempt.job_id, "a\"b");
    snprintf(attempt.message, sizeof attempt.message, "no");
    snprintf(attempt.state, sizeof attempt.state, "a=1");
    attempt.attempt = 2;
    otlp_json_begin(&text, SLICE("{}"));
    otlp_json_add(&text, &accept, true);
    otlp_json_add(&text, &attempt, false);
    otlp_json_end(&text);
    expect("{\"resourceSpans\":[{\"resource\":{\"attributes\":[{}]},\"scopeSpans\":[{\"scope\":{\"name\":"
           "\"duepost\",\"version\":"
           "\"" DUEPOST_VERSION "\"},\"spans\":["
           "{\"traceId\":\"" TRACE "\",\"spanId\":\"00f067aa0ba902b7\",\"name\":\"POST /jobs\",\"kind\":2,"
           "\"startTimeUnixNano\":\"1700000000000001000\",\"endTimeUnixNano\":\"1700000000000002000\","
           "\"attributes\":["
           "{\"key\":\"http.request.method\",\"value\":{\"stringValue\":\"POST\"}},"
           "{\"key\":\"http.route\",\"value\":{\"stringValue\":\"/jobs\"}},"
           "{\"key\":\"http.response.status_code\",\"value\":{\"intValue\":\"201\"}},"
           "{\"key\":\"duepost.jobs\",\"value\":{\"intValue\":\"2\"}}],\"status\":{}},"
           "{\"traceId\":\"" TRACE "\",\"spanId\":\"000102feff100009\",\"parentSpanId\":\"00f067aa0ba902b7\","
           "\"traceState\":\"a=1\",\"name\":\"PUT\",\"kind\":3,"
           "\"startTimeUnixNano\":\"1700000000000003000\",\"endTimeUnixNano\":\"1700000000000004000\","
           "\"attributes\":["
           "{\"key\":\"http.request.method\",\"value\":{\"stringValue\":\"PUT\"}},"
           "{\"key\":\"http.request.resend_count\",\"value\":{\"intValue\":\"1\"}},"
           "{\"key\":\"duepost.job.id\",\"value\":{\"stringValue\":\"a\\\"b\"}},"
           "{\"key\":\"duepost.attempt\",\"value\":{\"intValue\":\"2\"}},"
           "{\"key\":\"duepost.late_ms\",\"value\":{\"intValue\":\"0\"}}],\"status\":{\"message\":\"no\","
           "\"code\":2}}"
           "]}]}]}");
}
END_TEST

START_TEST(the_longest_spans_are_whole)
{
    struct span span;
    const struct json_limits limits = {.depth = 32, .members = 100};
    struct json_fault fault;
    memset(&span, 1, sizeof span); /* control characters, which take six bytes each */
    memcpy(span.context, OWN, sizeof span.context);
    memcpy(span.parent, PARENT, sizeof span.parent);
    span.has_parent = span.is_error = true;
    span.kind = SPAN_CLIENT;
    char *const texts[] = {span.method, span.route, span.url,     span.host,    span.topic,
                           span.job_id, span.error, span.outcome, span.message, span.state};
    const size_t sizes[] = {sizeof span.method,  sizeof span.route,  sizeof span.url,   sizeof span.host,
                            sizeof span.topic,   sizeof span.job_id, sizeof span.error, sizeof span.outcome,
                            sizeof span.message, sizeof span.state};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        texts[i][sizes[i] - 1] = '\0';
    otlp_json_begin(&text, SLICE(""));
    otlp_json_add(&text, &span, true);
    otlp_json_end(&text);
    ck_assert(!text.failed);
    ck_assert_uint_lt(text.size,
                      16 * 1024 * 1024 / 512); /* 512 spans of this size fit into a request of exporter.c */
    ck_assert_int_eq(json_check(buffer_slice(&text), &limits, &fault), STATUS_OK);
}
END_TEST

static bool has_attribute(const char *name, const char *value)
{
    char wanted[256];
    snprintf(wanted, sizeof wanted, "{\"key\":\"%s\",\"value\":{\"stringValue\":\"%s\"}}", name, value);
    return strstr(buffer_text(&text), wanted) != NULL;
}

START_TEST(a_resource_has_what_is_given_and_what_is_known)
{
    struct problem problem;
    ck_assert_int_eq(otlp_resource_write(&text, SLICE(""), &problem), STATUS_OK);
    ck_assert(has_attribute("service.name", "duepost"));
    ck_assert(has_attribute("service.version", DUEPOST_VERSION));
    buffer_clear(&text);
    ck_assert_int_eq(otlp_resource_write(&text, SLICE("service.name=shop, a=b=c,d="), &problem), STATUS_OK);
    ck_assert(has_attribute("service.name", "shop"));
    ck_assert(!has_attribute("service.name", "duepost"));
    ck_assert(has_attribute("a", "b=c"));
    ck_assert(has_attribute("d", ""));
}
END_TEST

START_TEST(a_resource_of_another_form_is_refused)
{
    static const char *const cases[] = {"a", "=b", "a=1,,b=2", "a=1, ", " =1"};
    struct problem problem;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(otlp_resource_write(&text, slice_of(cases[i]), &problem) == STATUS_INVALID, "%s",
                      cases[i]);
    struct buffer many;
    buffer_init(&many, 1024);
    for (int i = 0; i < 65; i++)
        buffer_printf(&many, "a%d=1,", i);
    ck_assert_int_eq(otlp_resource_write(&text, buffer_slice(&many), &problem), STATUS_INVALID);
    ck_assert_str_eq(problem.text, "must have at most 64 attributes");
    buffer_fini(&many);
}
END_TEST

START_TEST(reads_how_many_spans_were_rejected)
{
    static const struct {
        const char *answer;
        size_t count;
    } cases[] = {
        {"{\"partialSuccess\":{\"rejectedSpans\":\"7\",\"errorMessage\":\"no\"}}", 7},
        {"{\"partialSuccess\":{\"errorMessage\":\"no\",\"rejectedSpans\":7}}", 7},
        {"{\"partialSuccess\":{}}", 0},
        {"{}", 0},
        {"", 0},
        {"<html>", 0},
        {"[\"partialSuccess\"]", 0},
        {"{\"partialSuccess\":{\"rejectedSpans\":\"", 0},
        {"{\"partialSuccess\":{\"rejectedSpans\":-1}}", 0},
        {"{\"partialSuccess\":7}", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(otlp_rejected(slice_of(cases[i].answer)) == cases[i].count, "%s", cases[i].answer);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("otlp_json");
    TCase *tests = tcase_create("otlp_json");
    tcase_add_checked_fixture(tests, text_begin, text_end);
    tcase_add_test(tests, writes_a_request_with_its_spans);
    tcase_add_test(tests, the_longest_spans_are_whole);
    tcase_add_test(tests, a_resource_has_what_is_given_and_what_is_known);
    tcase_add_test(tests, a_resource_of_another_form_is_refused);
    tcase_add_test(tests, reads_how_many_spans_were_rejected);
    suite_add_tcase(suite, tests);
    return suite;
}

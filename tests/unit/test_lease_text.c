/* Tests the parsers of requests for jobs and of ends of leases. */
#include "job/lease_text.h"

#include <stdio.h>

#include "base/memory.h"
#include "support/errors.h"
#include "support/suite.h"

static const char *requested(struct slice text)
{
    static char outcome[256];
    struct lease_request request;
    struct job_errors errors;
    if (lease_request_parse(text, &request, &errors) == STATUS_OK)
        snprintf(outcome, sizeof outcome, "%lld %lld %lld%s%.*s", (long long)request.max,
                 (long long)request.lease_ms, (long long)request.wait_ms, request.only.size ? " " : "",
                 SLICE_ARG(request.only));
    else
        snprintf(outcome, sizeof outcome, "%s: %s", error_at(&errors, 0).field, error_at(&errors, 0).detail);
    return outcome;
}

START_TEST(requests_have_defaults_and_limits)
{
    static const struct {
        struct slice text;
        const char *outcome;
    } cases[] = {
        {SLICE_INIT(""), "1 30000 0"},
        {SLICE_INIT("  "), "1 30000 0"},
        {SLICE_INIT("{}"), "1 30000 0"},
        {SLICE_INIT("{\"max\":100,\"lease\":\"12h\",\"wait\":60}"), "100 43200000 60000"},
        {SLICE_INIT("{\"max\":null,\"lease\":1,\"wait\":0.25}"), "1 1000 250"},
        {SLICE_INIT("{\"key\":\"a/b \\u00e9\"}"), "1 30000 0 =a/b \xc3\xa9"},
        {SLICE_INIT("{\"key\":\"\"}"), "1 30000 0 ="},
        {SLICE_INIT("{\"key\":null}"), "1 30000 0"},
        {SLICE_INIT("{\"key\":\"\\n\"}"),
         "key: must be UTF-8 of 1 to 128 bytes without control characters, or empty for "
         "jobs without a key"},
        {SLICE_INIT("{\"key\":1}"), "key: must be a string"},
        {SLICE_INIT("{\"max\":0}"), "max: must be an integer from 1 to 100"},
        {SLICE_INIT("{\"max\":101}"), "max: must be an integer from 1 to 100"},
        {SLICE_INIT("{\"wait\":60.001}"), "wait: must be 0 to 60 seconds"},
        {SLICE_INIT("{\"Wait\":1}"), "Wait: unknown field; did you mean wait?"},
        {SLICE_INIT("[]"), ": must be an object"},
        {SLICE_INIT("{"), ": ends too early, at byte 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(requested(cases[i].text), cases[i].outcome);
}
END_TEST

static const char *ended(enum lease_end_kind kind, struct slice text)
{
    static char outcome[512];
    struct lease_end_text end;
    struct job_errors errors;
    char *copy = slice_dup(text);
    if (lease_end_parse(kind, slice_from(copy, text.size), &end, &errors) == STATUS_OK) {
        snprintf(outcome, sizeof outcome, "%.*s %.*s %.*s %d %lld %lld", SLICE_ARG(end.job_id),
                 SLICE_ARG(end.token), SLICE_ARG(end.error), end.has_delay, (long long)end.delay_ms,
                 (long long)end.lease_ms);
        lease_end_fini(&end);
    } else {
        snprintf(outcome, sizeof outcome, "%s: %s", error_at(&errors, 0).field, error_at(&errors, 0).detail);
    }
    free(copy);
    return outcome;
}

START_TEST(each_end_has_its_members)
{
    static const struct {
        enum lease_end_kind kind;
        struct slice text;
        const char *outcome;
    } cases[] = {
        {LEASE_END_COMPLETE, SLICE_INIT("{\"jobId\":\"a\",\"token\":\"t\"}"), "a t  0 0 0"},
        {LEASE_END_RELEASE, SLICE_INIT("{\"token\":\"t\",\"jobId\":\"\\u00e9\"}"), "\xc3\xa9 t  0 0 0"},
        {LEASE_END_RETRY, SLICE_INIT("{\"jobId\":\"a\",\"token\":\"t\",\"delay\":\"1m\",\"error\":\"e\"}"),
         "a t e 1 60000 0"},
        {LEASE_END_RETRY, SLICE_INIT("{\"jobId\":\"a\",\"token\":\"t\",\"delay\":0,\"error\":\"\"}"),
         "a t  1 0 0"},
        {LEASE_END_BURY, SLICE_INIT("{\"jobId\":\"a\",\"token\":\"t\",\"error\":\"e\\n\"}"), "a t e\n 0 0 0"},
        {LEASE_END_EXTEND, SLICE_INIT("{\"jobId\":\"a\",\"token\":\"t\"}"), "a t  0 0 30000"},
        {LEASE_END_EXTEND, SLICE_INIT("{\"jobId\":\"a\",\"token\":\"t\",\"lease\":1}"), "a t  0 0 1000"},
        {LEASE_END_COMPLETE, SLICE_INIT("{\"token\":\"t\"}"), "jobId: is required"},
        {LEASE_END_COMPLETE, SLICE_INIT("{\"jobId\":\"a\",\"token\":null}"), "token: is required"},
        {LEASE_END_COMPLETE, SLICE_INIT("{\"jobId\":\"a\",\"token\":\"\"}"),
         "token: must be the token of a lease"},
        {LEASE_END_COMPLETE, SLICE_INIT("{\"jobId\":\"a\",\"token\":\"t\",\"error\":\"e\"}"),
         "error: unknown field"},
        {LEASE_END_BURY, SLICE_INIT("{\"jobId\":\"a\",\"token\":\"t\",\"delay\":1}"), "delay: unknown field"},
        {LEASE_END_EXTEND, SLICE_INIT("{\"jobId\":\"a\",\"token\":\"t\",\"lease\":0}"),
         "lease: must be 1 to 43200 seconds"},
        {LEASE_END_RETRY, SLICE_INIT("7"), ": must be an object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(ended(cases[i].kind, cases[i].text), cases[i].outcome);
}
END_TEST

static const char *cut(struct slice text)
{
    static char outcome[256];
    struct lease_end_items items;
    struct job_errors errors;
    if (lease_ends_cut(text, &items, &errors) == STATUS_OK)
        snprintf(outcome, sizeof outcome, "%zu %.*s", items.count, SLICE_ARG(items.items[items.count - 1]));
    else
        snprintf(outcome, sizeof outcome, "%s", error_at(&errors, 0).detail);
    return outcome;
}

START_TEST(an_array_has_1_to_100_items)
{
    struct buffer text;
    ck_assert_str_eq(cut(SLICE("[{}, 7 ]")), "2 7");
    ck_assert_str_eq(cut(SLICE("[]")), "must have at least one item");
    ck_assert_str_eq(cut(SLICE("[1,]")), "is not valid JSON, at byte 3");
    buffer_init(&text, 1000);
    buffer_append_byte(&text, '[');
    for (size_t i = 0; i < 100; i++)
        buffer_append(&text, i ? SLICE(",1") : SLICE("1"));
    buffer_append_byte(&text, ']');
    ck_assert_str_eq(cut(buffer_slice(&text)), "100 1");
    text.size--;
    buffer_append(&text, SLICE(",1]"));
    ck_assert_str_eq(cut(buffer_slice(&text)), "must have at most 100 items");
    buffer_fini(&text);
    ck_assert(lease_ends_are_many(SLICE(" [")) && !lease_ends_are_many(SLICE("{}")) &&
              !lease_ends_are_many(SLICE("")));
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("lease_text");
    TCase *tests = tcase_create("texts");
    tcase_add_test(tests, requests_have_defaults_and_limits);
    tcase_add_test(tests, each_end_has_its_members);
    tcase_add_test(tests, an_array_has_1_to_100_items);
    suite_add_tcase(suite, tests);
    return suite;
}

#include "support/suite.h"

#include "job/job.h"

static struct buffer scratch;

static void set_up(void)
{
    buffer_init(&scratch, 1 << 20);
}

static void tear_down(void)
{
    buffer_fini(&scratch);
}

START_TEST(names_every_error)
{
    for (int i = FAILURE_DNS; i <= FAILURE_PROTOCOL; i++) {
        enum failure error;
        ck_assert(failure_parse(slice_of(failure_word((enum failure)i)), &error));
        ck_assert_int_eq((int)error, i);
    }
    enum failure error;
    ck_assert_str_eq(failure_word(FAILURE_NONE), "");
    ck_assert(!failure_parse(SLICE(""), &error));
    ck_assert(failure_parse(SLICE("of_a_later_version"), &error));
    ck_assert_int_eq(error, FAILURE_OTHER);
}
END_TEST

START_TEST(sends_the_body_as_it_is_or_the_text_of_a_string)
{
    static const char text_plain[] = "text/plain; charset=utf-8", json[] = "application/json";
    static const struct {
        const char *body;
        struct slice payload;
        const char *type;
    } cases[] = {
        {"", {"", 0}, json},
        {"{ \"a\": 1.10 }", {"{ \"a\": 1.10 }", 13}, json},
        {"null", {"null", 4}, json},
        {"1E2", {"1E2", 3}, json},
        {"\"\"", {"", 0}, text_plain},
        {"\"hello\"", {"hello", 5}, text_plain},
        {"\"caf\\u00e9 \\ud83d\\ude00\"", {"caf\xc3\xa9 \xf0\x9f\x98\x80", 10}, text_plain},
        {"\"a\\u0000b\"", {"a\0b", 3}, text_plain},
        {"\"{\\\"a\\\":1}\"", {"{\"a\":1}", 7}, json},
        {"\"{\\\"a\\\":1\"", {"{\"a\":1", 6}, text_plain},
        {"\"12\"", {"12", 2}, json},
        {"\"\\\"x\\\"\"", {"\"x\"", 3}, json},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job job = {.body = slice_of(cases[i].body)};
        buffer_clear(&scratch);
        struct slice payload = job_payload(&job, &scratch);
        ck_assert_msg(slice_equal(payload, cases[i].payload), "%s", cases[i].body);
        ck_assert_msg(slice_equal(job_content_type(&job, payload), slice_of(cases[i].type)), "%s",
                      cases[i].body);
    }
}
END_TEST

START_TEST(sends_decoded_bytes)
{
    struct job job = {.has_body_base64 = true, .body_base64 = SLICE("/wAB")};
    buffer_clear(&scratch);
    struct slice payload = job_payload(&job, &scratch);
    ck_assert(slice_equal(payload, SLICE("\xff\0\1")) && !scratch.failed);
    ck_assert(slice_equal(job_content_type(&job, payload), SLICE("application/octet-stream")));
    ck_assert(job_needs_content_type(&job) && !job_has_broken_body(&job));
    job.body_base64 = SLICE("/w=");
    ck_assert(job_has_broken_body(&job));
    job_payload(&job, &scratch);
    ck_assert(scratch.failed);
    ck_assert(job_needs_content_type(&(struct job){.method = JOB_METHOD_POST}));
    ck_assert(!job_needs_content_type(&(struct job){.method = JOB_METHOD_DELETE}));
    ck_assert(job_needs_content_type(&(struct job){.method = JOB_METHOD_DELETE, .body = SLICE("1")}));
    ck_assert(job_has_broken_body(&(struct job){.body = SLICE("\"\\x\"")}));
}
END_TEST

START_TEST(finds_headers_in_any_case)
{
    struct job job = {.headers = {{SLICE("X-A"), SLICE("1")}, {SLICE("Content-Type"), SLICE("a/b")}},
                      .header_count = 2};
    ck_assert(slice_equal(*job_header(&job, SLICE("content-TYPE")), SLICE("a/b")));
    ck_assert_ptr_null(job_header(&job, SLICE("X-B")));
}
END_TEST

START_TEST(retries_as_often_as_the_job_or_its_schedule_says)
{
    static const struct retry_schedule two = {2, {10, 20}}, none = {0, {0}};
    static const struct {
        bool has_retry, has_schedule;
        int retry;
        const struct retry_schedule *own, *fallback;
        int max_retries;
        int64_t first_ms;
    } cases[] = {
        {false, false, 0, &none, &two, 2, 10}, {true, false, 0, &none, &two, 0, 10},
        {true, false, 7, &none, &two, 7, 10},  {false, true, 0, &none, &two, 0, -1},
        {false, true, 0, &two, &none, 2, 10},  {true, true, 5, &two, &none, 5, 10},
        {true, false, 5, &none, &none, 0, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job job = {.has_retry = cases[i].has_retry, .retry = cases[i].retry};
        job.has_schedule = cases[i].has_schedule;
        job.schedule = *cases[i].own;
        ck_assert_int_eq(job_max_retries(&job, cases[i].fallback), cases[i].max_retries);
        ck_assert(cases[i].first_ms < 0 || job_wait_ms(&job, cases[i].fallback, 1) == cases[i].first_ms);
    }
}
END_TEST

START_TEST(waits_as_the_expression_of_the_job_says)
{
    static const struct retry_schedule two = {2, {10, 20}}, none = {0, {0}};
    struct job job = {.retry_wait = SLICE("100 * (retried + 1)")};
    ck_assert_int_eq(job_max_retries(&job, &two), 2);
    ck_assert_int_eq(job_wait_ms(&job, &two, 1), 100);
    ck_assert_int_eq(job_wait_ms(&job, &two, 2), 200);
    ck_assert_int_eq(job_max_retries(&job, &none), 0);
    job.has_retry = true;
    job.retry = 7;
    ck_assert_int_eq(job_max_retries(&job, &none), 7);
    ck_assert_int_eq(job_wait_ms(&job, &none, 7), 700);
    job.retry_wait = SLICE(
        "0 / retried"); /* before the first retry, this divides by 0, so the wait of the schedule applies */
    ck_assert_int_eq(job_wait_ms(&job, &two, 1), 10);
    ck_assert_int_eq(job_wait_ms(&job, &two, 2), 0);
    ck_assert_int_eq(job_wait_ms(&job, &none, 1), retry_schedule_default.wait_ms[0]);
}
END_TEST

START_TEST(expires_at_a_time_or_so_long_after_it_was_created)
{
    static const struct {
        struct job job;
        int64_t expires_ms;
    } cases[] = {
        {{.created_ms = 100}, JOB_NEVER_MS},
        {{.created_ms = 100, .has_ttl = true, .ttl_ms = 5}, 105},
        {{.created_ms = 100, .has_expires_at = true, .expires_at_ms = 50}, 50},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert(!job_is_expired(&cases[i].job, cases[i].expires_ms - 1));
        ck_assert(cases[i].expires_ms == JOB_NEVER_MS || job_is_expired(&cases[i].job, cases[i].expires_ms));
    }
    ck_assert_int_eq(job_due_ms(&(struct job){.has_delay = true, .delay_ms = 7}, 100), 107);
    ck_assert_int_eq(job_due_ms(&(struct job){.has_due_at = true, .due_at_ms = 130}, 100), 130);
    ck_assert_int_eq(job_due_ms(&(struct job){.has_due_at = true, .due_at_ms = 30}, 100), 100);
}
END_TEST

/* ---- the same job is submitted again ---- */

#define BASE "\"topic\":\"t\",\"jobId\":\"i\",\"url\":\"http://h/\""

static bool is_same(const char *a, const char *b)
{
    static struct job left, right;
    static struct job_errors errors;
    ck_assert_msg(job_parse(slice_of(a), 0, &left, &errors) == STATUS_OK, "%s", a);
    ck_assert_msg(job_parse(slice_of(b), 0, &right, &errors) == STATUS_OK, "%s", b);
    bool is_same = job_is_same(&left, &right);
    ck_assert(job_is_same(&right, &left) == is_same);
    job_fini(&left);
    job_fini(&right);
    return is_same;
}

START_TEST(same_is_every_member_as_sent)
{
    static const char *const same[][2] = {
        {"{" BASE "}", "{\"url\":\"http:\\/\\/h/\",\"jobId\":\"i\", \"topic\":\"\\u0074\"}"},
        {"{" BASE ",\"delay\":1.5}", "{" BASE ",\"delay\":15e-1}"},
        {"{" BASE ",\"retry\":3}", "{" BASE ",\"retry\":3.0}"},
        {"{" BASE ",\"retrySchedule\":[1,2]}", "{" BASE ",\"retrySchedule\":[1.0,2e0]}"},
        {"{" BASE ",\"headers\":{\"a\":\"1\",\"b\":\"2\"}}",
         "{" BASE ",\"headers\":{\"b\":\"2\",\"a\":\"1\"}}"},
        {"{" BASE ",\"dueAt\":\"1975-01-01T00:00:00Z\"}",
         "{" BASE ",\"dueAt\":\"1975-01-01T01:00:00.000+01:00\"}"},
        {"{" BASE ",\"ttl\":1.5}", "{" BASE ",\"ttl\":15e-1}"},
        {"{" BASE ",\"expiresAt\":\"1975-01-01T00:00:00Z\"}",
         "{" BASE ",\"expiresAt\":\"1975-01-01T01:00:00.000+01:00\"}"},
        {"{" BASE ",\"labels\":[\"a\",\"b\"]}", "{" BASE ",\"labels\":[\"b\",\"\\u0061\"]}"},
        {"{" BASE ",\"method\":\"POST\",\"labels\":[]}", "{" BASE "}"},
        {"{" BASE ",\"priority\":5,\"key\":null}", "{" BASE "}"},
        {"{" BASE ",\"priority\":7.0,\"key\":\"\\u0061\"}", "{" BASE ",\"key\":\"a\",\"priority\":7}"},
        {"{" BASE ",\"body\": 1.10 }", "{" BASE ",\"body\":1.10}"},
    };
    static const char *const other[][2] = {
        {"{" BASE "}", "{\"topic\":\"u\",\"jobId\":\"i\",\"url\":\"http://h/\"}"},
        {"{" BASE "}", "{\"topic\":\"t\",\"jobId\":\"j\",\"url\":\"http://h/\"}"},
        {"{" BASE "}", "{\"topic\":\"t\",\"jobId\":\"i\",\"url\":\"http://h/x\"}"},
        {"{" BASE "}", "{" BASE ",\"delay\":0}"},
        {"{" BASE ",\"delay\":1}", "{" BASE ",\"delay\":2}"},
        {"{" BASE "}", "{" BASE ",\"dueAt\":\"1970-01-01T00:00:00Z\"}"},
        {"{" BASE ",\"dueAt\":\"1970-01-01T00:00:00Z\"}", "{" BASE ",\"dueAt\":\"1970-01-01T00:00:01Z\"}"},
        {"{" BASE "}", "{" BASE ",\"ttl\":1}"},
        {"{" BASE ",\"ttl\":1}", "{" BASE ",\"ttl\":2}"},
        {"{" BASE ",\"ttl\":1}", "{" BASE ",\"expiresAt\":\"1970-01-01T00:00:01Z\"}"},
        {"{" BASE ",\"expiresAt\":\"1970-01-01T00:00:02Z\"}",
         "{" BASE ",\"expiresAt\":\"1970-01-01T00:00:01Z\"}"},
        {"{" BASE "}", "{" BASE ",\"retry\":0}"},
        {"{" BASE ",\"retry\":1}", "{" BASE ",\"retry\":0}"},
        {"{" BASE "}", "{" BASE ",\"retrySchedule\":[]}"},
        {"{" BASE ",\"retrySchedule\":[1]}", "{" BASE ",\"retrySchedule\":[1,1]}"},
        {"{" BASE ",\"retrySchedule\":[1]}", "{" BASE ",\"retrySchedule\":[2]}"},
        {"{" BASE "}", "{" BASE ",\"timeout\":30}"},
        {"{" BASE ",\"timeout\":31}", "{" BASE ",\"timeout\":30}"},
        {"{" BASE "}", "{" BASE ",\"headers\":{}}"},
        {"{" BASE ",\"headers\":{\"a\":\"1\"}}", "{" BASE ",\"headers\":{}}"},
        {"{" BASE ",\"headers\":{\"a\":\"1\"}}", "{" BASE ",\"headers\":{\"a\":\"2\"}}"},
        {"{" BASE ",\"headers\":{\"a\":\"1\"}}", "{" BASE ",\"headers\":{\"b\":\"1\"}}"},
        {"{" BASE "}", "{" BASE ",\"body\":null}"},
        {"{" BASE "}", "{" BASE ",\"method\":\"PUT\"}"},
        {"{" BASE "}", "{" BASE ",\"bodyBase64\":\"\"}"},
        {"{" BASE ",\"bodyBase64\":\"AA==\"}", "{" BASE ",\"bodyBase64\":\"AQ==\"}"},
        {"{" BASE ",\"labels\":[\"a\",\"b\"]}", "{" BASE ",\"labels\":[\"a\",\"c\"]}"},
        {"{" BASE ",\"labels\":[\"a\",\"b\"]}", "{" BASE ",\"labels\":[\"a\"]}"},
        {"{" BASE ",\"key\":\"a\"}", "{" BASE "}"},
        {"{" BASE ",\"key\":\"a\"}", "{" BASE ",\"key\":\"A\"}"},
        {"{" BASE ",\"priority\":0}", "{" BASE "}"},
        {"{" BASE ",\"priority\":4}", "{" BASE ",\"priority\":6}"},
        {"{" BASE ",\"body\":1.1}", "{" BASE ",\"body\":1.10}"},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        ck_assert_msg(is_same(same[i][0], same[i][1]), "%s %s", same[i][0], same[i][1]);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        ck_assert_msg(!is_same(other[i][0], other[i][1]), "%s %s", other[i][0], other[i][1]);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("job");
    TCase *tests = tcase_create("job");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, names_every_error);
    tcase_add_test(tests, sends_the_body_as_it_is_or_the_text_of_a_string);
    tcase_add_test(tests, sends_decoded_bytes);
    tcase_add_test(tests, finds_headers_in_any_case);
    tcase_add_test(tests, retries_as_often_as_the_job_or_its_schedule_says);
    tcase_add_test(tests, waits_as_the_expression_of_the_job_says);
    tcase_add_test(tests, expires_at_a_time_or_so_long_after_it_was_created);
    tcase_add_test(tests, same_is_every_member_as_sent);
    suite_add_tcase(suite, tests);
    return suite;
}

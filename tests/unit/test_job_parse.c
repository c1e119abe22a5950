#include "support/errors.h"
#include "support/suite.h"

#include <stdio.h>

#include "base/buffer.h"
#include "job/job.h"

#define NOW_MS INT64_C(1700000000000)
#define NEEDED "\"topic\":\"t\",\"url\":\"http://h/\""

static struct job job;
static struct job_errors errors;
static struct buffer text;

static void set_up(void)
{
    buffer_init(&text, 4 << 20);
}

static void tear_down(void)
{
    buffer_fini(&text);
}

static enum status parse(const char *json)
{
    return job_parse(slice_of(json), NOW_MS, &job, &errors);
}

/* Parses a job with its required members, followed by these members. */
static enum status parse_with(const char *members)
{
    buffer_clear(&text);
    buffer_printf(&text, "{" NEEDED ",%s}", members);
    return job_parse(buffer_slice(&text), NOW_MS, &job, &errors);
}

static void take(const char *members)
{
    ck_assert_msg(parse_with(members) == STATUS_OK, "%s: %s %s", members, error_at(&errors, 0).field,
                  error_at(&errors, 0).detail);
}

/* Returns all errors as "field: detail", one per line. */
static const char *said(void)
{
    static char lines[16000];
    size_t size = 0;
    for (size_t i = 0; i < errors.count; i++)
        size += (size_t)snprintf(lines + size, sizeof lines - size, "%s%s: %s", i ? "\n" : "",
                                 error_at(&errors, i).field, error_at(&errors, i).detail);
    lines[size] = '\0';
    return lines;
}

START_TEST(reads_every_member)
{
    ck_assert_int_eq(parse("{\"topic\":\"orders\",\"jobId\":\"a:1\",\"url\":\"https://example.com/"
                           "x?y\",\"body\":{\"a\": 1.10},"
                           "\"delay\":1.5,\"retry\":2,\"retrySchedule\":[1,2.5,0],\"timeout\":0.1,"
                           "\"headers\":{\"X-A\":\"1\",\"X-B\":\"\"}}"),
                     STATUS_OK);
    ck_assert(slice_equal(job.topic, SLICE("orders")));
    ck_assert(slice_equal(job.job_id, SLICE("a:1")));
    ck_assert(slice_equal(job.url, SLICE("https://example.com/x?y")));
    ck_assert(slice_equal(job.body, SLICE("{\"a\": 1.10}")));
    ck_assert(job.has_delay && job.delay_ms == 1500);
    ck_assert(!job.has_due_at);
    ck_assert(job.has_retry && job.retry == 2);
    ck_assert(job.has_schedule && job.schedule.count == 3);
    ck_assert(job.schedule.wait_ms[0] == 1000 && job.schedule.wait_ms[1] == 2500 &&
              job.schedule.wait_ms[2] == 0);
    ck_assert(job.has_timeout && job.timeout_ms == 100);
    ck_assert(job.has_headers && job.header_count == 2);
    ck_assert(slice_equal(*job_header(&job, SLICE("x-a")), SLICE("1")));
    ck_assert(slice_equal(*job_header(&job, SLICE("X-B")), SLICE("")));
    job_fini(&job);
}
END_TEST

START_TEST(leaves_out_what_was_left_out)
{
    ck_assert_int_eq(parse(" \n{" NEEDED "} "), STATUS_OK);
    ck_assert(!job.has_delay && !job.has_due_at && !job.has_retry && !job.has_schedule && !job.has_timeout &&
              !job.has_headers);
    ck_assert_int_eq(job.delay_ms, 0);
    ck_assert_int_eq(job.timeout_ms, JOB_TIMEOUT_MS);
    ck_assert_uint_eq(job.job_id.size, 0);
    ck_assert_uint_eq(job.body.size, 0);
    job_fini(&job);
}
END_TEST

START_TEST(keeps_the_body_as_it_was_spelt)
{
    static const char *const bodies[] = {
        "null",
        "true",
        "1.10",
        "1E2",
        "123456789012345678901234567890",
        "1e99999",
        "\"\\u0000\"",
        "\"a\\u00e9\"",
        "\"\"",
        "[]",
        "{ \"body\" : { \"body\" : [ 1 ,\t2\n] } }",
        "{\"unknown\":1}",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        buffer_clear(&text);
        buffer_printf(&text, "{\"body\" : %s , " NEEDED "}", bodies[i]);
        ck_assert_msg(job_parse(buffer_slice(&text), NOW_MS, &job, &errors) == STATUS_OK, "%s", bodies[i]);
        ck_assert_msg(slice_equal(job.body, slice_of(bodies[i])), "%s", bodies[i]);
        job_fini(&job);
    }
    ck_assert_int_eq(parse("{\"b\\u006fdy\":1E2," NEEDED "}"), STATUS_OK);
    ck_assert(slice_equal(job.body, SLICE("1E2")));
    job_fini(&job);
}
END_TEST

START_TEST(reads_large_texts)
{
    buffer_append(&text, SLICE("{" NEEDED ",\"headers\":{\"X\":\""));
    for (int i = 0; i < 8000; i++)
        buffer_append_byte(&text, 'h');
    buffer_append(&text, SLICE("\"},\"body\":\""));
    for (int i = 0; i < 1 << 20; i++)
        buffer_append_byte(&text, 'b');
    buffer_append(&text, SLICE("\",\"delay\":7}"));
    ck_assert_int_eq(job_parse(buffer_slice(&text), NOW_MS, &job, &errors), STATUS_OK);
    ck_assert_uint_eq(job.body.size, (1 << 20) + 2);
    ck_assert_uint_eq(job.headers[0].value.size, 8000);
    ck_assert_int_eq(job.delay_ms, 7000);
    job_fini(&job);
}
END_TEST

START_TEST(reads_numbers_exactly)
{
    static const struct {
        const char *number;
        int64_t ms;
    } cases[] = {
        {"0", 0},
        {"-0", 0},
        {"0.001", 1},
        {"0.0001", 1},
        {"1.1", 1100},
        {"0.3", 300},
        {"2.675", 2675},
        {"2.6750000000000000001", 2676},
        {"1e2", 100000},
        {"315360000", JOB_DELAY_MAX_MS},
        {"315360000.000", JOB_DELAY_MAX_MS},
        {"0.1e1", 1000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char members[100];
        snprintf(members, sizeof members, "\"delay\": %s ,\"body\":\"\\\"delay\\\":9\"", cases[i].number);
        take(members);
        ck_assert_msg(job.delay_ms == cases[i].ms, "%s", members);
        job_fini(&job);
    }
    take("\"retry\":1e2");
    ck_assert_int_eq(job.retry, 100);
    job_fini(&job);
    take("\"retry\":3.0");
    ck_assert_int_eq(job.retry, 3);
    job_fini(&job);
}
END_TEST

START_TEST(reads_due_times)
{
    take("\"dueAt\":\"2033-11-11T22:13:20Z\"");
    ck_assert(job.has_due_at && job.due_at_ms == INT64_C(2015360000000));
    job_fini(&job);
    take("\"dueAt\":\"1999-01-01T00:00:00Z\"");
    job_fini(&job);
}
END_TEST

START_TEST(reads_when_a_job_expires)
{
    take("\"ttl\":1.5");
    ck_assert(job.has_ttl && job.ttl_ms == 1500 && !job.has_expires_at);
    ck_assert_int_eq(job_expires_ms(&job, NOW_MS), NOW_MS + 1500);
    job_fini(&job);
    take("\"expiresAt\":\"2023-11-14T22:13:20.001Z\"");
    ck_assert(job.has_expires_at && !job.has_ttl);
    ck_assert_int_eq(job_expires_ms(&job, NOW_MS), NOW_MS + 1);
    job_fini(&job);
    take("\"delay\":1,\"ttl\":1.001");
    job_fini(&job);
    take("\"dueAt\":\"2023-11-14T22:13:21Z\",\"ttl\":1.001"); /* the job is due one second from now */
    job_fini(&job);
    take("\"dueAt\":\"2001-01-01T00:00:00Z\",\"expiresAt\":\"2023-11-14T22:13:20.001Z\"");
    job_fini(&job);
    /* A script compares the times with Redis's clock. */
    take("\"expiresAt\":\"2001-01-01T00:00:00Z\"");
    job_fini(&job);
    take("\"dueAt\":\"2023-11-14T22:13:21Z\",\"ttl\":1");
    job_fini(&job);
    take("\"ttl\":315360000");
    job_fini(&job);
    take("\"delay\":1");
    ck_assert_int_eq(job_expires_ms(&job, NOW_MS), JOB_NEVER_MS);
    job_fini(&job);
}
END_TEST

START_TEST(a_named_job_may_leave_out_its_name)
{
    static const char *const texts[] = {
        "{\"url\":\"http://h/\"}",
        "{\"url\":\"http://h/\",\"topic\":\"t\"}",
        "{\"url\":\"http://h/\",\"jobId\":\"\\u0061\",\"topic\":\"t\"}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ck_assert_int_eq(job_parse_named(SLICE("t/a"), slice_of(texts[i]), NOW_MS, &job, &errors), STATUS_OK);
        ck_assert(slice_equal(job.topic, SLICE("t")) && slice_equal(job.job_id, SLICE("a")));
        job_fini(&job);
    }
    struct slice other = SLICE("{\"topic\":\"u\",\"jobId\":\"b\",\"url\":1}"), wrong = SLICE("{\"jobId\":1}");
    ck_assert_int_eq(job_parse_named(SLICE("t/a"), other, NOW_MS, &job, &errors), STATUS_INVALID);
    ck_assert_str_eq(said(), "topic: must be the same as in the path\njobId: must be the same as in the "
                             "path\nurl: must be a string");
    ck_assert_int_eq(job_parse_named(SLICE("t/a"), wrong, NOW_MS, &job, &errors), STATUS_INVALID);
    ck_assert_str_eq(said(), "jobId: must be a string");
}
END_TEST

START_TEST(takes_the_bounds)
{
    take("\"retry\":0,\"retrySchedule\":[]");
    job_fini(&job);
    take("\"retrySchedule\":[]");
    job_fini(&job);
    take("\"retrySchedule\":[31536000],\"timeout\":3600,\"retry\":100,\"headers\":{}");
    ck_assert(job.has_headers && job.header_count == 0);
    job_fini(&job);
    take("\"timeout\":0.0995"); /* 99.5 ms are rounded up to 100 ms, which is the minimum */
    job_fini(&job);
}
END_TEST

START_TEST(takes_null_for_what_is_not_there)
{
    take("\"jobId\":null,\"delay\":null,\"dueAt\":null,\"ttl\":null,\"expiresAt\":null,"
         "\"retry\":null,"
         "\"retrySchedule\":null,\"timeout\":null,\"headers\":null");
    ck_assert(job.job_id.size == 0);
    ck_assert(!job.has_delay && !job.has_due_at && !job.has_ttl && !job.has_expires_at && !job.has_retry &&
              !job.has_schedule && !job.has_timeout && !job.has_headers);
    job_fini(&job);
    take("\"delay\":null,\"dueAt\":\"2030-01-01T00:00:00Z\",\"headers\":{\"A\":null,\"B\":\"b\"}");
    ck_assert(job.has_due_at && job.header_count == 1);
    job_fini(&job);
}
END_TEST

START_TEST(takes_durations_where_seconds_are)
{
    take("\"delay\":\"15m\",\"ttl\":\"1h30m\",\"retrySchedule\":[\"10s\",2.5,\"1h\"],\"timeout\":\"500ms\"");
    ck_assert_int_eq(job.delay_ms, 900000);
    ck_assert_int_eq(job.ttl_ms, 5400000);
    ck_assert_uint_eq(job.schedule.count, 3);
    ck_assert_int_eq(job.schedule.wait_ms[0], 10000);
    ck_assert_int_eq(job.schedule.wait_ms[1], 2500);
    ck_assert_int_eq(job.schedule.wait_ms[2], 3600000);
    ck_assert_int_eq(job.timeout_ms, 500);
    job_fini(&job);
}
END_TEST

START_TEST(reads_keys_and_priorities)
{
    take("\"key\":\"\\u0022\\u00e9 c\",\"priority\":9.0");
    ck_assert(slice_equal(job.key, SLICE("\"\xc3\xa9 c")));
    ck_assert(job.has_priority);
    ck_assert_int_eq(job_priority(&job), 9);
    job_fini(&job);
    take("\"key\":null,\"priority\":5");
    ck_assert(!job.has_priority && job.key.size == 0);
    ck_assert_int_eq(job_priority(&job), 5);
    job_fini(&job);
    take("\"priority\":0");
    ck_assert_int_eq(job_priority(&job), 0);
    job_fini(&job);
    for (int size = LANE_KEY_MAX; size <= LANE_KEY_MAX + 1; size++) {
        char members[200];
        snprintf(members, sizeof members, "\"key\":\"%0*d\"", size, 1);
        ck_assert_int_eq(parse_with(members), size > LANE_KEY_MAX ? STATUS_INVALID : STATUS_OK);
        if (size == LANE_KEY_MAX)
            job_fini(&job);
    }
    ck_assert_str_eq(said(), "key: " LANE_KEY_EXPECTED);
}
END_TEST

START_TEST(reads_methods_bytes_and_labels)
{
    take("\"method\":\"DELETE\",\"bodyBase64\":\"\\/w==\",\"labels\":[\"a\",\"\\u00e9\\\"\"]");
    ck_assert(job.method == JOB_METHOD_DELETE);
    ck_assert(job.has_body_base64 && slice_equal(job.body_base64, SLICE("/w==")));
    ck_assert(job.labels.count == 2 && slice_equal(job.labels.items[0], SLICE("a")));
    ck_assert(slice_equal(job.labels.items[1], SLICE("\xc3\xa9\"")));
    job_fini(&job);
    take("\"method\":\"POST\",\"bodyBase64\":\"\",\"labels\":[]"); /* POST and an empty list of labels are the
                                                                      defaults */
    ck_assert(job.method == JOB_METHOD_POST && job.has_body_base64 && job.labels.count == 0);
    job_fini(&job);
    take("\"method\":\"HEAD\"");
    ck_assert(job.method == JOB_METHOD_HEAD);
    job_fini(&job);
}
END_TEST

START_TEST(reads_throttle_and_debounce)
{
    struct buffer sent;
    buffer_init(&sent, 1024);
    take("\"throttle\":{\"key\":\"a b\",\"per\":\"1h\"}");
    job_write_throttle(&job, &sent);
    buffer_append_byte(&sent, '\0');
    ck_assert_str_eq(sent.data, "\nthrottle 3600000 t/\nthrottle\na b");
    job_fini(&job);
    static const char *const debounced[][2] = {
        {"\"debounce\":{\"key\":\"k\",\"wait\":5,\"maxWait\":\"1m\"}", "~5000 60000 t/\ndebounce\nk"},
        {"\"debounce\":{\"key\":\"k\",\"wait\":5}", "~5000 50000 t/\ndebounce\nk"},
        {"\"debounce\":{\"key\":\"k\",\"wait\":\"3650d\"}", "~315360000000 315360000000 t/\ndebounce\nk"},
    };
    for (size_t i = 0; i < sizeof debounced / sizeof *debounced; i++) {
        take(debounced[i][0]);
        buffer_clear(&sent);
        job_write_debounce(&job, &sent);
        buffer_append_byte(&sent, '\0');
        ck_assert_str_eq(sent.data, debounced[i][1]);
        job_fini(&job);
    }
    buffer_fini(&sent);
}
END_TEST

START_TEST(reads_local_due_times)
{
    take("\"dueAt\":\"2026-12-24T09:00\",\"timezone\":\"Europe/Berlin\"");
    ck_assert(job.is_due_local && slice_equal(job.timezone, SLICE("Europe/Berlin")));
    ck_assert_int_eq(job.due_at_ms, INT64_C(1798102800000));
    job_fini(&job);
}
END_TEST

START_TEST(says_what_is_wrong_with_a_member)
{
    static const struct {
        const char *members, *said;
    } cases[] = {
        {"\"jobId\":\"\"", "jobId: must be UTF-8 of 1 to 255 bytes without control characters, and no part "
                           "between slashes may be . or .."},
        {"\"jobId\":\"a\\u0000\"", "jobId: must be UTF-8 of 1 to 255 bytes without control characters, and "
                                   "no part between slashes may be . or .."},
        {"\"jobId\":1", "jobId: must be a string"},
        {"\"delay\":-1", "delay: must be 0 to 315360000 seconds"},
        {"\"delay\":315360000.0001", "delay: must be 0 to 315360000 seconds"},
        {"\"delay\":123456789012345678901234567890", "delay: must be 0 to 315360000 seconds"},
        {"\"delay\":1e300", "delay: must be 0 to 315360000 seconds"},
        {"\"delay\":\"1\"", "delay: must be a number of seconds, or a duration such as \"15m\""},
        {"\"delay\":true", "delay: must be a number of seconds, or a duration such as \"15m\""},
        {"\"delay\":1e999", "delay: must be 0 to 315360000 seconds"},
        {"\"dueAt\":5", "dueAt: must be a string"},
        {"\"dueAt\":\"2026-12-24T09:00\"", "dueAt: needs timezone, because it has no offset from UTC"},
        {"\"dueAt\":\"2026-12-24T09:00:00Z\",\"timezone\":\"Europe/Berlin\"",
         "dueAt: must have no offset from UTC, because there is a timezone"},
        {"\"dueAt\":\"2026-12-24T09:00\",\"timezone\":\"../UTC\"",
         "timezone: must be a name of the IANA time zone database, such as Europe/Berlin"},
        {"\"expiresAt\":\"2026-12-24T09:00\"",
         "expiresAt: must be a time as in RFC 3339, such as 2030-01-01T00:00:00Z"},
        {"\"throttle\":5", "throttle: must be an object with key and per"},
        {"\"throttle\":{}", "throttle.key: is required\nthrottle.per: is required"},
        {"\"throttle\":{\"key\":\"\\n\",\"per\":1}", "throttle.key: " LANE_KEY_EXPECTED},
        {"\"throttle\":{\"key\":\"k\",\"per\":0}", "throttle.per: must be 0.001 to 315360000 seconds"},
        {"\"throttle\":{\"key\":\"k\",\"per\":1,\"x\":1}", "throttle.x: unknown field"},
        {"\"debounce\":{\"key\":\"k\",\"wait\":5,\"maxWait\":4}",
         "debounce.maxWait: must be at least debounce.wait"},
        {"\"debounce\":{\"key\":\"k\",\"wait\":5},\"jobId\":\"x\"",
         "debounce: cannot be combined with jobId: all jobs of the key become one job"},
        {"\"debounce\":{\"key\":\"k\",\"wait\":5},\"delay\":1",
         "debounce: cannot be combined with group, delay, dueAt or throttle"},
        {"\"dueAt\":\"tomorrow\"", "dueAt: must be a time as in RFC 3339, such as 2030-01-01T00:00:00Z"},
        {"\"dueAt\":\"2033-11-11T22:13:20.001Z\"", "dueAt: must be at most 10 years ahead"},
        {"\"dueAt\":\"2024-01-01T00:00:00Z\",\"delay\":0", "dueAt: cannot be combined with delay"},
        {"\"dueAt\":1,\"delay\":true", "delay: must be a number of seconds, or a duration such as \"15m\"\n"
                                       "dueAt: cannot be combined with delay\ndueAt: must be a string"},
        {"\"delay\":\"1w\"", "delay: must be a duration such as \"15m\" or \"1h30m\"; units: ms, s, m, h, d"},
        {"\"delay\":\"-1m\"",
         "delay: must be a duration such as \"15m\" or \"1h30m\"; units: ms, s, m, h, d"},
        {"\"delay\":\"15 minutes\"",
         "delay: must be a duration such as \"15m\" or \"1h30m\"; units: ms, s, m, h, d"},
        {"\"delay\":\"4000d\"", "delay: must be 0 to 315360000 seconds"},
        {"\"timeout\":\"2h\"", "timeout: must be 0.1 to 3600 seconds"},
        {"\"job_id\":\"a\"", "job_id: unknown field; did you mean jobId?"},
        {"\"ttl\":0", "ttl: must be 0.001 to 315360000 seconds"},
        {"\"ttl\":315360000.0001", "ttl: must be 0.001 to 315360000 seconds"},
        {"\"ttl\":\"1\"", "ttl: must be a number of seconds, or a duration such as \"15m\""},
        {"\"ttl\":60,\"delay\":60", "ttl: must be later than the due time of the job"},
        {"\"expiresAt\":5", "expiresAt: must be a string"},
        {"\"expiresAt\":\"soon\"", "expiresAt: must be a time as in RFC 3339, such as 2030-01-01T00:00:00Z"},
        {"\"expiresAt\":\"2000-01-01T00:00:00Z\",\"dueAt\":\"2000-01-01T00:00:00Z\"",
         "expiresAt: must be later than the due time of the job"},
        {"\"expiresAt\":\"2030-01-01T00:00:00Z\",\"ttl\":5", "expiresAt: cannot be combined with ttl"},
        {"\"retry\":-1", "retry: must be an integer from 0 to 100"},
        {"\"retry\":101", "retry: must be an integer from 0 to 100"},
        {"\"retry\":1.5", "retry: must be an integer from 0 to 100"},
        {"\"retry\":\"1\"", "retry: must be an integer from 0 to 100"},
        {"\"retry\":99999999999999999999", "retry: must be an integer from 0 to 100"},
        {"\"retrySchedule\":5", "retrySchedule: must be an array of durations, such as [15, \"3m\"]"},
        {"\"retrySchedule\":{}", "retrySchedule: must be an array of durations, such as [15, \"3m\"]"},
        {"\"retrySchedule\":[1,-1,\"2\",31536000.001,null,\"5 min\"]",
         "retrySchedule[1]: must be 0 to 31536000 seconds\n"
         "retrySchedule[2]: must be a number of seconds, or a duration such as \"15m\"\n"
         "retrySchedule[3]: must be 0 to 31536000 seconds\n"
         "retrySchedule[4]: must be a number of seconds, or a duration such as \"15m\"\n"
         "retrySchedule[5]: must be a duration such as \"15m\" or \"1h30m\"; units: ms, s, m, h, d"},
        {"\"retrySchedule\":[],\"retry\":1",
         "retrySchedule: must have at least one wait, because retry is over 0"},
        {"\"retryWait\":5", "retryWait: must be a string"},
        {"\"retryWait\":\"2 *\"", "retryWait: expected at byte 3: a number"},
        {"\"retryWait\":\"1\",\"retrySchedule\":[1]", "retryWait: cannot be combined with retrySchedule"},
        {"\"timeout\":0.099", "timeout: must be 0.1 to 3600 seconds"},
        {"\"timeout\":3600.0001", "timeout: must be 0.1 to 3600 seconds"},
        {"\"timeout\":[]", "timeout: must be a number of seconds, or a duration such as \"15m\""},
        {"\"headers\":[]", "headers: must be an object of strings"},
        {"\"headers\":{\"\":\"a\",\"a b\":\"a\",\"HOST\":\"a\",\"proxy-x\":\"a\",\"Webhook-Id\":\"a\"}",
         "headers.: must be a token, as header names are\nheaders.a b: must be a token, as header names are\n"
         "headers.HOST: must not be set by a job\nheaders.proxy-x: must not be set by a job\n"
         "headers.Webhook-Id: must not be set by a job"},
        {"\"headers\":{\"A\":1,\"B\":[],\"C\":\"x\\ny\",\"D\":\"\\u0000\",\"E\":\"\\u00e9\"}",
         "headers.A: must be a string\nheaders.B: must be a string\nheaders.C: must be visible ASCII, space "
         "and tab\n"
         "headers.D: must be visible ASCII, space and tab\nheaders.E: must be visible ASCII, space and tab"},
        {"\"headers\":{\"X-A\":\"1\",\"x-a\":\"2\"}",
         "headers.x-a: must not appear twice, regardless of case"},
        {"\"headers\":{\"A\":\"***\",\"B\":\"****\"}",
         "headers.A: must be the real value: *** stands for it in answers only"},
        {"\"method\":\"get\"", "method: must be GET, POST, PUT, PATCH, DELETE or HEAD"},
        {"\"method\":1", "method: must be a string"},
        {"\"method\":\"GET\",\"body\":null", "body: cannot be sent with method GET"},
        {"\"bodyBase64\":\"\",\"method\":\"HEAD\"", "bodyBase64: cannot be sent with method HEAD"},
        {"\"bodyBase64\":\"AA=\"", "bodyBase64: must be base64 with padding, without white space"},
        {"\"bodyBase64\":[]", "bodyBase64: must be a string"},
        {"\"bodyBase64\":\"\",\"body\":1", "body: cannot be combined with bodyBase64"},
        {"\"key\":\"\"", "key: " LANE_KEY_EXPECTED},
        {"\"key\":\"a\\u0000\"", "key: " LANE_KEY_EXPECTED},
        {"\"key\":\"\\u0085\"", "key: " LANE_KEY_EXPECTED},
        {"\"key\":7", "key: must be a string"},
        {"\"priority\":10,\"key\":[]", "key: must be a string\npriority: must be an integer from 0 to 9"},
        {"\"priority\":-1", "priority: must be an integer from 0 to 9"},
        {"\"priority\":1.5", "priority: must be an integer from 0 to 9"},
        {"\"priority\":\"high\"", "priority: must be an integer from 0 to 9"},
        {"\"labels\":\"a\"", "labels: must be an array of labels"},
        {"\"labels\":[1,\"\",\"a\",\"a\\n\",\"a\",\"\\u0085\"]",
         "labels[0]: " JOB_LABEL_EXPECTED "\nlabels[1]: " JOB_LABEL_EXPECTED
         "\nlabels[3]: " JOB_LABEL_EXPECTED "\nlabels[4]: appears twice\nlabels[5]: " JOB_LABEL_EXPECTED},
        {"\"labels\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\",\"j\",\"k\"]",
         "labels: must have at most 10 labels"},
        {"\"x\":1,\"Body\":2,\"y\\n\":{}",
         "x: unknown field\nBody: unknown field; did you mean body?\ny\n: unknown field"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_msg(parse_with(cases[i].members) == STATUS_INVALID, "%s", cases[i].members);
        ck_assert_str_eq(said(), cases[i].said);
    }
}
END_TEST

START_TEST(says_all_at_once_in_the_order_of_the_table)
{
    ck_assert_int_eq(
        parse("{\"zzz\":1,\"headers\":1,\"timeout\":0,\"retrySchedule\":[1,-2],\"retry\":-1,\"dueAt\":1,"
              "\"expiresAt\":1,\"ttl\":0,\"delay\":-1,\"body\":1,\"url\":\"ftp://x\",\"jobId\":\".."
              "\",\"topic\":\"..\"}"),
        STATUS_INVALID);
    ck_assert_str_eq(said(), "topic: must be 1 to 128 characters of A-Z a-z 0-9 . _ - and not . or ..\n"
                             "jobId: must be UTF-8 of 1 to 255 bytes without control characters, and no part "
                             "between slashes may be . or ..\n"
                             "url: must begin with http:// or https://\n"
                             "delay: must be 0 to 315360000 seconds\n"
                             "dueAt: cannot be combined with delay\n"
                             "dueAt: must be a string\n"
                             "ttl: must be 0.001 to 315360000 seconds\n"
                             "expiresAt: cannot be combined with ttl\n"
                             "expiresAt: must be a string\n"
                             "retry: must be an integer from 0 to 100\n"
                             "retrySchedule[1]: must be 0 to 31536000 seconds\n"
                             "timeout: must be 0.1 to 3600 seconds\n"
                             "headers: must be an object of strings\n"
                             "zzz: unknown field");
    ck_assert_int_eq(parse("{\"topic\":1,\"url\":2}"), STATUS_INVALID);
    ck_assert_str_eq(said(), "topic: must be a string\nurl: must be a string");
    ck_assert_int_eq(parse("{\"topic\":\"t\",\"url\":\"http://h/?\\u002a**\"}"), STATUS_INVALID);
    ck_assert_str_eq(said(), "url: must be the real url: *** stands for its query in answers only");
    ck_assert_int_eq(parse("{}"), STATUS_INVALID);
    ck_assert_str_eq(said(), "topic: is required");
    ck_assert_int_eq(parse("{\"topic\":null}"), STATUS_INVALID);
    ck_assert_str_eq(said(), "topic: is required");
}
END_TEST

START_TEST(says_what_is_wrong_with_the_document)
{
    static const struct {
        struct slice json;
        const char *said;
    } cases[] = {
        {SLICE(""), ": is empty: a JSON object is required"},
        {SLICE("[]"), ": must be an object"},
        {SLICE("\"{}\""), ": must be an object"},
        {SLICE("null"), ": must be an object"},
        {SLICE("{" NEEDED "}\0"), ": is not valid JSON, at byte 31"},
        {SLICE("{" NEEDED ",\"topic\":\"u\"}"), ": has a member twice, at byte 31"},
        {SLICE("{" NEEDED ",\"body\":{\"a\":1,\"a\":1}}"), ": has a member twice, at byte 45"},
        {SLICE("{" NEEDED ",\"body\":\"\\ud800\"}"), ": has a broken escape or a lone surrogate, at byte 39"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(job_parse(cases[i].json, NOW_MS, &job, &errors), STATUS_INVALID);
        ck_assert_str_eq(said(), cases[i].said);
    }
    buffer_printf(&text, "{" NEEDED ",\"body\":%0*d}", 5, 0);
    ck_assert_int_eq(job_parse(buffer_slice(&text), NOW_MS, &job, &errors), STATUS_INVALID);
}
END_TEST

START_TEST(bounds_schedules_and_headers)
{
    buffer_append(&text, SLICE("{" NEEDED ",\"retrySchedule\":[1"));
    for (int i = 1; i < 101; i++)
        buffer_append(&text, SLICE(",1"));
    buffer_append(&text, SLICE("],\"headers\":{\"h\":\"\""));
    for (int i = 1; i < 51; i++)
        buffer_printf(&text, ",\"h%d\":\"\"", i);
    buffer_append(&text, SLICE("}}"));
    ck_assert_int_eq(job_parse(buffer_slice(&text), NOW_MS, &job, &errors), STATUS_INVALID);
    ck_assert_str_eq(said(),
                     "retrySchedule: must have at most 100 waits\nheaders: must have at most 50 headers");

    for (int extra = 0; extra <= 1; extra++) {
        buffer_clear(&text);
        buffer_printf(&text, "{" NEEDED ",\"headers\":{\"h\":\"%0*d\"}}", JOB_HEADER_BYTES_MAX - 1 + extra,
                      0);
        ck_assert_int_eq(job_parse(buffer_slice(&text), NOW_MS, &job, &errors),
                         extra ? STATUS_INVALID : STATUS_OK);
        if (!extra)
            job_fini(&job);
    }
    ck_assert_str_eq(said(), "headers: must have at most 8192 bytes in all");
}
END_TEST

/* The header has the maximum number of bytes, and each byte is written as an escape of six bytes. */
START_TEST(reads_headers_however_they_are_spelt)
{
    for (int extra = 0; extra <= 1; extra++) {
        buffer_clear(&text);
        buffer_append(&text, SLICE("{" NEEDED ",\"headers\":{\"\\u0048\":\""));
        for (int i = 0; i < JOB_HEADER_BYTES_MAX / 2 - 1; i++)
            buffer_append(&text, SLICE("\\u0061"));
        buffer_append(&text, SLICE("\",\"i\":\""));
        for (int i = 0; i < JOB_HEADER_BYTES_MAX / 2 - 1 + extra; i++)
            buffer_append(&text, SLICE("\\u0062"));
        buffer_append(&text, SLICE("\"}}"));
        ck_assert_int_eq(job_parse(buffer_slice(&text), NOW_MS, &job, &errors),
                         extra ? STATUS_INVALID : STATUS_OK);
        if (extra)
            break;
        ck_assert_uint_eq(job.header_count, 2);
        ck_assert(slice_equal(job.headers[0].name, SLICE("H")));
        ck_assert_uint_eq(job.headers[0].value.size, JOB_HEADER_BYTES_MAX / 2 - 1);
        ck_assert(slice_ends_with(job.headers[0].value, SLICE("aaa")));
        ck_assert(slice_starts_with(job.headers[1].value, SLICE("bbb")));
        job_fini(&job);
    }
    ck_assert_str_eq(said(), "headers: must have at most 8192 bytes in all");
}
END_TEST

START_TEST(what_is_no_header_may_be_of_any_size)
{
    buffer_append(&text, SLICE("{" NEEDED ",\"headers\":{\"h\":[0"));
    for (int i = 0; i < 50000; i++)
        buffer_append(&text, SLICE(",0"));
    buffer_append(&text, SLICE("],\"n\":1e999}}"));
    ck_assert_int_eq(job_parse(buffer_slice(&text), NOW_MS, &job, &errors), STATUS_INVALID);
    ck_assert_str_eq(said(), "headers.h: must be a string\nheaders.n: must be a string");
    buffer_clear(&text);
    buffer_printf(&text, "{" NEEDED ",\"headers\":{\"h\":\"%0*d\"}}", 300000, 0);
    ck_assert_int_eq(job_parse(buffer_slice(&text), NOW_MS, &job, &errors), STATUS_INVALID);
    ck_assert_str_eq(said(), "headers: must have at most 8192 bytes in all");
}
END_TEST

START_TEST(keeps_a_bounded_number_of_errors)
{
    buffer_append(&text, SLICE("{\"a\":0"));
    for (int i = 0; i < 900; i++)
        buffer_printf(&text, ",\"a%d\":0", i);
    buffer_append_byte(&text, '}');
    ck_assert_int_eq(job_parse(buffer_slice(&text), NOW_MS, &job, &errors), STATUS_INVALID);
    ck_assert_uint_eq(errors.count, JOB_ERRORS_MAX);
    ck_assert_str_eq(error_at(&errors, JOB_ERRORS_MAX - 1).field, "a61");
}
END_TEST

START_TEST(cuts_long_names_between_characters)
{
    buffer_append(&text, SLICE("{" NEEDED ",\"x"));
    for (int i = 0; i < 100; i++)
        buffer_append(&text, SLICE("\xc3\xa9"));
    buffer_append(&text, SLICE("\":1}"));
    ck_assert_int_eq(job_parse(buffer_slice(&text), NOW_MS, &job, &errors), STATUS_INVALID);
    size_t size = strlen(error_at(&errors, 0).field);
    ck_assert_uint_eq(size, JOB_ERROR_TEXT_SIZE - 1);
    buffer_clear(&text);
    buffer_append(&text, SLICE("{" NEEDED ",\""));
    for (int i = 0; i < 100; i++)
        buffer_append(&text, SLICE("\xc3\xa9"));
    buffer_append(&text, SLICE("\":1}"));
    ck_assert_int_eq(job_parse(buffer_slice(&text), NOW_MS, &job, &errors), STATUS_INVALID);
    ck_assert_uint_eq(strlen(error_at(&errors, 0).field), JOB_ERROR_TEXT_SIZE - 2);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("job_parse");
    TCase *tests = tcase_create("job_parse");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, reads_every_member);
    tcase_add_test(tests, leaves_out_what_was_left_out);
    tcase_add_test(tests, keeps_the_body_as_it_was_spelt);
    tcase_add_test(tests, reads_large_texts);
    tcase_add_test(tests, reads_numbers_exactly);
    tcase_add_test(tests, reads_due_times);
    tcase_add_test(tests, reads_when_a_job_expires);
    tcase_add_test(tests, a_named_job_may_leave_out_its_name);
    tcase_add_test(tests, takes_the_bounds);
    tcase_add_test(tests, takes_null_for_what_is_not_there);
    tcase_add_test(tests, takes_durations_where_seconds_are);
    tcase_add_test(tests, reads_keys_and_priorities);
    tcase_add_test(tests, reads_methods_bytes_and_labels);
    tcase_add_test(tests, reads_throttle_and_debounce);
    tcase_add_test(tests, reads_local_due_times);
    tcase_add_test(tests, says_what_is_wrong_with_a_member);
    tcase_add_test(tests, says_all_at_once_in_the_order_of_the_table);
    tcase_add_test(tests, says_what_is_wrong_with_the_document);
    tcase_add_test(tests, bounds_schedules_and_headers);
    tcase_add_test(tests, reads_headers_however_they_are_spelt);
    tcase_add_test(tests, what_is_no_header_may_be_of_any_size);
    tcase_add_test(tests, keeps_a_bounded_number_of_errors);
    tcase_add_test(tests, cuts_long_names_between_characters);
    suite_add_tcase(suite, tests);
    return suite;
}

#include "support/suite.h"

#include "job/delivery/callback_job.h"
#include "job/job_id.h"
#include "support/without_head.h"

#define CREATED_MS INT64_C(1700000000000)

static struct callback_jobs jobs;

static void set_up(void)
{
    callback_jobs_init(&jobs);
}

static void tear_down(void)
{
    callback_jobs_fini(&jobs);
}

static struct callback_report report_of(const struct job *job, const struct attempt_result *attempt)
{
    return (struct callback_report){
        .id = SLICE("t/a"),
        .nonce = SLICE("n1"),
        .outcome = CALLBACK_DELIVERED,
        .job = job,
        .attempts = 1,
        .attempt = attempt,
        .due_ms = CREATED_MS + 1000,
        .claimed_ms = CREATED_MS + 1010,
        .ended_ms = CREATED_MS + 1030,
    };
}

static const char *record(void)
{
    ck_assert_uint_eq(jobs.count, 1);
    return without_head(buffer_text(&jobs.items[0].record));
}

static bool has(const char *part)
{
    return strstr(record(), part) != NULL;
}

#define HEAD(callback, outcome)                                                                              \
    "\"callback\":\"" callback "\",\"topic\":\"t\",\"jobId\":\"a\",\"outcome\":\"" outcome "\""

START_TEST(a_delivery_is_reported_with_its_answer)
{
    struct job job = {.created_ms = CREATED_MS, .on_delivered = SLICE("\"http://h/done\"")};
    struct attempt_result attempt = {.at_ms = CREATED_MS + 1010, .duration_ms = 20, .status = 200};
    struct callback_report report = report_of(&job, &attempt);
    report.answer = SLICE("{\"id\":1}");
    ck_assert(callback_jobs_write(&jobs, NULL, &report));
    ck_assert_str_eq(buffer_text(&jobs.items[0].id), "t~callbacks/a~delivered~n1");
    ck_assert_str_eq(
        record(),
        "\"url\":\"http://h/done\",\"body\":{" HEAD(
            "onDelivered",
            "delivered") ",\"status\":200,\"attempts\":1,\"createdAt\":\"2023-11-14T22:13:20.000Z\","
                         "\"dueAt\":\"2023-11-14T22:13:21.000Z\",\"endedAt\":\"2023-11-14T22:13:21.030Z\","
                         "\"lateMs\":10,"
                         "\"durationMs\":20,\"lastAttempts\":[{\"number\":1,\"at\":\"2023-11-14T22:13:21."
                         "010Z\","
                         "\"durationMs\":20,\"status\":200}],\"answer\":\"{\\\"id\\\":1}\"}}");
}
END_TEST

START_TEST(a_failed_attempt_is_reported_with_the_one_before)
{
    struct job job = {.created_ms = CREATED_MS, .on_attempt = SLICE("\"http://h/attempt\"")};
    struct attempt_result previous = {.at_ms = CREATED_MS, .duration_ms = 5, .status = 503};
    struct attempt_result attempt = {.at_ms = CREATED_MS + 1010,
                                     .duration_ms = 20,
                                     .error = FAILURE_TIMEOUT,
                                     .detail = SLICE("Timeout was reached")};
    struct callback_report report = report_of(&job, &attempt);
    report.outcome = CALLBACK_FAILED, report.attempts = 2, report.previous = &previous,
    report.wait_ms = 15000;
    report.answer = SLICE("no answer");
    ck_assert(callback_jobs_write(&jobs, NULL, &report));
    ck_assert_str_eq(buffer_text(&jobs.items[0].id), "t~callbacks/a~attempt~n1");
    ck_assert(
        has(HEAD("onAttempt", "failed") ",\"error\":\"timeout\",\"errorDetail\":\"Timeout was reached\","
                                        "\"attempts\":2,"));
    ck_assert(has("\"waitMs\":15000,\"lastAttempts\":[{\"number\":1,\"at\":\"2023-11-14T22:13:20.000Z\","
                  "\"durationMs\":5,\"status\":503},{\"number\":2,"));
    ck_assert(!has("\"answer\""));
}
END_TEST

START_TEST(an_end_has_two_callbacks_where_attempts_have_one)
{
    struct job job = {
        .created_ms = 1, .on_attempt = SLICE("\"http://h/1\""), .on_dead = SLICE("\"http://h/2\"")};
    struct attempt_result attempt = {.status = 410};
    struct callback_report report = report_of(&job, &attempt);
    report.outcome = CALLBACK_DEAD, report.reason = SLICE("gone");
    ck_assert(callback_jobs_write(&jobs, NULL, &report));
    ck_assert_uint_eq(jobs.count, 2);
    ck_assert_str_eq(buffer_text(&jobs.items[0].id), "t~callbacks/a~attempt~n1");
    ck_assert_str_eq(buffer_text(&jobs.items[1].id), "t~callbacks/a~dead~n1");
    ck_assert_ptr_nonnull(
        strstr(buffer_text(&jobs.items[1].record), "\"outcome\":\"dead\",\"reason\":\"gone\""));
    report.attempt = NULL; /* the job died without an attempt */
    ck_assert(callback_jobs_write(&jobs, NULL, &report));
    ck_assert_str_eq(buffer_text(&jobs.items[0].id), "t~callbacks/a~dead~n1");
    ck_assert(has("\"lastAttempts\":[]}"));
}
END_TEST

START_TEST(the_jobs_callback_wins_over_the_topics)
{
    struct topic_settings settings = {.on_delivered = SLICE("\"http://topic/\"")};
    struct job job = {.created_ms = 1};
    struct attempt_result attempt = {.status = 200};
    struct callback_report report = report_of(&job, &attempt);
    ck_assert(callback_jobs_write(&jobs, &settings, &report));
    ck_assert(has("\"url\":\"http://topic/\""));
    job.on_delivered = SLICE("\"http://job/\"");
    ck_assert(callback_jobs_write(&jobs, &settings, &report));
    ck_assert(has("\"url\":\"http://job/\""));
    report.job = NULL; /* the job's record is unreadable */
    report.outcome = CALLBACK_DEAD, report.reason = SLICE("unreadable"), report.attempt = NULL;
    settings.on_dead = SLICE("\"http://topic/dead\"");
    ck_assert(callback_jobs_write(&jobs, &settings, &report));
    ck_assert(has("\"url\":\"http://topic/dead\"") && !has("createdAt"));
}
END_TEST

START_TEST(a_callback_has_its_headers_and_the_body_if_asked_for)
{
    struct job job = {.created_ms = 1,
                      .body = SLICE("{\"n\": 1.10}"),
                      .trace_parent = SLICE("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
                      .on_delivered =
                          SLICE("{\"url\":\"http://h/\",\"headers\":{\"X-A\":\"1\"},\"includeBody\":true}")};
    struct attempt_result attempt = {.status = 204};
    struct callback_report report = report_of(&job, &attempt);
    ck_assert(callback_jobs_write(&jobs, NULL, &report));
    ck_assert(has("\"url\":\"http://h/\",\"headers\":{\"X-A\":\"1\"},\"traceparent\":\"00-0af7"));
    ck_assert(has("\"answer\":\"\",\"body\":{\"n\": 1.10}}}"));
    job.body = SLICE("{\"n\":"); /* another program wrote the record */
    ck_assert(callback_jobs_write(&jobs, NULL, &report));
    ck_assert(has("\"body\":null}}"));
    job.body.size = 0;
    ck_assert(callback_jobs_write(&jobs, NULL, &report));
    ck_assert(has("\"answer\":\"\"}}"));
}
END_TEST

START_TEST(an_answer_is_text_or_base64)
{
    static const struct {
        struct slice answer;
        bool is_cut;
        const char *part;
    } cases[] = {
        {SLICE_INIT("\xc3\xa9\n"), false, "\"answer\":\"\xc3\xa9\\n\"}}"},
        {SLICE_INIT("a\0b"), false, "\"answer\":\"a\\u0000b\"}}"},
        {SLICE_INIT("a\xc3"), true, "\"answer\":\"a\",\"answerTruncated\":true}}"},
        {SLICE_INIT("a\xf0\x9f\x98"), true, "\"answer\":\"a\",\"answerTruncated\":true}}"},
        {SLICE_INIT("a\xf0\x9f\x98\x80"), true,
         "\"answer\":\"a\xf0\x9f\x98\x80\",\"answerTruncated\":true}}"},
        {SLICE_INIT("a\xc3"), false, "\"answerBase64\":\"YcM=\"}}"},
        {SLICE_INIT("\xff\xfe"), false, "\"answerBase64\":\"//4=\"}}"},
        {SLICE_INIT("\x80\x80\x80\x80"), true, "\"answerBase64\":\"gICAgA==\",\"answerTruncated\":true}}"},
        {SLICE_INIT("\xed\xa0\x80"), false, "\"answerBase64\":\"7aCA\"}}"},
    };
    struct job job = {.created_ms = 1, .on_delivered = SLICE("\"http://h/\"")};
    struct attempt_result attempt = {.status = 200};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct callback_report report = report_of(&job, &attempt);
        report.answer = cases[i].answer, report.is_answer_cut = cases[i].is_cut;
        ck_assert(callback_jobs_write(&jobs, NULL, &report));
        ck_assert_msg(has(cases[i].part), "%zu: %s", i, record());
    }
}
END_TEST

START_TEST(an_answer_is_cut_at_64_kib)
{
    static char answer[CALLBACK_ANSWER_MAX + 1];
    struct job job = {.created_ms = 1, .on_delivered = SLICE("\"http://h/\"")};
    struct attempt_result attempt = {.status = 200};
    struct callback_report report = report_of(&job, &attempt);
    memset(answer, 'x', sizeof answer);
    report.answer = slice_from(answer, CALLBACK_ANSWER_MAX);
    ck_assert(callback_jobs_write(&jobs, NULL, &report));
    ck_assert(!has("answerTruncated"));
    report.answer.size++;
    ck_assert(callback_jobs_write(&jobs, NULL, &report));
    ck_assert(has("x\",\"answerTruncated\":true}}"));
    ck_assert_uint_lt(strlen(record()), CALLBACK_ANSWER_MAX + 1024);
}
END_TEST

START_TEST(a_callback_has_no_callbacks)
{
    struct topic_settings settings = {.on_delivered = SLICE("\"http://h/\""),
                                      .on_dead = SLICE("\"http://h/\"")};
    struct job job = {.topic = SLICE("t~callbacks"), .created_ms = 1, .on_attempt = SLICE("\"http://h/\"")};
    struct attempt_result attempt = {.status = 200};
    struct callback_report report = report_of(&job, &attempt);
    report.id = SLICE("t~callbacks/a~delivered~n1");
    ck_assert(callback_jobs_write(&jobs, &settings, &report));
    ck_assert_uint_eq(jobs.count, 0);
    ck_assert(!callback_jobs_are_wanted(&job, &settings));
    job.topic = SLICE("t");
    ck_assert(callback_jobs_are_wanted(&job, NULL));
    job.on_attempt.size = 0;
    ck_assert(!callback_jobs_are_wanted(&job, NULL));
    ck_assert(callback_jobs_are_wanted(&job, &settings));
}
END_TEST

START_TEST(its_id_is_a_job_and_its_record_can_be_read)
{
    char id[JOB_TOPIC_MAX + 1 + JOB_ID_MAX];
    struct job job = {.created_ms = 1, .on_delivered = SLICE("\"http://h/\"")}, read;
    struct attempt_result attempt = {.status = 200};
    struct callback_report report = report_of(&job, &attempt);
    struct slice topic, job_id;
    struct buffer whole;
    memset(id, 'a', sizeof id);
    id[JOB_TOPIC_MAX] = '/';
    report.id = slice_from(id, sizeof id);
    report.nonce = SLICE("12345678901234567890123456789012");
    ck_assert(callback_jobs_write(&jobs, NULL, &report));
    ck_assert(job_key_parse(buffer_slice(&jobs.items[0].id), &topic, &job_id) && topic_is_sibling(topic));
    buffer_init(&whole, 10000);
    buffer_append(&whole, SLICE("{\"createdAt\":1,"));
    buffer_append(&whole, buffer_slice(&jobs.items[0].record));
    ck_assert_int_eq(job_read(buffer_slice(&jobs.items[0].id), buffer_slice(&whole), &read), STATUS_OK);
    ck_assert(slice_equal(read.url, SLICE("http://h/")) && read.body.size > 0 && read.lacks.size == 0);
    job_fini(&read);
    buffer_fini(&whole);
}
END_TEST

START_TEST(without_memory_there_is_none)
{
    struct job job = {.created_ms = 1, .on_delivered = SLICE("\"http://h/\"")};
    struct attempt_result attempt = {.status = 200};
    struct callback_report report = report_of(&job, &attempt);
    jobs.items[0].record.max = 16;
    ck_assert(!callback_jobs_write(&jobs, NULL, &report));
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("callback_job");
    TCase *tests = tcase_create("callback_job");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_delivery_is_reported_with_its_answer);
    tcase_add_test(tests, a_failed_attempt_is_reported_with_the_one_before);
    tcase_add_test(tests, an_end_has_two_callbacks_where_attempts_have_one);
    tcase_add_test(tests, the_jobs_callback_wins_over_the_topics);
    tcase_add_test(tests, a_callback_has_its_headers_and_the_body_if_asked_for);
    tcase_add_test(tests, an_answer_is_text_or_base64);
    tcase_add_test(tests, an_answer_is_cut_at_64_kib);
    tcase_add_test(tests, a_callback_has_no_callbacks);
    tcase_add_test(tests, its_id_is_a_job_and_its_record_can_be_read);
    tcase_add_test(tests, without_memory_there_is_none);
    suite_add_tcase(suite, tests);
    return suite;
}

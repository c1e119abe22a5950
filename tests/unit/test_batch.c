#include "job/delivery/batch.h"

#include <stdlib.h>
#include <string.h>

#include "support/suite.h"

/* ---- the body ---- */

static struct buffer body;

static void add(const char *id, const char *record, int attempt)
{
    struct job job;
    ck_assert_int_eq(job_read(slice_of(id), slice_of(record), &job), STATUS_OK);
    batch_body_add(&body, &job, attempt);
    job_fini(&job);
}

/* Reads the result of one job in an answer. */
static void read_of(struct slice answer, struct slice job_id, struct batch_result *result)
{
    struct batch_results results;
    batch_results_read(answer, false, &results);
    batch_result_of(&results, job_id, result);
    batch_results_fini(&results);
}

START_TEST(the_body_has_an_object_for_each_job)
{
    buffer_init(&body, 4096);
    batch_body_begin(&body);
    add("t/a",
        "{\"createdAt\":1,\"url\":\"\",\"key\":\"k\",\"labels\":[\"x\",\"y\"],\"body\":{\"n\":[1, 2]}}", 1);
    add("t/b\"\\", "{\"createdAt\":1,\"url\":\"\",\"body\":\"text\\u0000 \\\"\"}", 101);
    add("t/c", "{\"createdAt\":1,\"url\":\"\"}", 2);
    add("t/d", "{\"createdAt\":1,\"url\":\"\",\"bodyBase64\":\"AP8=\"}", 3);
    add("t/e", "{\"createdAt\":1,\"url\":\"\",\"body\":null}", 3);
    batch_body_end(&body);
    ck_assert_str_eq(
        buffer_text(&body),
        "[{\"jobId\":\"a\",\"topic\":\"t\",\"key\":\"k\",\"attempt\":1,\"labels\":[\"x\",\"y\"],\"body\":{"
        "\"n\":[1, 2]}},"
        "{\"jobId\":\"b\\\"\\\\\",\"topic\":\"t\",\"attempt\":101,\"body\":\"text\\u0000 \\\"\"},"
        "{\"jobId\":\"c\",\"topic\":\"t\",\"attempt\":2},"
        "{\"jobId\":\"d\",\"topic\":\"t\",\"attempt\":3,\"bodyBase64\":\"AP8=\"},"
        "{\"jobId\":\"e\",\"topic\":\"t\",\"attempt\":3,\"body\":null}]");
    buffer_fini(&body);
}
END_TEST

/* ---- the results ---- */

#define WAITS(ms) BATCH_FAILED, true, ms

static const struct result_case {
    const char *answer;
    bool has_results;
    enum batch_verdict verdict; /* of job a */
    bool has_wait;
    int64_t wait_ms;
    const char *detail; /* its beginning */
} cases[] = {
    {"", false, .detail = ""},
    {"ok", false, .detail = ""},
    {"[]", false, .detail = ""},
    {"{}", false, .detail = ""},
    {"null", false, .detail = ""},
    {"{\"results\":{}}", false, .detail = ""},
    {"{\"results\":null}", false, .detail = ""},
    {"{\"results\":\"[]\"}", false, .detail = ""},
    {"{\"result\":[]}", false, .detail = ""},
    {"[{\"results\":[]}]", false, .detail = ""},
    {"{\"other\":{\"results\":[]}}", false, .detail = ""},
    {"{\"results\":[]}", true, BATCH_FAILED, .detail = "the results leave this job out"},
    {"{\"results\":[]", true, BATCH_FAILED, .detail = "the results leave this job out"},
    {"{\"results\":[", true, BATCH_FAILED, .detail = "the answer has unreadable results"},
    {"{\"results\":[{\"jobId\":\"a\",\"ok\":tru", true, BATCH_FAILED,
     .detail = "the answer has unreadable results"},
    {"{\"results\":[{\"jobId\":\"b\",\"ok\":true}", true, BATCH_FAILED,
     .detail = "the answer has unreadable results"},
    {" { \"x\" : [1] , \"results\" : [ { \"ok\" : true , \"jobId\" : \"a\" } ] } ", true, BATCH_DELIVERED,
     .detail = ""},
    {"{\"results\":[{\"jobId\":\"a\",\"ok\":true}", true, BATCH_DELIVERED, .detail = ""},
    {"{\"results\":[{\"jobId\":\"\\u0061\",\"ok\":true}]}", true, BATCH_DELIVERED, .detail = ""},
    {"{\"results\":[{\"jobId\":\"aa\",\"ok\":true},{\"jobId\":\"\",\"ok\":true}]}", true, BATCH_FAILED,
     .detail = "the results leave this job out"},
    {"{\"results\":[{\"jobId\":\"x\",\"ok\":true},{\"jobId\":\"a\",\"ok\":false},{\"jobId\":\"a\",\"ok\":"
     "true}]}",
     true, BATCH_FAILED, .detail = ""},
    {"{\"results\":[1,null,\"a\",[\"a\"],{\"jobId\":1},{\"jobId\":null},{},{\"jobId\":\"a\",\"ok\":true}]}",
     true, BATCH_DELIVERED, .detail = ""},
    {"{\"results\":[{\"jobId\":\"a\"}]}", true, BATCH_FAILED, .detail = "the result of the job says neither"},
    {"{\"results\":[{\"jobId\":\"a\",\"ok\":1}]}", true, BATCH_FAILED,
     .detail = "the result of the job says neither"},
    {"{\"results\":[{\"jobId\":\"a\",\"ok\":\"true\"}]}", true, BATCH_FAILED,
     .detail = "the result of the job says neither"},
    {"{\"results\":[{\"jobId\":\"a\",\"retry\":\"5m\"}]}", true, WAITS(300000), ""},
    {"{\"results\":[{\"jobId\":\"a\",\"retry\":0}]}", true, WAITS(0), ""},
    {"{\"results\":[{\"jobId\":\"a\",\"retry\":1.5}]}", true, WAITS(1500), ""},
    {"{\"results\":[{\"jobId\":\"a\",\"retry\":-1}]}", true, BATCH_FAILED,
     .detail = "the result of the job has a retry that is not"},
    {"{\"results\":[{\"jobId\":\"a\",\"retry\":\"soon\"}]}", true, BATCH_FAILED,
     .detail = "the result of the job has a retry that is not"},
    {"{\"results\":[{\"jobId\":\"a\",\"retry\":1e300}]}", true, BATCH_FAILED,
     .detail = "the result of the job has a retry that is not"},
    {"{\"results\":[{\"jobId\":\"a\",\"bury\":\"no \\\"such\\\" user\"}]}", true, BATCH_BURIED,
     .detail = "no 'such' user"},
    {"{\"results\":[{\"jobId\":\"a\",\"bury\":\"\"}]}", true, BATCH_BURIED, .detail = ""},
    {"{\"results\":[{\"jobId\":\"a\",\"bury\":true}]}", true, BATCH_FAILED,
     .detail = "the result of the job says neither"},
};

START_TEST(an_answer_may_decide_each_job)
{
    const struct result_case *each = &cases[_i];
    struct slice answer = slice_of(each->answer);
    struct batch_result result;
    ck_assert_msg(batch_has_results(answer) == each->has_results, "%s", each->answer);
    if (!each->has_results)
        return;
    read_of(answer, SLICE("a"), &result);
    ck_assert_msg(result.verdict == each->verdict, "%s: %d", each->answer, result.verdict);
    ck_assert_msg(result.has_wait == each->has_wait && (!each->has_wait || result.wait_ms == each->wait_ms),
                  "%s: %lld", each->answer, (long long)result.wait_ms);
    const char *detail = each->detail ? each->detail : "";
    ck_assert_msg(strncmp(result.detail, detail, strlen(detail)) == 0, "%s: %s", each->answer, result.detail);
}
END_TEST

START_TEST(an_id_may_need_escapes)
{
    struct batch_result result;
    struct slice answer = SLICE("{\"results\":[{\"jobId\":\"\\u00e9\\\"\\\\\\ud83d\\ude00\",\"ok\":true}]}");
    read_of(answer, SLICE("\xc3\xa9\"\\\xf0\x9f\x98\x80"), &result);
    ck_assert_int_eq(result.verdict, BATCH_DELIVERED);
}
END_TEST

/* Returns the detail of a bury whose text is a number of times "é" after an "x". */
static const char *buried(size_t number)
{
    static struct batch_result result;
    struct buffer answer;
    buffer_init(&answer, 1 << 20);
    buffer_append(&answer, SLICE("{\"results\":[{\"jobId\":\"a\",\"bury\":\"x"));
    for (size_t i = 0; i < number; i++)
        buffer_append(&answer, SLICE("\xc3\xa9"));
    buffer_append(&answer, SLICE("\"}]}"));
    read_of(buffer_slice(&answer), SLICE("a"), &result);
    buffer_fini(&answer);
    ck_assert_int_eq(result.verdict, BATCH_BURIED);
    return result.detail;
}

START_TEST(a_long_reason_is_cut_between_characters)
{
    ck_assert_uint_eq(strlen(buried(99)), 199);
    ck_assert_uint_eq(strlen(buried(100)), 199);
    ck_assert_uint_eq(strlen(buried(300)), 199);
    ck_assert_uint_eq(strlen(buried(100000)), 199);
}
END_TEST

START_TEST(garbage_before_the_results_is_not_read_as_results)
{
    enum { SIZE = 10 * 1000 * 1000 };
    static const char end[] = "{\"results\":[{\"jobId\":\"a\",\"ok\":true}]}";
    char *text = malloc(SIZE + sizeof end);
    memset(text, 'x', SIZE);
    memcpy(text + SIZE, end, sizeof end);
    ck_assert(!batch_has_results(slice_from(text, SIZE + sizeof end - 1)));
    memset(text, ' ', SIZE);
    ck_assert(batch_has_results(slice_from(text, SIZE + sizeof end - 1)));
    memset(text, '[', SIZE);
    ck_assert(!batch_has_results(slice_from(text, SIZE + sizeof end - 1)));
    free(text);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("batch");
    TCase *tests = tcase_create("batch");
    tcase_add_test(tests, the_body_has_an_object_for_each_job);
    tcase_add_loop_test(tests, an_answer_may_decide_each_job, 0, sizeof cases / sizeof *cases);
    tcase_add_test(tests, an_id_may_need_escapes);
    tcase_add_test(tests, a_long_reason_is_cut_between_characters);
    tcase_add_test(tests, garbage_before_the_results_is_not_read_as_results);
    suite_add_tcase(suite, tests);
    return suite;
}

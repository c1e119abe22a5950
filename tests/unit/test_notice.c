#include "support/suite.h"

#include "job/job_id.h"
#include "job/notice.h"

#define URL "http://h/dead"

static struct notice notice;

static void set_up(void)
{
    notice_init(&notice);
}

static void tear_down(void)
{
    notice_fini(&notice);
}

static bool write_notice(const char *settings_text, struct slice id, const char *record)
{
    struct topic_settings settings;
    struct notice_death death = {id, SLICE("n1"), 1700000000123, slice_of(record)};
    ck_assert_int_eq(topic_settings_read(slice_of(settings_text), &settings), STATUS_OK);
    bool is_whole = notice_write(&notice, &settings, &death);
    topic_settings_fini(&settings);
    return is_whole;
}

#define BODY(job_id, job)                                                                                    \
    "\"url\":\"" URL "\",\"body\":{\"topic\":\"t\",\"jobId\":\"" job_id                                      \
    "\",\"deadAt\":1700000000123,\"job\":" job "}}"

START_TEST(holds_the_dead_job)
{
    static const struct {
        const char *id, *record, *notice_id, *notice_record;
    } cases[] = {
        {"t/a", "{\"createdAt\":1,\"url\":\"http://h/\"}", "t~callbacks/a~dead~n1",
         BODY("a", "{\"createdAt\":1,\"url\":\"http://h/\"}")},
        {"t/a/\"\\b", "{}", "t~callbacks/a/\"\\b~dead~n1", BODY("a/\\\"\\\\b", "{}")},
        {"t/\xc3\xa9", "{\"body\":1.10}", "t~callbacks/\xc3\xa9~dead~n1",
         BODY("\xc3\xa9", "{\"body\":1.10}")},
        /* Another program wrote the record. */
        {"t/a", "{\"x\":", "t~callbacks/a~dead~n1", BODY("a", "null")},
        {"t/a", "", "t~callbacks/a~dead~n1", BODY("a", "null")},
        {"t/a", "{}}", "t~callbacks/a~dead~n1", BODY("a", "null")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert(write_notice("{\"onDead\":\"" URL "\"}", slice_of(cases[i].id), cases[i].record));
        ck_assert_str_eq(buffer_text(&notice.id), cases[i].notice_id);
        ck_assert_str_eq(buffer_text(&notice.record), cases[i].notice_record);
    }
}
END_TEST

START_TEST(a_deep_job_is_json)
{
    char record[200] = "{\"body\":";
    for (int i = 0; i < JOB_DEPTH_MAX; i++)
        strcat(record, "[");
    for (int i = 0; i < JOB_DEPTH_MAX; i++)
        strcat(record, "]");
    strcat(record, "}");
    ck_assert(write_notice("{\"onDead\":\"" URL "\"}", SLICE("t/a"), record));
    ck_assert_ptr_nonnull(strstr(buffer_text(&notice.record), "[[[]]]"));
}
END_TEST

START_TEST(there_is_none_without_a_url_and_of_no_notice)
{
    ck_assert(write_notice("{\"onDead\":\"" URL "\"}", SLICE("t/a"), "{}"));
    ck_assert(write_notice("{\"retention\":5}", SLICE("t/a"), "{}"));
    ck_assert_uint_eq(notice.id.size, 0);
    ck_assert(write_notice("{\"onDead\":\"" URL "\"}", SLICE("t~callbacks/a~dead~n1"), "{}"));
    ck_assert_uint_eq(notice.id.size, 0);
    ck_assert(notice_write(&notice, NULL, &(struct notice_death){.id = SLICE("t/a"), .record = SLICE("{}")}));
    ck_assert_uint_eq(notice.id.size, 0);
}
END_TEST

START_TEST(its_id_is_a_job_and_its_record_can_be_read)
{
    char id[JOB_TOPIC_MAX + 1 + JOB_ID_MAX];
    struct slice topic, job_id;
    struct job job;
    struct buffer record;
    memset(id, 'a', sizeof id);
    id[JOB_TOPIC_MAX] = '/';
    ck_assert(write_notice("{\"onDead\":\"" URL "\"}", slice_from(id, sizeof id), "{}"));
    ck_assert(job_key_parse(buffer_slice(&notice.id), &topic, &job_id));
    ck_assert(topic_is_sibling(topic));
    ck_assert_uint_le(job_id.size + 30, JOB_ID_DERIVED_MAX); /* a nonce is longer than n1 */
    buffer_init(&record, 10000);
    buffer_append(&record, SLICE("{\"createdAt\":1,"));
    buffer_append(&record, buffer_slice(&notice.record));
    ck_assert_int_eq(job_read(buffer_slice(&notice.id), buffer_slice(&record), &job), STATUS_OK);
    ck_assert(slice_equal(job.url, SLICE(URL)) && job.body.size > 0);
    job_fini(&job);
    buffer_fini(&record);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("notice");
    TCase *tests = tcase_create("notice");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, holds_the_dead_job);
    tcase_add_test(tests, a_deep_job_is_json);
    tcase_add_test(tests, there_is_none_without_a_url_and_of_no_notice);
    tcase_add_test(tests, its_id_is_a_job_and_its_record_can_be_read);
    suite_add_tcase(suite, tests);
    return suite;
}

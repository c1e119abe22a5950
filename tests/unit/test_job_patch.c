#include "support/errors.h"
#include "support/suite.h"

#include <stdio.h>

#include "job/job_parse.h"
#include "support/without_head.h"

#define NOW_MS INT64_C(1700000000000) /* 2023-11-14T22:13:20Z */

/* A job that was created 10 s ago and is due in 50 s. */
#define RECORD                                                                                               \
    "{\"createdAt\":1699999990000,\"url\":\"http://h/\",\"delay\":60,\"retry\":2,"                           \
    "\"headers\":{\"X-A\":\"1\",\"X-B\":\"2\"},\"attempts\":1,"                                              \
    "\"lastAttempt\":{\"at\":1699999991000,\"durationMs\":5,\"status\":500},\"waitMs\":7,\"body\":{ \"n\": " \
    "1.10 }}"
#define HEAD "{\"createdAt\":1699999990000,\"url\":\"http://h/\""
#define KEPT                                                                                                 \
    "\"attempts\":1,\"lastAttempt\":{\"at\":1699999991000,\"durationMs\":5,\"status\":500},\"waitMs\":7"
#define HEADERS "\"headers\":{\"X-A\":\"1\",\"X-B\":\"2\"}"
#define BODY    "\"body\":{ \"n\": 1.10 }}"

static struct job_patched patched;
static struct job_errors errors;
static struct buffer text, record;

static void set_up(void)
{
    buffer_init(&text, 1 << 20);
    buffer_init(&record, 1 << 20);
}

static void tear_down(void)
{
    buffer_fini(&text);
    buffer_fini(&record);
}

static enum status patch_job(const char *id, const char *old, const char *change)
{
    struct job_patch patch = {slice_of(id), slice_of(old), slice_of(change), NOW_MS};
    buffer_clear(&text);
    enum status status = job_patch(&patch, &text, &patched, &errors);
    if (status == STATUS_OK)
        job_patched_fini(&patched);
    return status;
}

static enum status patch_record(const char *old, const char *change)
{
    struct job_patch patch = {SLICE("t/a"), slice_of(old), slice_of(change), NOW_MS};
    buffer_clear(&text);
    return job_patch(&patch, &text, &patched, &errors);
}

/* Returns the new record; ">" before it means that the job gets another due time. */
static const char *become(const char *old, const char *change)
{
    ck_assert_msg(patch_record(old, change) == STATUS_OK, "%s: %s %s", change, error_at(&errors, 0).field,
                  error_at(&errors, 0).detail);
    buffer_clear(&record);
    if (patched.is_moved)
        buffer_printf(&record, "+%lld ", (long long)(job_due_ms(&patched.job, NOW_MS) - NOW_MS));
    job_write(&patched.job, &record);
    job_patched_fini(&patched);
    return without_head(buffer_text(&record));
}

START_TEST(changes_what_the_patch_names)
{
    static const struct {
        const char *patch, *record;
    } cases[] = {
        {"{}", RECORD},
        {" { \"url\" : \"http:\\/\\/H:80\\/i\" } ",
         "{\"createdAt\":1699999990000,\"url\":\"http://H:80/i\",\"delay\":60,\"retry\":2," HEADERS "," KEPT
         "," BODY},
        {"{\"delay\":5}", "+5000 " HEAD ",\"delay\":5,\"retry\":2," HEADERS "," KEPT "," BODY},
        {"{\"delay\":60}", "+60000 " RECORD},
        {"{\"dueAt\":\"2023-11-14T22:13:27Z\"}",
         "+7000 " HEAD ",\"dueAt\":\"2023-11-14T22:13:27.000Z\",\"retry\":2," HEADERS "," KEPT "," BODY},
        {"{\"dueAt\":\"2001-01-01T00:00:00Z\",\"delay\":null}",
         "+0 " HEAD ",\"dueAt\":\"2001-01-01T00:00:00.000Z\",\"retry\":2," HEADERS "," KEPT "," BODY},
        {"{\"delay\":null}", "+0 " HEAD ",\"retry\":2," HEADERS "," KEPT "," BODY},
        {"{\"dueAt\":null,\"ttl\":null,\"timeout\":null}", RECORD},
        {"{\"ttl\":70}", HEAD ",\"delay\":60,\"ttl\":70,\"retry\":2," HEADERS "," KEPT "," BODY},
        {"{\"retryWait\":\"\\u0032 * retried\"}",
         HEAD ",\"delay\":60,\"retry\":2,\"retryWait\":\"2 * retried\"," HEADERS "," KEPT "," BODY},
        {"{\"retry\":null,\"retrySchedule\":[1,2.50],\"timeout\":3}",
         HEAD ",\"delay\":60,\"retrySchedule\":[1,2.5],\"timeout\":3," HEADERS "," KEPT "," BODY},
        {"{\"body\":\t[1.0 ,{}]\n}",
         HEAD ",\"delay\":60,\"retry\":2," HEADERS "," KEPT ",\"body\":[1.0 ,{}]}"},
        {"{\"b\\u006fdy\":null}", HEAD ",\"delay\":60,\"retry\":2," HEADERS "," KEPT "}"},
        {"{\"headers\":{\"x-a\":\"3\",\"X-B\":null,\"X-C\":\"\",\"X-D\":null}}",
         HEAD ",\"delay\":60,\"retry\":2,\"headers\":{\"x-a\":\"3\",\"X-C\":\"\"}," KEPT "," BODY},
        {"{\"headers\":{\"X-A\":null,\"x-b\":null}}",
         HEAD ",\"delay\":60,\"retry\":2,\"headers\":{}," KEPT "," BODY},
        {"{\"headers\":null}", HEAD ",\"delay\":60,\"retry\":2," KEPT "," BODY},
        {"{\"method\":\"PUT\",\"labels\":[\"b\",\"a\"]}",
         HEAD ",\"method\":\"PUT\",\"delay\":60,\"retry\":2," HEADERS ",\"labels\":[\"b\",\"a\"]," KEPT
              ",\"needs\":[\"method\"]," BODY},
        {"{\"bodyBase64\":\"AA==\"}", HEAD ",\"delay\":60,\"retry\":2," HEADERS "," KEPT
                                           ",\"needs\":[\"bodyBase64\"],\"bodyBase64\":\"AA==\"}"},
        {"{\"onDead\":{\"url\": \"http://d/\"}}",
         HEAD ",\"delay\":60,\"retry\":2," HEADERS ",\"onDead\":{\"url\": \"http://d/\"}," KEPT
              ",\"needs\":[\"callbacks\"]," BODY},
        {"{\"method\":\"GET\",\"bodyBase64\":null,\"body\":null}",
         HEAD ",\"method\":\"GET\",\"delay\":60,\"retry\":2," HEADERS "," KEPT ",\"needs\":[\"method\"]}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(become(RECORD, cases[i].patch), cases[i].record);
}
END_TEST

START_TEST(a_callback_is_replaced_as_a_whole)
{
    static const char old[] =
        HEAD ",\"onDead\":{\"url\":\"http://d/\",\"headers\":{\"X-A\":\"1\"}},\"needs\":[\"callbacks\"]}";
    ck_assert_str_eq(become(old, "{\"onDead\":{\"url\":\"http://e/\"}}"),
                     HEAD ",\"onDead\":{\"url\":\"http://e/\"},\"needs\":[\"callbacks\"]}");
    ck_assert_str_eq(become(old, "{\"onDead\":null}"), HEAD "}");
    ck_assert_int_eq(patch_job("t/a", old, "{\"onDead\":{\"headers\":null}}"), STATUS_INVALID);
    ck_assert_str_eq(error_at(&errors, 0).field, "onDead.url");
}
END_TEST

/* Also escapes in the key, whose text belongs to the old job. */
START_TEST(the_key_stays_and_the_priority_changes)
{
    static const char old[] = HEAD ",\"key\":\"a\\\"b\",\"priority\":7}";
    ck_assert_str_eq(become(old, "{\"priority\":2}"), HEAD ",\"key\":\"a\\\"b\",\"priority\":2}");
    ck_assert_str_eq(become(old, "{\"priority\":5}"), HEAD ",\"key\":\"a\\\"b\"}");
    ck_assert_str_eq(become(old, "{\"priority\":null,\"retry\":1}"), HEAD ",\"retry\":1,\"key\":\"a\\\"b\"}");
    ck_assert_str_eq(become(old, "{}"), old);
    ck_assert_str_eq(become(HEAD "}", "{\"priority\":0}"), HEAD ",\"priority\":0}");
}
END_TEST

START_TEST(of_two_bodies_the_new_one_stays)
{
    static const char bytes[] =
        HEAD ",\"method\":\"PUT\",\"labels\":[\"a\"],\"needs\":[\"method\",\"bodyBase64\"],"
             "\"bodyBase64\":\"AA==\"}";
    ck_assert_str_eq(become(bytes, "{\"body\":[1]}"),
                     HEAD ",\"method\":\"PUT\",\"labels\":[\"a\"],\"needs\":[\"method\"],\"body\":[1]}");
    ck_assert_str_eq(become(bytes, "{\"method\":null,\"bodyBase64\":null,\"labels\":null}"), HEAD "}");
    ck_assert_str_eq(become(bytes, "{\"method\":\"POST\",\"labels\":[]}"),
                     HEAD ",\"needs\":[\"bodyBase64\"],\"bodyBase64\":\"AA==\"}");
}
END_TEST

START_TEST(of_two_times_the_new_one_stays)
{
    static const char due[] = HEAD ",\"dueAt\":\"2023-11-14T22:14:10.000Z\",\"ttl\":70}";
    ck_assert_str_eq(become(due, "{\"delay\":1}"), "+1000 " HEAD ",\"delay\":1,\"ttl\":70}");
    ck_assert_str_eq(become(due, "{\"dueAt\":null}"), "+0 " HEAD ",\"ttl\":70}");
    ck_assert_str_eq(become(due, "{\"delay\":null,\"ttl\":null}"),
                     HEAD ",\"dueAt\":\"2023-11-14T22:14:10.000Z\"}");
    ck_assert_str_eq(become(due, "{\"expiresAt\":\"2023-11-14T22:14:11Z\"}"), HEAD
                     ",\"dueAt\":\"2023-11-14T22:14:10.000Z\",\"expiresAt\":\"2023-11-14T22:14:11.000Z\"}");
    ck_assert_str_eq(become(HEAD "}", "{\"headers\":{\"X\":\"1\"}}"), HEAD ",\"headers\":{\"X\":\"1\"}}");
}
END_TEST

START_TEST(keeps_why_it_is_dead)
{
    ck_assert_str_eq(become(HEAD ",\"attempts\":1,\"reason\":\"gone\"}", "{\"retry\":5}"),
                     HEAD ",\"retry\":5,\"attempts\":1,\"reason\":\"gone\"}");
}
END_TEST

START_TEST(says_whether_there_is_a_new_url)
{
    ck_assert_int_eq(patch_record(RECORD, "{\"url\":\"http://h/i\"}"), STATUS_OK);
    ck_assert(patched.has_url);
    job_patched_fini(&patched);
    ck_assert_int_eq(patch_record(RECORD, "{\"retry\":1}"), STATUS_OK);
    ck_assert(!patched.has_url);
    job_patched_fini(&patched);
}
END_TEST

static const char *said(void)
{
    static char lines[4000];
    size_t size = 0;
    for (size_t i = 0; i < errors.count; i++)
        size += (size_t)snprintf(lines + size, sizeof lines - size, "%s%s: %s", i ? "\n" : "",
                                 error_at(&errors, i).field, error_at(&errors, i).detail);
    lines[size] = '\0';
    return lines;
}

START_TEST(says_what_is_wrong)
{
    static const struct {
        const char *patch, *said;
    } cases[] = {
        {"", ": is empty: a JSON object is required"},
        {"[]", ": must be an object"},
        {"{\"delay\":1,\"delay\":2}", ": has a member twice, at byte 11"},
        {"{\"topic\":\"t\",\"jobId\":null,\"x\":null}",
         "topic: cannot be changed\njobId: cannot be changed\nx: unknown field"},
        {"{\"key\":\"c1\",\"priority\":10}",
         "key: cannot be changed by PATCH; PUT replaces the job, with another key\n"
         "priority: must be an integer from 0 to 9"},
        {"{\"key\":null}", "key: cannot be changed by PATCH; PUT replaces the job, with another key"},
        {"{\"createdAt\":5,\"attempts\":0}", "createdAt: unknown field\nattempts: unknown field"},
        {"{\"url\":\"\"}", "url: must begin with http:// or https://"},
        {"{\"url\":\"x\",\"delay\":-1,\"timeout\":0,\"headers\":{\"Host\":\"x\"}}",
         "url: must begin with http:// or https://\ndelay: must be 0 to 315360000 seconds\n"
         "timeout: must be 0.1 to 3600 seconds\nheaders.Host: must not be set by a job"},
        {"{\"headers\":{\"X\":\"1\",\"x\":\"2\"}}", "headers.x: must not appear twice, regardless of case"},
        {"{\"headers\":[]}", "headers: must be an object of strings"},
        {"{\"retrySchedule\":[]}", "retrySchedule: must have at least one wait, because retry is over 0"},
        {"{\"delay\":1,\"dueAt\":\"2030-01-01T00:00:00Z\"}", "dueAt: cannot be combined with delay"},
        {"{\"ttl\":1,\"expiresAt\":\"2030-01-01T00:00:00Z\"}", "expiresAt: cannot be combined with ttl"},
        {"{\"method\":\"GET\"}", "body: cannot be sent with method GET"},
        {"{\"body\":1,\"bodyBase64\":\"\"}", "body: cannot be combined with bodyBase64"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(patch_record(RECORD, cases[i].patch), STATUS_INVALID);
        ck_assert_str_eq(said(), cases[i].said);
    }
}
END_TEST

#define AGAIN "must be sent again, or be null, because url changes to another scheme, host or port"
#define OTHER "\"url\":\"http://i/\""

START_TEST(takes_nothing_hidden_to_another_origin)
{
    static const char typed[] = HEAD ",\"headers\":{\"content-type\":\"a/b\"}}";
    static const char without_url[] = "{\"createdAt\":1,\"url\":\"\"," HEADERS "}";
    static const struct {
        const char *id, *old, *patch, *said; /* said "": the patch succeeds */
    } cases[] = {
        {"t/a", RECORD, "{" OTHER "}", "headers: " AGAIN},
        {"t/a", RECORD, "{\"url\":\"https://h/\"}", "headers: " AGAIN},
        {"t/a", RECORD, "{\"url\":\"http://h:81/\"}", "headers: " AGAIN},
        {"t/a", RECORD, "{" OTHER ",\"headers\":{}}", "headers: " AGAIN},
        {"t/a", RECORD, "{" OTHER ",\"headers\":{\"X-A\":\"3\",\"X-C\":\"4\"}}", "headers: " AGAIN},
        {"t/a", RECORD, "{" OTHER ",\"headers\":{\"x-a\":null,\"X-\\u0042\":null}}", "headers: " AGAIN},
        {"t/a", RECORD, "{" OTHER ",\"headers\":{\"x-a\":\"3\",\"X-B\":null}}", ""},
        {"t/a", RECORD, "{" OTHER ",\"headers\":null}", ""},
        {"t/a", RECORD, "{\"url\":\"http://H:80/elsewhere\"}", ""},
        {"t/a", RECORD, "{\"url\":null}", ""}, /* the job then uses the url of its topic */
        {"t/a", HEAD "}", "{" OTHER "}", ""},
        {"t/a", HEAD "}", "{" OTHER "," HEADERS "}", ""},
        {"t/a", typed, "{" OTHER "}", ""},
        {"t/a", HEAD ",\"body\":1}", "{" OTHER "}", ""},
        {"t/a", without_url, "{" OTHER "}", "headers: " AGAIN},
        {"t/a", without_url, "{" OTHER ",\"headers\":null}", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum status status = patch_job(cases[i].id, cases[i].old, cases[i].patch);
        ck_assert_int_eq(status, cases[i].said[0] ? STATUS_INVALID : STATUS_OK);
        ck_assert_str_eq(said(), cases[i].said);
    }
}
END_TEST

START_TEST(bounds_what_is_to_be_merged)
{
    static char patch[32 * 1024];
    for (int count = 100; count <= 101; count++) {
        size_t size = (size_t)snprintf(patch, sizeof patch, "{\"retry\":-1,\"headers\":{\"X-0\":null");
        for (int i = 1; i < count; i++)
            size += (size_t)snprintf(patch + size, sizeof patch - size, ",\"X-%d\":null", i);
        snprintf(patch + size, sizeof patch - size, "}}");
        ck_assert_int_eq(patch_record(RECORD, patch), STATUS_INVALID);
        ck_assert_str_eq(said(), count == 100
                                     ? "retry: must be an integer from 0 to 100"
                                     : "headers: must name at most 100 headers, in at most 16384 bytes\n"
                                       "retry: must be an integer from 0 to 100");
    }
    for (int extra = 0; extra <= 1; extra++) {
        snprintf(patch, sizeof patch, "{\"headers\":{\"X\":null%*s}}", 16384 - 10 + extra, "");
        ck_assert_int_eq(patch_record(RECORD, patch), extra ? STATUS_INVALID : STATUS_OK);
        if (!extra)
            job_patched_fini(&patched);
    }
    ck_assert_str_eq(said(), "headers: must name at most 100 headers, in at most 16384 bytes");
}
END_TEST

START_TEST(names_the_time_that_is_to_blame)
{
    static const char mortal[] = HEAD ",\"delay\":1,\"ttl\":30}";
    static const struct {
        const char *patch, *member;
    } cases[] = {
        {"{\"delay\":20}", "delay"},
        {"{\"dueAt\":\"2030-01-01T00:00:00Z\"}", "dueAt"},
        {"{\"ttl\":1}", "ttl"},
        {"{\"expiresAt\":\"2001-01-01T00:00:00Z\"}", "expiresAt"},
        {"{\"delay\":1000,\"ttl\":1010}", "ttl"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(patch_record(mortal, cases[i].patch), STATUS_OK);
        ck_assert_str_eq(patched.late_member, cases[i].member);
        job_patched_fini(&patched);
    }
}
END_TEST

START_TEST(leaves_foreign_records_alone)
{
    ck_assert_int_eq(patch_record("{\"createdAt\":1}", "{}"), STATUS_UNREADABLE);
    ck_assert_int_eq(patch_record("x", "{}"), STATUS_UNREADABLE);
    ck_assert_int_eq(patch_record("{\"createdAt\":1,\"url\":\"http://h/\",\"needs\":[\"other\"]}", "{}"),
                     STATUS_LACKING);
}
END_TEST

START_TEST(carries_what_it_does_not_know)
{
    ck_assert_int_eq(patch_record("{\"createdAt\":1,\"url\":\"http://h/\",\"colours\":[1.10],\"body\":1}",
                                  "{\"retry\":3}"),
                     STATUS_OK);
    buffer_clear(&record);
    job_write(&patched.job, &record);
    ck_assert_str_eq(without_head(buffer_text(&record)),
                     "{\"createdAt\":1,\"url\":\"http://h/\",\"retry\":3,\"colours\":[1.10],\"body\":1}");
    job_patched_fini(&patched);
    ck_assert_int_eq(
        patch_record("{\"createdAt\":1,\"url\":\"http://h/\",\"colours\":[]}", "{\"colours\":[]}"),
        STATUS_INVALID);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("job_patch");
    TCase *tests = tcase_create("job_patch");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, changes_what_the_patch_names);
    tcase_add_test(tests, a_callback_is_replaced_as_a_whole);
    tcase_add_test(tests, the_key_stays_and_the_priority_changes);
    tcase_add_test(tests, of_two_bodies_the_new_one_stays);
    tcase_add_test(tests, of_two_times_the_new_one_stays);
    tcase_add_test(tests, keeps_why_it_is_dead);
    tcase_add_test(tests, says_whether_there_is_a_new_url);
    tcase_add_test(tests, says_what_is_wrong);
    tcase_add_test(tests, takes_nothing_hidden_to_another_origin);
    tcase_add_test(tests, bounds_what_is_to_be_merged);
    tcase_add_test(tests, names_the_time_that_is_to_blame);
    tcase_add_test(tests, leaves_foreign_records_alone);
    tcase_add_test(tests, carries_what_it_does_not_know);
    suite_add_tcase(suite, tests);
    return suite;
}

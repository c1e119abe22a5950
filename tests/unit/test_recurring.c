#include "support/errors.h"
#include "support/suite.h"

#include "base/timestamp.h"
#include "job/schedule/recurring.h"

#define NOW_MS   INT64_C(1893456000000) /* 2030-01-01 */
#define ORDERS   SLICE("orders")
#define BODY_MAX (1 << 16)

static struct recurring recurring;
static struct job job;
static struct job_errors errors;

/* Returns the record of a definition, or its faults. */
static const char *record_of(struct slice text)
{
    static char record[BODY_MAX];
    struct buffer out = {.data = record, .capacity = sizeof record, .max = sizeof record - 1};
    if (recurring_parse(ORDERS, text, NOW_MS, &recurring, &job, &errors) != STATUS_OK) {
        for (size_t i = 0; i < errors.count; i++)
            buffer_printf(&out, "%s%s: %s", i ? "; " : "", error_at(&errors, i).field,
                          error_at(&errors, i).detail);
        return buffer_text(&out);
    }
    recurring.created_ms = NOW_MS;
    recurring_write(&recurring, &job, &out);
    job_fini(&job);
    recurring_fini(&recurring);
    return buffer_text(&out);
}

#define CREATED "{\"createdAt\":1893456000000,"
#define JOB     "\"job\":{\"url\":\"http://h/\"}}"

START_TEST(writes_a_record)
{
    static const char *const cases[][2] = {
        {"{\"cron\":\"* * * * *\",\"job\":{}}", CREATED "\"cron\":\"* * * * *\",\"job\":{\"url\":\"\"}}"},
        {"{\"job\":{\"url\":\"http://h/\"},\"every\":\"1h30m\"}", CREATED "\"every\":5400," JOB},
        {"{\"job\":{\"url\":\"http://h/\"},\"every\":1.5,\"startAt\":\"2030-01-01T01:00:00+01:00\",\"endAt\":"
         "\"2031-01-01T00:00:00Z\",\"jitter\":\"10s\",\"grace\":120,\"misfire\":\"all\",\"overlap\":\"skip\","
         "\"paused\":true,\"expectBy\":\"10m\",\"timezone\":\"UTC\"}",
         CREATED "\"every\":1.5,\"timezone\":\"UTC\",\"startAt\":\"2030-01-01T00:00:00.000Z\",\"endAt\":"
                 "\"2031-01-01T00:00:00.000Z\",\"jitter\":10,\"grace\":120,\"misfire\":\"all\",\"overlap\":"
                 "\"skip\",\"expectBy\":600,\"paused\":true," JOB},
        {"{\"cron\":\"@daily\",\"timezone\":null,\"every\":null,\"misfire\":null,\"job\":{\"body\":{\"a\" : "
         "1.10}"
         ",\"ttl\":60,\"topic\":null,\"headers\":{\"X-A\":\"\\u0041\"},\"retrySchedule\":[1,\"1m\"]}}",
         CREATED "\"cron\":\"@daily\",\"job\":{\"url\":\"\",\"ttl\":60,\"retrySchedule\":[1,60],\"headers\":"
                 "{\"X-A\":\"A\"},\"body\":{\"a\" : 1.10}}}"},
        {"{\"cron\":\"\\u0040daily\",\"job\":{}}", CREATED "\"cron\":\"@daily\",\"job\":{\"url\":\"\"}}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(record_of(slice_of(cases[i][0])), cases[i][1]);
}
END_TEST

START_TEST(names_what_is_wrong)
{
    static const char *const cases[][2] = {
        {"", ": is empty: a JSON object is required"},
        {"[]", ": must be an object"},
        {"{\"job\":{}}", "cron: is required if every is absent"},
        {"{\"cron\":\"* * * * *\"}", "job: is required"},
        {"{\"cron\":\"* * * * *\",\"every\":5,\"job\":{}}", "every: cannot be combined with cron"},
        {"{\"cron\":\"61 * * * *\",\"job\":{}}", "cron: minute: found '61'; allowed are 0 to 59"},
        {"{\"cron\":5,\"job\":{}}", "cron: must be a string"},
        {"{\"every\":0.5,\"job\":{}}", "every: must be 1 to 315360000 seconds"},
        {"{\"every\":\"11 years\",\"job\":{}}",
         "every: must be a duration such as \"15m\" or \"1h30m\"; units: ms, s, m, h, d"},
        {"{\"every\":1,\"timezone\":\"../UTC\",\"job\":{}}",
         "timezone: must be a name of the IANA time zone database, such as Europe/Berlin"},
        {"{\"every\":1,\"windows\":[],\"job\":{}}", "windows: must be an array of 1 to 16 windows"},
        {"{\"every\":1,\"windows\":[{\"from\":\"09:00\",\"to\":\"10:00\",\"timezone\":\"UTC\"}],\"job\":{}}",
         "windows: must have no timezone: they are in the timezone of the schedule"},
        {"{\"every\":1,\"startAt\":\"2030-01-02T00:00:00Z\",\"endAt\":\"2030-01-01T00:00:00Z\",\"job\":{}}",
         "endAt: must not be before startAt"},
        {"{\"every\":1,\"startAt\":\"soon\",\"job\":{}}",
         "startAt: must be a time as in RFC 3339, such as 2030-01-01T00:00:00Z"},
        {"{\"every\":1,\"jitter\":86401,\"job\":{}}", "jitter: must be 0 to 86400 seconds"},
        {"{\"every\":1,\"grace\":0,\"job\":{}}", "grace: must be 1 to 315360000 seconds"},
        {"{\"every\":1,\"misfire\":\"twice\",\"job\":{}}", "misfire: must be one, skip or all"},
        {"{\"every\":1,\"overlap\":\"\",\"job\":{}}", "overlap: must be allow or skip"},
        {"{\"every\":1,\"expectBy\":0.5,\"job\":{}}", "expectBy: must be 1 to 315360000 seconds"},
        {"{\"every\":1,\"paused\":1,\"job\":{}}", "paused: must be true or false"},
        {"{\"every\":1,\"job\":[]}", "job: must be an object: a job without topic, jobId, delay and dueAt"},
        {"{\"every\":1,\"job\":null}", "job: must be an object: a job without topic, jobId, delay and dueAt"},
        {"{\"every\":1,\"job\":{\"delay\":1}}", "job.delay: cannot be set in a schedule's job"},
        {"{\"every\":1,\"job\":{\"topic\":\"orders\"}}", "job.topic: cannot be set in a schedule's job"},
        {"{\"every\":1,\"job\":{\"jobId\":\"a\"}}", "job.jobId: cannot be set in a schedule's job"},
        {"{\"every\":1,\"job\":{\"expiresAt\":\"2031-01-01T00:00:00Z\"}}",
         "job.expiresAt: cannot be set in a schedule's job"},
        {"{\"every\":1,\"job\":{\"url\":\"ftp://h/\",\"retry\":-1}}",
         "job.url: must begin with http:// or https://; job.retry: must be an integer from 0 to 100"},
        {"{\"every\":1,\"job\":{\"urll\":1}}", "job.urll: unknown field; did you mean url?"},
        {"{\"evry\":1,\"job\":{}}",
         "evry: unknown field; did you mean every?; cron: is required if every is absent"},
        {"{\"every\":1,\"createdAt\":5,\"job\":{}}", "createdAt: unknown field"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(record_of(slice_of(cases[i][0])), cases[i][1]);
}
END_TEST

/* ---- records ---- */

/* Reads a record, writes it again, and returns the text. */
static const char *rewritten(const char *record)
{
    static char text[BODY_MAX];
    struct buffer out = {.data = text, .capacity = sizeof text, .max = sizeof text - 1};
    if (recurring_read(slice_of(record), &recurring) != STATUS_OK)
        return "unreadable";
    if (recurring.lacks.size)
        buffer_printf(&out, "lacks %.*s", SLICE_ARG(recurring.lacks));
    else if (recurring_read_job(&recurring, ORDERS, &job) != STATUS_OK)
        buffer_append(&out, SLICE("unreadable job"));
    else if (job.lacks.size)
        buffer_printf(&out, "job lacks %.*s", SLICE_ARG(job.lacks));
    else
        recurring_write(&recurring, &job, &out);
    if (recurring.job.size)
        job_fini(&job);
    recurring_fini(&recurring);
    return buffer_text(&out);
}

START_TEST(reads_records_of_any_version)
{
    static const char *const cases[][2] = {
        {CREATED "\"every\":5400," JOB, NULL},
        {CREATED "\"cron\":\"0 5 * * *\",\"timezone\":\"Asia/Kolkata\",\"paused\":true," JOB, NULL},
        {CREATED "\"every\":60,\"color\":[1.10],\"job\":{\"url\":\"\",\"taste\":{},\"body\":{\"a\" : 1}}}",
         NULL},
        {CREATED "\"color\":1,\"every\":60," JOB, CREATED "\"every\":60,\"color\":1," JOB},
        {CREATED "\"every\":\"tomorrow\",\"needs\":[\"calendars\"]," JOB, "lacks calendars"},
        {CREATED "\"every\":60,\"needs\":[\"calendars\"]," JOB, "lacks calendars"},
        {CREATED "\"every\":60,\"job\":{\"url\":\"\",\"needs\":[\"magic\"],\"retry\":\"often\"}}",
         "job lacks magic"},
        {CREATED "\"every\":60,\"job\":{\"url\":\"\",\"retry\":\"often\"}}", "unreadable job"},
        {CREATED JOB, "unreadable"},
        {CREATED "\"every\":60,\"cron\":\"* * * * *\"," JOB, "unreadable"},
        {CREATED "\"every\":0.5," JOB, "unreadable"},
        {CREATED "\"cron\":\"* * *\"," JOB, "unreadable"},
        {CREATED "\"every\":60,\"timezone\":\"../x\"," JOB, "unreadable"},
        {CREATED "\"every\":60,\"job\":[]}", "unreadable"},
        {CREATED "\"every\":60}", "unreadable"},
        {"{\"every\":60," JOB, "unreadable"},
        {"[]", "unreadable"},
        {"", "unreadable"},
        {CREATED "\"every\":60," JOB "x", "unreadable"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(rewritten(cases[i][0]), cases[i][1] ? cases[i][1] : cases[i][0]);
}
END_TEST

START_TEST(the_job_becomes_the_record_of_an_occurrence)
{
    static const char text[] =
        CREATED "\"every\":60,\"job\":{\"url\":\"http://h/\",\"taste\":1,\"body\":[1]}}";
    struct job occurrence;
    struct buffer record, scratch;
    buffer_init(&record, 1000);
    buffer_init(&scratch, 1000);
    ck_assert_int_eq(recurring_read(slice_of(text), &recurring), STATUS_OK);
    struct slice rest = recurring_job_record(&recurring, SLICE("orders/a"), &scratch);
    ck_assert(slice_equal(
        rest, SLICE("\"head\":\"1 0 0 0 - 29 \",\"url\":\"http://h/\",\"taste\":1,\"body\":[1]}")));
    buffer_printf(&record, "{\"createdAt\":1893456000000,%.*s", SLICE_ARG(rest));
    ck_assert_int_eq(job_read(SLICE("orders/nightly~20300101T000000Z"), buffer_slice(&record), &occurrence),
                     STATUS_OK);
    ck_assert(slice_equal(occurrence.body, SLICE("[1]")));
    buffer_fini(&scratch);
    job_fini(&occurrence);
    recurring_fini(&recurring);
    buffer_fini(&record);
}
END_TEST

/* ---- patches ---- */

static const char *patched(const char *record, const char *patch)
{
    static char text[BODY_MAX];
    struct buffer merged, out = {.data = text, .capacity = sizeof text, .max = sizeof text - 1};
    buffer_init(&merged, BODY_MAX);
    enum status status = recurring_patch(ORDERS, slice_of(record), slice_of(patch), NOW_MS, &merged,
                                         &recurring, &job, &errors);
    if (status == STATUS_OK) {
        recurring_write(&recurring, &job, &out);
        job_fini(&job);
        recurring_fini(&recurring);
    } else if (status == STATUS_INVALID) {
        for (size_t i = 0; i < errors.count; i++)
            buffer_printf(&out, "%s%s: %s", i ? "; " : "", error_at(&errors, i).field,
                          error_at(&errors, i).detail);
    } else {
        buffer_append(&out, status == STATUS_LACKING ? SLICE("lacking") : SLICE("unreadable"));
    }
    buffer_fini(&merged);
    return buffer_text(&out);
}

#define SECRET CREATED "\"every\":60,\"job\":{\"url\":\"http://h/\",\"headers\":{\"X-Key\":\"s\"}}}"
#define AGAIN  "must be sent again, or be null, because url changes to another scheme, host or port"

START_TEST(merges_a_patch)
{
    static const char *const cases[][3] = {
        {CREATED "\"every\":60," JOB, "{}", CREATED "\"every\":60," JOB},
        {CREATED "\"every\":60," JOB, "{\"paused\":true,\"jitter\":\"5s\"}",
         CREATED "\"every\":60,\"jitter\":5,\"paused\":true," JOB},
        {CREATED "\"every\":60,\"grace\":5,\"paused\":true," JOB, "{\"paused\":null,\"grace\":null}",
         CREATED "\"every\":60," JOB},
        {CREATED "\"every\":60," JOB, "{\"cron\":\"@daily\"}", CREATED "\"cron\":\"@daily\"," JOB},
        {CREATED "\"cron\":\"@daily\"," JOB, "{\"every\":60}", CREATED "\"every\":60," JOB},
        {CREATED "\"every\":60," JOB, "{\"every\":null}", "cron: is required if every is absent"},
        {CREATED "\"every\":60," JOB, "{\"job\":null}", "job: is required"},
        {CREATED "\"every\":60," JOB, "{\"job\":[]}",
         "job: must be an object: a job without topic, jobId, delay and dueAt"},
        {CREATED "\"every\":60," JOB, "{\"job\":{\"retry\":2,\"body\":{\"a\":null}}}",
         CREATED "\"every\":60,\"job\":{\"url\":\"http://h/\",\"retry\":2,\"body\":{\"a\":null}}}"},
        {CREATED "\"every\":60,\"job\":{\"url\":\"http://h/\",\"ttl\":5,\"body\":{\"a\":1}}}",
         "{\"job\":{\"url\":null,\"ttl\":null,\"body\":{\"b\":1}}}",
         CREATED "\"every\":60,\"job\":{\"url\":\"\",\"body\":{\"b\":1}}}"},
        {CREATED "\"every\":60,\"job\":{\"url\":\"\"}}", "{\"paused\":true}",
         CREATED "\"every\":60,\"paused\":true,\"job\":{\"url\":\"\"}}"},
        {SECRET, "{\"job\":{\"headers\":{\"x-key\":\"t\",\"X-B\":\"b\"}}}",
         CREATED "\"every\":60,\"job\":{\"url\":\"http://h/\",\"headers\":{\"x-key\":\"t\",\"X-B\":\"b\"}}}"},
        {SECRET, "{\"job\":{\"url\":\"http://h/x\"}}",
         CREATED "\"every\":60,\"job\":{\"url\":\"http://h/x\",\"headers\":{\"X-Key\":\"s\"}}}"},
        {SECRET, "{\"job\":{\"url\":\"http://evil/\"}}", "job.headers: " AGAIN},
        {SECRET, "{\"job\":{\"url\":\"http://evil/\",\"headers\":null}}",
         CREATED "\"every\":60,\"job\":{\"url\":\"http://evil/\"}}"},
        {CREATED "\"every\":60,\"color\":1,\"job\":{\"url\":\"\",\"taste\":1}}",
         "{\"paused\":true,\"job\":{\"retry\":1}}",
         CREATED "\"every\":60,\"paused\":true,\"color\":1,\"job\":{\"url\":\"\",\"retry\":1,\"taste\":1}}"},
        {CREATED "\"every\":60," JOB,
         "{\"job\":{\"delay\":5,\"topic\":\"x\",\"rety\":1},\"grace\":0,\"x\":1}",
         "x: unknown field; job.topic: cannot be changed; job.rety: unknown field; did you mean retry?; "
         "grace: "
         "must be 1 to 315360000 seconds; job.delay: cannot be set in a schedule's job"},
        {CREATED "\"every\":60," JOB, "[", ": ends too early, at byte 1"},
        {CREATED "\"every\":60,\"needs\":[\"x\"]," JOB, "{}", "lacking"},
        {CREATED "\"every\":60,\"job\":{\"url\":\"\",\"needs\":[\"x\"]}}", "{}", "lacking"},
        {CREATED "\"every\":60,\"job\":{\"url\":5}}", "{}", "unreadable"},
        {"{}", "{}", "unreadable"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(patched(cases[i][0], cases[i][1]), cases[i][2]);
}
END_TEST

/* ---- definitions as clients see them, and other functions ---- */

static const char *shown(const char *record)
{
    static char text[BODY_MAX];
    struct buffer out = {.data = text, .capacity = sizeof text, .max = sizeof text - 1};
    struct json_writer json = json_writer_to(&out);
    ck_assert_int_eq(recurring_read(slice_of(record), &recurring), STATUS_OK);
    ck_assert_int_eq(recurring_read_job(&recurring, ORDERS, &job), STATUS_OK);
    recurring_show(&recurring, &job, &json);
    job_fini(&job);
    recurring_fini(&recurring);
    return buffer_text(&out);
}

START_TEST(shows_defaults_and_no_secrets)
{
    ck_assert_str_eq(
        shown(CREATED "\"cron\":\"@daily\",\"job\":{\"url\":\"http://h/?secret\",\"headers\":"
                      "{\"X-Key\":\"s\"},\"body\":1}}"),
        "\"cron\":\"@daily\",\"timezone\":\"UTC\",\"jitter\":0,\"grace\":60,\"misfire\":\"one\","
        "\"overlap\":\"allow\",\"paused\":false,\"createdAt\":\"2030-01-01T00:00:00.000Z\",\"job\":"
        "{\"url\":\"http://h/?***\",\"headers\":{\"X-Key\":\"***\"},\"body\":1}");
    ck_assert_str_eq(
        shown(CREATED
              "\"every\":60,\"startAt\":\"2030-01-01T00:00:00Z\",\"endAt\":"
              "\"2031-01-01T00:00:00Z\",\"jitter\":1,\"grace\":2,\"misfire\":\"skip\","
              "\"overlap\":\"skip\",\"expectBy\":600,\"paused\":true,\"job\":{\"url\":\"\",\"retry\":1}}"),
        "\"every\":60,\"startAt\":\"2030-01-01T00:00:00.000Z\",\"endAt\":\"2031-01-01T00:00:00.000Z\""
        ",\"jitter\":1,\"grace\":2,\"misfire\":\"skip\",\"overlap\":\"skip\",\"expectBy\":600,\"paused\":"
        "true,"
        "\"createdAt\":\"2030-01-01T00:00:00.000Z\",\"job\":{\"retry\":1}");
}
END_TEST

START_TEST(makes_a_recurrence)
{
    struct recurrence recurrence;
    ck_assert_int_eq(
        recurring_read(SLICE(CREATED "\"every\":60,\"misfire\":\"all\",\"grace\":5,\"jitter\":7," JOB),
                       &recurring),
        STATUS_OK);
    recurring_recurrence(&recurring, SLICE("orders/a"), time_zone_utc(), &recurrence);
    ck_assert_int_eq(recurrence_next_ms(&recurrence, 0), NOW_MS + 60000);
    ck_assert(recurrence.misfire == MISFIRE_ALL && recurrence.grace_ms == 5000 &&
              recurrence.jitter_ms == 7000);
    ck_assert(recurrence.seed == recurrence_seed(SLICE("orders/a")));
    recurring_fini(&recurring);
    ck_assert_int_eq(recurring_read(SLICE(CREATED "\"cron\":\"@daily\",\"startAt\":\"2040-01-01T00:00:00Z\","
                                                  "\"endAt\":\"2040-01-01T12:00:00Z\"," JOB),
                                    &recurring),
                     STATUS_OK);
    recurring_recurrence(&recurring, SLICE("orders/a"), time_zone_utc(), &recurrence);
    int64_t first_ms = recurrence_next_ms(&recurrence, NOW_MS);
    ck_assert_int_eq(first_ms, INT64_C(2208988800000));
    ck_assert_int_eq(recurrence_next_ms(&recurrence, first_ms), RECURRENCE_NEVER_MS);
    ck_assert(recurring_misfire(&recurring) == MISFIRE_ONE && recurring_overlap(&recurring) == OVERLAP_ALLOW);
    ck_assert_int_eq(recurrence.grace_ms, 60000);
    recurring_fini(&recurring);
}
END_TEST

static void check_id(int64_t time_ms, const char *expected)
{
    struct buffer out;
    buffer_init(&out, JOB_ID_MAX);
    recurring_occurrence_id(SLICE("nightly"), time_ms, &out);
    ck_assert_str_eq(buffer_text(&out), expected);
    buffer_fini(&out);
}

START_TEST(names_occurrences)
{
    char longest[RECURRING_ID_MAX + 1];
    struct buffer out;
    check_id(INT64_C(1795385880000), "nightly~20261122T221800Z");
    check_id(INT64_C(1795385880500), "nightly~20261122T221800.500Z");
    memset(longest, 'a', sizeof longest);
    ck_assert(recurring_id_is_valid(slice_from(longest, RECURRING_ID_MAX)));
    ck_assert(!recurring_id_is_valid(slice_from(longest, RECURRING_ID_MAX + 1)));
    ck_assert(!recurring_id_is_valid(SLICE("")) && !recurring_id_is_valid(SLICE("..")));
    buffer_init(&out, 1000);
    recurring_occurrence_id(slice_from(longest, RECURRING_ID_MAX), 1, &out);
    ck_assert_uint_eq(out.size, JOB_ID_MAX);
    buffer_fini(&out);
}
END_TEST

/* Writes and reads a definition whose "into" is set. Checks the text with which the ids of its occurrences
 * begin. */
static void check_base(const char *into, const char *expected)
{
    struct recurring read;
    struct buffer record;
    ck_assert_int_eq(recurring_parse(SLICE("t~s"),
                                     SLICE("{\"cron\":\"* * * * *\",\"job\":{\"url\":\"http://h/\"}}"), 1,
                                     &recurring, &job, &errors),
                     STATUS_OK);
    recurring.created_ms = 1;
    recurring.into = slice_of(into);
    recurring.delay_ms = 90000;
    buffer_init(&record, JOB_RECORD_MAX);
    recurring_write(&recurring, &job, &record);
    ck_assert(strstr(buffer_text(&record), "\"needs\":[\"occurrences\"]"));
    ck_assert_int_eq(recurring_read(buffer_slice(&record), &read), STATUS_OK);
    ck_assert_int_eq(read.delay_ms, 90000);
    ck_assert(slice_equal(recurring_base(&read, SLICE("t~s/nightly")), slice_of(expected)));
    recurring_fini(&read);
    job_fini(&job);
    recurring_fini(&recurring);
    buffer_fini(&record);
}

START_TEST(occurrences_may_be_jobs_of_a_sibling_topic)
{
    check_base("", "t~s/nightly");
    check_base("t~queue.q/msg_1", "t~queue.q/msg_1");
    check_base("t/1", "t/1");
    check_base("u~queue.q/msg_1", "");
    check_base("no id", "");
}
END_TEST

START_TEST(tags_are_sha1)
{
    char tag[RECURRING_TAG_SIZE];
    recurring_tag(SLICE("abc"), tag);
    ck_assert_str_eq(tag, "a9993e364706816aba3e25717850c26c9cd0d89d");
}
END_TEST

Suite *suite(void)
{
    Suite *all = suite_create("recurring");
    TCase *tests = tcase_create("recurring");
    tcase_add_test(tests, writes_a_record);
    tcase_add_test(tests, names_what_is_wrong);
    tcase_add_test(tests, reads_records_of_any_version);
    tcase_add_test(tests, the_job_becomes_the_record_of_an_occurrence);
    tcase_add_test(tests, merges_a_patch);
    tcase_add_test(tests, shows_defaults_and_no_secrets);
    tcase_add_test(tests, makes_a_recurrence);
    tcase_add_test(tests, names_occurrences);
    tcase_add_test(tests, occurrences_may_be_jobs_of_a_sibling_topic);
    tcase_add_test(tests, tags_are_sha1);
    suite_add_tcase(all, tests);
    return all;
}

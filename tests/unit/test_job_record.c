#include "support/errors.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "job/job.h"
#include "support/without_head.h"

static struct job job, again;
static struct job_errors errors;
static struct buffer record;

static void set_up(void)
{
    buffer_init(&record, 1 << 20);
}

static void tear_down(void)
{
    buffer_fini(&record);
}

static void parse(const char *json)
{
    ck_assert_msg(job_parse(slice_of(json), 0, &job, &errors) == STATUS_OK, "%s: %s",
                  error_at(&errors, 0).field, error_at(&errors, 0).detail);
}

/* Reads record, with the id of job. */
static enum status read_own(void)
{
    static char id[JOB_KEY_MAX + 1];
    int size = snprintf(id, sizeof id, "%.*s/%.*s", SLICE_ARG(job.topic), SLICE_ARG(job.job_id));
    return job_read(slice_from(id, (size_t)size), buffer_slice(&record), &again);
}

START_TEST(writes_members_in_their_order)
{
    parse("{\"body\":{ \"a\" : 1.10 },\"headers\":{\"X-B\":\"a\\\"b\\\\\",\"X-A\":\"\"},\"timeout\":0.1,"
          "\"retrySchedule\":[1.5,60,0.001],\"retry\":3,\"ttl\":3.50,\"delay\":2.50,\"url\":\"http://h/"
          "\",\"topic\":\"t\",\"jobId\":\"i\"}");
    job_write(&job, &record);
    ck_assert_str_eq(
        buffer_text(&record),
        "\"head\":\"1 +3500 0 0 - 132 \",\"url\":\"http://h/\",\"delay\":2.5,\"ttl\":3.5,\"retry\":3,"
        "\"retrySchedule\":[1.5,60,0.001],\"timeout\":0.1,"
        "\"headers\":{\"X-B\":\"a\\\"b\\\\\",\"X-A\":\"\"},\"body\":{ \"a\" : 1.10 }}");
    job_fini(&job);
}
END_TEST

START_TEST(writes_what_is_kept_with_a_job)
{
    parse("{\"url\":\"http://h/"
          "\",\"topic\":\"t\",\"jobId\":\"i\",\"dueAt\":\"1975-01-01T01:00:00+01:00\",\"body\":null,"
          "\"expiresAt\":\"1976-01-01T01:00:00+01:00\"}");
    job.created_ms = 1700000000000;
    job.attempts = 2;
    job.last_attempt = (struct attempt_result){
        .at_ms = 1700000000123, .duration_ms = 45, .status = 503, .error = FAILURE_NONE};
    job.wait_ms = 15000;
    job_write(&job, &record);
    ck_assert_str_eq(
        without_head(buffer_text(&record)),
        "{\"createdAt\":1700000000000,\"url\":\"http://h/\","
        "\"dueAt\":\"1975-01-01T00:00:00.000Z\",\"expiresAt\":\"1976-01-01T00:00:00.000Z\",\"attempts\":2,"
        "\"lastAttempt\":{\"at\":1700000000123,\"durationMs\":45,\"status\":503},\"waitMs\":15000,\"body\":"
        "null}");
    buffer_clear(&record);
    job.wait_ms = 0;
    job.last_attempt = (struct attempt_result){.at_ms = 1700000000123,
                                               .duration_ms = 0,
                                               .error = FAILURE_TARGET_REFUSED,
                                               .detail = SLICE("leads to ::1")};
    job.reason = SLICE("target_refused");
    job.body.size = 0;
    job_write(&job, &record);
    ck_assert_str_eq(without_head(buffer_text(&record)),
                     "{\"createdAt\":1700000000000,\"url\":\"http://h/\","
                     "\"dueAt\":\"1975-01-01T00:00:00.000Z\","
                     "\"expiresAt\":\"1976-01-01T00:00:00.000Z\",\"attempts\":2,"
                     "\"lastAttempt\":{\"at\":1700000000123,\"durationMs\":0,\"error\":"
                     "\"target_refused\",\"errorDetail\":\"leads to ::1\"},"
                     "\"reason\":\"target_refused\"}");
    job_fini(&job);
}
END_TEST

START_TEST(reads_what_the_schedule_script_completed)
{
    parse("{\"url\":\"http://h/\",\"topic\":\"t\",\"jobId\":\"i\",\"body\":\"x\"}");
    buffer_append(&record, SLICE("{\"createdAt\":5,"));
    job_write(&job, &record);
    ck_assert_int_eq(read_own(), STATUS_OK);
    ck_assert(job_is_same(&job, &again));
    ck_assert_int_eq(again.created_ms, 5);
    ck_assert_int_eq(again.timeout_ms, JOB_TIMEOUT_MS);

    struct buffer rewritten;
    buffer_init(&rewritten, 1 << 20);
    job_write(&again, &rewritten);
    ck_assert(slice_equal(buffer_slice(&rewritten), buffer_slice(&record)));
    buffer_fini(&rewritten);
    job_fini(&again);
    job_fini(&job);
}
END_TEST

/* ---- the head ---- */

/* The size in the head ends where the body begins, or where the record ends. */
START_TEST(writes_a_head_for_scripts)
{
    static const struct {
        const char *json, *head, *rest;
    } cases[] = {
        {"", "0 0 0 - 19", ""},
        {",\"body\":{\"a\":1}", "0 0 0 - 19", ",\"body\":{\"a\":1}"},
        {",\"bodyBase64\":\"AA==\"", "0 0 0 - 42", ",\"bodyBase64\":\"AA==\""},
        {",\"ttl\":90,\"body\":1", "+90000 0 0 - 28", ",\"body\":1"},
        {",\"expiresAt\":\"1976-01-01T00:00:00Z\"", "189302400000 0 0 - 58", ""},
        {",\"labels\":[\"a\"],\"onDelivered\":\"http://d/\"", "0 0 0 cl 82", ""},
        {",\"onAttempt\":\"http://d/\"", "0 0 0 c 65", ""},
        {",\"onDead\":\"http://d/\"", "0 0 0 - 62", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[300], head[100];
        snprintf(json, sizeof json, "{\"url\":\"http://h/\",\"topic\":\"t\",\"jobId\":\"i\"%s}",
                 cases[i].json);
        snprintf(head, sizeof head, "\"head\":\"1 %s \",\"url\":", cases[i].head);
        parse(json);
        buffer_clear(&record);
        job_write(&job, &record);
        const char *text = buffer_text(&record);
        ck_assert_msg(strncmp(text, head, strlen(head)) == 0, "%s instead of %s", text, head);
        size_t size = (size_t)atoi(strrchr(cases[i].head, ' ') + 1);
        const char *end = strstr(text, " \",") + 1 + size;
        ck_assert_msg(strncmp(end, cases[i].rest, strlen(cases[i].rest)) == 0, "%s", text);
        ck_assert_str_eq(end + strlen(cases[i].rest), "}");
        job_fini(&job);
    }
}
END_TEST

/* The first flag of a job with a key or a priority is k. The size counts from the key. */
START_TEST(a_head_has_key_and_priority)
{
    static char longest[LANE_KEY_MAX + 1], escaped[2 * LANE_KEY_MAX + 1];
    static const struct {
        const char *members, *head, *key;
    } cases[] = {
        {"\"key\":\"c1\"", "0 0 5 k 32", "c1"},
        {"\"priority\":9", "0 0 9 k 32", ""},
        {"\"priority\":0", "0 0 0 k 32", ""},
        {"\"priority\":5", "0 0 0 - 19", ""},
        {"\"key\":\"c1\",\"priority\":7,\"labels\":[\"a\"]", "0 0 7 kl 60", "c1"},
        {"\"key\":\"c1\",\"ttl\":90", "+90000 0 5 k 41", "c1"},
        {"\"key\":\"a \\\"b\\\" \\\\\"", "0 0 5 k 48", "a \\\"b\\\" \\\\"},
        {"\"key\":\"\\u0022\\/\\u00e9\\ud83d\\ude00 k\"", "0 0 5 k 50", "\\\"/\xc3\xa9\xf0\x9f\x98\x80 k"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[300], head[300];
        snprintf(json, sizeof json, "{\"url\":\"http://h/\",\"topic\":\"t\",\"jobId\":\"i\",%s}",
                 cases[i].members);
        parse(json);
        buffer_clear(&record);
        job_write(&job, &record);
        int size = snprintf(head, sizeof head, "\"head\":\"1 %s ", cases[i].head);
        ck_assert_msg(strncmp(buffer_text(&record), head, (size_t)size) == 0, "%s", buffer_text(&record));
        const char *key = buffer_text(&record) + size;
        snprintf(head, sizeof head, "%s\",\"url\":", cases[i].key);
        ck_assert_msg(strncmp(key, head, strlen(head)) == 0, "%s instead of %s", key, head);
        ck_assert_str_eq(key + atoi(strrchr(cases[i].head, ' ') + 1), "}");
        job_fini(&job);
    }
    memset(longest, '"', LANE_KEY_MAX);
    for (size_t i = 0; i < sizeof escaped - 1; i += 2)
        memcpy(escaped + i, "\\\"", 2);
    job = (struct job){.topic = SLICE("t"),
                       .job_id = SLICE("i"),
                       .url = SLICE("http://h/"),
                       .key = slice_from(longest, LANE_KEY_MAX),
                       .created_ms = INT64_C(253402300799999),
                       .has_expires_at = true,
                       .expires_at_ms = INT64_C(253402300799999)};
    buffer_clear(&record);
    job_write(&job, &record);
    ck_assert_ptr_nonnull(strstr(buffer_text(&record), escaped));
    ck_assert_int_eq(read_own(), STATUS_OK);
    ck_assert(slice_equal(again.key, job.key));
    job_fini(&again);
}
END_TEST

/* Scripts complete the record of a new job; C computes the same text. */
START_TEST(completes_the_record_as_a_script_does)
{
    static const char free_bytes[JOB_OPENING_MAX];
    static const char *const cases[][2] = {
        {"\"ttl\":1.5", "{\"createdAt\":1700000000000,\"head\":\"1 1700000001500 0 0 - 29 \",\"url\":"},
        {"\"retry\":1", "{\"createdAt\":1700000000000,\"head\":\"1 0 0 0 - 29 \",\"url\":"},
        {"\"ttl\":1.5,\"key\":\"\\\"\"",
         "{\"createdAt\":1700000000000,\"head\":\"1 1700000001500 0 5 k 42 \\\"\",\"url\":"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[100];
        snprintf(json, sizeof json, "{\"url\":\"http://h/\",\"topic\":\"t\",\"jobId\":\"i\",%s}",
                 cases[i][0]);
        parse(json);
        buffer_clear(&record);
        buffer_append(&record, slice_from(free_bytes, sizeof free_bytes));
        job_write(&job, &record);
        struct slice whole = job_record_complete(&record, 1700000000000);
        ck_assert_msg(slice_starts_with(whole, slice_of(cases[i][1])), "%.*s", SLICE_ARG(whole));
        ck_assert_int_eq(job_read(SLICE("t/i"), whole, &again), STATUS_OK);
        ck_assert(job_is_same(&job, &again));
        buffer_clear(&record);
        job_write(&again, &record); /* with the time instead of the ttl */
        ck_assert(slice_starts_with(buffer_slice(&record), slice_of(cases[i][1])));
        job_fini(&again);
        job_fini(&job);
    }
}
END_TEST

/* An earlier version carries the head behind the other members when it changes the job. */
START_TEST(a_head_at_another_place_is_replaced)
{
    static const char old[] = "{\"createdAt\":1,\"url\":\"http://h/\",\"ttl\":5,\"attempts\":1,"
                              "\"head\":\"1 9 0 0 - 10 \",\"later\":2,\"body\":3}";
    ck_assert_int_eq(job_read(SLICE("t/i"), slice_of(old), &again), STATUS_OK);
    job_write(&again, &record);
    job_fini(&again);
    ck_assert_str_eq(buffer_text(&record),
                     "{\"createdAt\":1,\"head\":\"1 5001 0 0 - 50 \",\"url\":\"http://h/\","
                     "\"ttl\":5,\"attempts\":1,\"later\":2,\"body\":3}");
}
END_TEST

/* ---- random jobs ---- */

static uint64_t seed;

/* Returns a pseudorandom number less than below. Uses Knuth's MMIX generator, so that each run has the same
 * jobs. */
static uint64_t roll(uint64_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (seed >> 33) % below;
}

static struct slice random_text(char *room, size_t min, size_t max, const char *letters)
{
    size_t size = min + roll(max - min + 1), count = strlen(letters);
    for (size_t i = 0; i < size; i++)
        room[i] = letters[roll(count)];
    return slice_from(room, size);
}

#define NAME_LETTERS "abcXYZ019._-"

static char room[4][JOB_HEADER_BYTES_MAX];
static char header_room[JOB_HEADERS_MAX][2][200];

static void fill_headers(struct job *out)
{
    out->has_headers = roll(2);
    out->header_count = out->has_headers ? roll(JOB_HEADERS_MAX + 1) : 0;
    for (size_t i = 0; i < out->header_count; i++) {
        size_t size = (size_t)snprintf(header_room[i][0], sizeof header_room[i][0], "X-%zu", i);
        out->headers[i].name = slice_from(header_room[i][0], size);
        out->headers[i].value = random_text(header_room[i][1], 0, 150, "ab \t\"\\/{}[],:~");
    }
}

static void fill_times(struct job *out)
{
    out->has_delay = roll(2);
    out->delay_ms = out->has_delay ? (int64_t)roll(JOB_DELAY_MAX_MS + 1) : 0;
    out->has_due_at = !out->has_delay && roll(2);
    out->due_at_ms = out->has_due_at ? (int64_t)roll(1000) * INT64_C(253402300799) : 0;
    out->has_ttl = roll(2);
    out->ttl_ms = out->has_ttl ? 1 + (int64_t)roll(JOB_TTL_MAX_MS) : 0;
    out->has_expires_at = !out->has_ttl && roll(2);
    out->expires_at_ms = out->has_expires_at ? (int64_t)roll(1000) * INT64_C(253402300799) : 0;
    out->has_retry = roll(2);
    out->retry = out->has_retry ? (int)roll(JOB_RETRY_MAX + 1) : 0;
    out->has_schedule = roll(2);
    out->schedule.count = out->has_schedule ? roll(RETRY_SCHEDULE_MAX + 1) : 0;
    for (size_t i = 0; i < out->schedule.count; i++)
        out->schedule.wait_ms[i] = (int64_t)(roll(2) ? roll(JOB_WAIT_MAX_MS + 1) : roll(100000));
    out->has_timeout = roll(2);
    out->timeout_ms = out->has_timeout ? JOB_TIMEOUT_MIN_MS + (int64_t)roll(3000000) : JOB_TIMEOUT_MS;
}

/* Sets a JSON body, a base64 body, or no body. */
static void fill_body(struct job *out)
{
    static const char *const bodies[] = {"",     "null", "\"a\\u00e9\\\"}\"", "{ \"a\":[1.10,\"]\"] }", "1E2",
                                         "\"\"", "[ ]"};
    out->method = (enum job_method)roll(JOB_METHODS);
    if (!job_method_allows_body(out->method))
        return;
    out->body = slice_of(bodies[roll(sizeof bodies / sizeof *bodies)]);
    out->has_body_base64 = out->body.size == 0 && roll(2);
    if (out->has_body_base64)
        out->body_base64 = roll(2) ? SLICE("/w==") : SLICE("");
}

static void fill_labels(struct job *out)
{
    static const struct slice labels[] = {SLICE_INIT("a"), SLICE_INIT("\"\\"),
                                          SLICE_INIT("\xc3\xa9 \xf0\x9f\x98\x80"), SLICE_INIT("a,b")};
    out->labels.count = roll(5);
    for (size_t i = 0; i < out->labels.count; i++)
        out->labels.items[i] = labels[i];
}

static void fill_lane(struct job *out)
{
    static const struct slice keys[] = {SLICE_INIT(""), SLICE_INIT("c1"), SLICE_INIT("\"\\ \\\""),
                                        SLICE_INIT("\xc3\xa9 \xf0\x9f\x98\x80")};
    out->key = keys[roll(4)];
    out->priority = (int)roll(JOB_PRIORITY_MAX + 1);
    out->has_priority = out->priority != JOB_PRIORITY_DEFAULT;
}

static void fill(struct job *out)
{
    *out = (struct job){0};
    out->topic = random_text(room[0], 3, JOB_TOPIC_MAX, NAME_LETTERS);
    out->job_id = random_text(room[1], 3, JOB_ID_MAX, NAME_LETTERS "~:");
    out->url = random_text(room[2], 1, JOB_URL_MAX, "abc/?=&%\"{}");
    fill_times(out);
    fill_headers(out);
    fill_body(out);
    fill_labels(out);
    fill_lane(out);
    out->created_ms = 1 + (int64_t)roll(INT64_C(1) << 31);
    out->attempts = (int)roll(3);
    out->last_attempt = (struct attempt_result){
        .at_ms = (int64_t)roll(2) * 1700000000000, .duration_ms = 0, .error = FAILURE_NONE};
    if (out->last_attempt.at_ms) {
        out->last_attempt.duration_ms = (int64_t)roll(100000);
        out->wait_ms = (int64_t)roll(3) * 15000;
        out->last_attempt.error = (enum failure)roll(FAILURE_PROTOCOL + 1);
        out->last_attempt.status = out->last_attempt.error ? 0 : 100 + (int)roll(500);
    }
    out->reason = roll(2) ? random_text(room[3], 1, 50, "abc_") : SLICE("");
    out->answer_headers = out->reason.size ? SLICE("A: \"1\"\nB: 2\n") : SLICE("");
}

static bool same_attempt(const struct attempt_result *a, const struct attempt_result *b)
{
    return a->at_ms == b->at_ms && a->duration_ms == b->duration_ms && a->status == b->status &&
           a->error == b->error;
}

/* Compares all members. Headers must have the same order, and the records of both jobs must be the same. */
static void assert_equal(const struct job *a, const struct job *b)
{
    ck_assert(job_is_same(a, b));
    ck_assert(job_is_same(b, a));
    ck_assert_int_eq(a->created_ms, b->created_ms);
    ck_assert_int_eq(a->attempts, b->attempts);
    ck_assert_int_eq(job_priority(a), job_priority(b));
    ck_assert(same_attempt(&a->last_attempt, &b->last_attempt));
    ck_assert_int_eq(a->wait_ms, b->wait_ms);
    ck_assert(slice_equal(a->reason, b->reason));
    ck_assert(slice_equal(a->answer_headers, b->answer_headers));
}

START_TEST(reads_back_any_job)
{
    struct buffer rewritten;
    buffer_init(&rewritten, 1 << 20);
    for (seed = 1; seed < 2000; seed++) {
        uint64_t round = seed;
        fill(&job);
        buffer_clear(&record);
        job_write(&job, &record);
        ck_assert(!record.failed);
        ck_assert_msg(read_own() == STATUS_OK, "%s", buffer_text(&record));
        assert_equal(&job, &again);
        buffer_clear(&rewritten);
        job_write(&again, &rewritten);
        ck_assert(slice_equal(buffer_slice(&rewritten), buffer_slice(&record)));
        job_fini(&again);
        seed = round;
    }
    buffer_fini(&rewritten);
}
END_TEST

/* ---- records that another version of duepost wrote ---- */

static void check_rewrites(const char *text, const char *rewritten)
{
    buffer_clear(&record);
    ck_assert_msg(job_read(SLICE("t/i"), slice_of(text), &again) == STATUS_OK, "%s", text);
    job_write(&again, &record);
    ck_assert_str_eq(without_head(buffer_text(&record)), rewritten);
    job_fini(&again);
}

#define OTHERS "\"a\":[1,{\"url\":2}] , \"b\" :1.10,\"c\":\"\\u00e9\""

START_TEST(carries_members_that_it_does_not_know)
{
    check_rewrites("{\"createdAt\":1,\"url\":\"http://h/\"," OTHERS "}",
                   "{\"createdAt\":1,\"url\":\"http://h/\"," OTHERS "}");
    check_rewrites("{" OTHERS ",\"createdAt\":1,\"d\":null,\"url\":\"\",\"retry\":1,\"body\":2,\"e\":3}",
                   "{\"createdAt\":1,\"url\":\"\",\"retry\":1," OTHERS ",\"d\":null,\"e\":3,\"body\":2}");
    check_rewrites("{\"body\":1,\"delay\":2,\"url\":\"http://h/\",\"createdAt\":1}",
                   "{\"createdAt\":1,\"url\":\"http://h/\",\"delay\":2,\"body\":1}");
}
END_TEST

START_TEST(carries_as_many_as_there_are)
{
    struct buffer text;
    buffer_init(&text, 1 << 20);
    buffer_append(&text, SLICE("{\"createdAt\":1,\"url\":\"http://h/\""));
    for (int i = 0; i < 1000; i++)
        buffer_printf(&text, ",\"other%d\":%d", i, i);
    buffer_append(&text, SLICE("}"));
    check_rewrites(buffer_text(&text), buffer_text(&text));
    buffer_fini(&text);
}
END_TEST

/* A later version may have stored an attempt with an error word that this version does not know. */
START_TEST(carries_the_last_attempt_of_a_later_version)
{
    static const char text[] = "{\"createdAt\":1,\"url\":\"http://h/\",\"attempts\":1,"
                               "\"lastAttempt\":{\"at\":5,\"why\":[\"x\"],\"error\":\"of_a_later_version\"}}";
    check_rewrites(text, text);
    ck_assert_int_eq(again.last_attempt.error, FAILURE_OTHER);
    ck_assert_int_eq(job_read(SLICE("t/i"), slice_of(text), &again), STATUS_OK);
    again.last_attempt = (struct attempt_result){.at_ms = 7, .status = 500};
    buffer_clear(&record);
    job_write(&again, &record);
    ck_assert_str_eq(without_head(buffer_text(&record)),
                     "{\"createdAt\":1,\"url\":\"http://h/\",\"attempts\":1,"
                     "\"lastAttempt\":{\"at\":7,\"durationMs\":0,\"status\":500}}");
    job_fini(&again);
}
END_TEST

START_TEST(names_what_earlier_versions_must_not_ignore)
{
    check_rewrites(
        "{\"createdAt\":1,\"url\":\"http://h/\",\"method\":\"PUT\",\"needs\":[\"method\",\"bodyBase64\"],"
        "\"bodyBase64\":\"AA==\"}",
        "{\"createdAt\":1,\"url\":\"http://h/\",\"method\":\"PUT\",\"needs\":[\"method\",\"bodyBase64\"],"
        "\"bodyBase64\":\"AA==\"}");
    check_rewrites("{\"createdAt\":1,\"url\":\"http://h/\",\"method\":\"GET\",\"labels\":[\"a\"]}",
                   "{\"createdAt\":1,\"url\":\"http://h/"
                   "\",\"method\":\"GET\",\"labels\":[\"a\"],\"needs\":[\"method\"]}");
    check_rewrites(
        "{\"createdAt\":1,\"url\":\"http://h/\",\"onDelivered\":\"http://d/\",\"onAttempt\":{\"url\": "
        "\"http://a/\"},\"needs\":[\"callbacks\"],\"body\":1}",
        "{\"createdAt\":1,\"url\":\"http://h/\",\"onDelivered\":\"http://d/\",\"onAttempt\":{\"url\": "
        "\"http://a/\"},\"needs\":[\"callbacks\"],\"body\":1}");
    check_rewrites("{\"createdAt\":1,\"url\":\"http://h/\",\"form\":\"f\",\"workflow\":\"w 1\"}",
                   "{\"createdAt\":1,\"url\":\"http://h/\",\"form\":\"f\",\"workflow\":\"w 1\","
                   "\"needs\":[\"form\",\"workflow\"]}");
    check_rewrites("{\"createdAt\":1,\"url\":\"http://h/\",\"bodyBase64\":\"\",\"needs\":[]}",
                   "{\"createdAt\":1,\"url\":\"http://h/\",\"needs\":[\"bodyBase64\"],\"bodyBase64\":\"\"}");
}
END_TEST

START_TEST(tells_what_it_lacks)
{
    static const char text[] =
        "{\"createdAt\":1,\"url\":\"http://h/\",\"method\":\"PUT\",\"needs\":[\"shape\",\"more\"]}";
    ck_assert_int_eq(job_read(SLICE("t/i"), slice_of(text), &again), STATUS_OK);
    ck_assert(slice_equal(again.lacks, SLICE("shape")));
    ck_assert(!job_is_same(&again, &again));
    job_fini(&again);
    check_rewrites(text, text);
    ck_assert_int_eq(job_read(SLICE("t/no id of ours"),
                              SLICE("{\"url\":[\"http://h/\"],\"needs\":[\"many\"],\"retry\":\"ever\"}"),
                              &again),
                     STATUS_OK);
    ck_assert(slice_equal(again.lacks, SLICE("many")));
    job_fini(&again);
    ck_assert_int_eq(job_read(SLICE("t/i"), SLICE("{\"url\":1,\"needs\":[]}"), &again), STATUS_INVALID);
    check_rewrites("{\"createdAt\":1,\"url\":\"http://h/\",\"needs\":[]}",
                   "{\"createdAt\":1,\"url\":\"http://h/\"}");
}
END_TEST

/* ---- records that duepost did not write ---- */

#define HEAD "{\"createdAt\":1,\"url\":\"http://h/\""

START_TEST(refuses_foreign_records)
{
    static const char *const cases[] = {
        "",
        "x",
        "[]",
        "null",
        "\"a\"",
        "{",
        "{}",
        "[1]",
        "{\"createdAt\":1}",
        "{\"createdAt\":0,\"url\":\"http://h/\"}",
        "{\"url\":\"http://h/\"}",
        "{\"createdAt\":253402300800000,\"url\":\"http://h/\"}",
        "{\"createdAt\":-1,\"url\":\"http://h/\"}",
        "{\"createdAt\":1,\"url\":null}",
        HEAD,
        HEAD " ",
        HEAD "}}",
        HEAD "} ",
        HEAD "]",
        HEAD ",}",
        HEAD ",\"body\"}",
        HEAD ",\"body\":}",
        HEAD ",\"body\":[}",
        HEAD ",\"url\":\"http://h/\"}",
        HEAD ",\"key\":\"\"}",
        HEAD ",\"key\":\"a\\nb\"}",
        HEAD ",\"key\":1}",
        HEAD ",\"priority\":10}",
        HEAD ",\"priority\":\"1\"}",
        HEAD ",\"delay\":\"1\"}",
        HEAD ",\"delay\":-1}",
        HEAD ",\"delay\":315360001}",
        HEAD ",\"dueAt\":1}",
        HEAD ",\"dueAt\":\"soon\"}",
        HEAD ",\"dueAt\":\"}",
        HEAD ",\"ttl\":-1}",
        HEAD ",\"ttl\":315360001}",
        HEAD ",\"expiresAt\":1}",
        HEAD ",\"expiresAt\":\"soon\"}",
        HEAD ",\"retry\":101}",
        HEAD ",\"retry\":1.5}",
        HEAD ",\"retrySchedule\":1}",
        HEAD ",\"retrySchedule\":{}}",
        HEAD ",\"retrySchedule\":[1,\"a\"]}",
        HEAD ",\"retrySchedule\":[1 2]}",
        HEAD ",\"retryWait\":\"soon\"}",
        HEAD ",\"timeout\":3601}",
        HEAD ",\"headers\":[]}",
        HEAD ",\"headers\":1}",
        HEAD ",\"headers\":{\"a\":1}}",
        HEAD ",\"headers\":{1:\"a\"}}",
        HEAD ",\"headers\":{\"\\x\":\"a\"}}",
        HEAD ",\"attempts\":-1}",
        HEAD ",\"attempts\":1000000001}",
        HEAD ",\"headers\":{\"a\":\"b\\r\\nc: d\"}}",
        HEAD ",\"headers\":{\"a b\":\"\"}}",
        HEAD ",\"headers\":{\"Content-Length\":\"1\"}}",
        HEAD ",\"traceparent\":\"00-00000000000000000000000000000000-0000000000000000-00\"}",
        HEAD ",\"tracestate\":\"a=b\\r\\nc: d\"}",
        HEAD ",\"needs\":\"other\"}",
        HEAD ",\"needs\":[1]}",
        HEAD ",\"needs\":[\"\"]}",
        HEAD ",\"needs\":[\"a\"}",
        HEAD ",\"needs\":[],\"needs\":[]}",
        HEAD ",\"lastAttempt\":1}",
        HEAD ",\"lastAttempt\":[]}",
        HEAD ",\"lastAttempt\":{\"at\":x}}",
        HEAD ",\"lastAttempt\":{\"at\":9223372036854775807}}",
        HEAD ",\"lastAttempt\":{\"durationMs\":9223372036854775807}}",
        HEAD ",\"lastAttempt\":{\"status\":1000}}",
        HEAD ",\"lastAttempt\":{\"error\":\"\"}}",
        HEAD ",\"lastAttempt\":{\"error\":1}}",
        HEAD ",\"lastAttempt\":{\"durationMs\":\"1\"}}",
        HEAD ",\"lastAttempt\":{\"at\" 1}}",
        HEAD ",\"waitMs\":-1}",
        HEAD ",\"waitMs\":\"1\"}",
        HEAD ",\"reason\":1}",
        HEAD ",\"reason\":\"\xff\"}",
        HEAD ",\"reason\":\"a\\u0000b\"}",
        HEAD ",\"form\":\"o\xff\xff\"}",
        HEAD ",\"form\":\"\xff\\ud20e\"}",
        HEAD ",\"workflow\":\"\xc3(\"}",
        HEAD ",\"answerHeaders\":\"a: \xed\xa0\x80\\n\"}",
        HEAD ",\"labels\":[\"\xe2\x82\"]}",
        HEAD ",\"bodyBase64\":\"\xff\"}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(job_read(SLICE("t/i"), slice_of(cases[i]), &again) == STATUS_INVALID, "%s", cases[i]);
}
END_TEST

/* Only job_read_checked reads the contents of the body; both find its end. */
START_TEST(checks_the_body_in_the_same_pass)
{
    static const struct {
        const char *body;
        bool is_valid;
    } cases[] = {
        {"{\"a\":[1,{\"b\":\"}\"}]}", true},
        {" [ 1 , \"\\u00e9\" ] ", true},
        {"-1.5e3", true},
        {"null", true},
        {"\"text\"", true},
        {"{\"a\":nil}", false},
        {"{\"a\":1,\"a\":2}", false},
        {"[1 2]", false},
        {"{a:1}", false},
        {"01", false},
        {"\"\\ud800\"", false},
        {"\"\xff\"", false},
        {"tru", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buffer_clear(&record);
        buffer_printf(&record, HEAD ",\"body\":%s}", cases[i].body);
        struct slice text = buffer_slice(&record);
        ck_assert_msg(job_read(SLICE("t/i"), text, &again) == STATUS_OK, "%s", cases[i].body);
        struct slice body = again.body;
        job_fini(&again);
        bool is_valid = job_read_checked(SLICE("t/i"), text, &again) == STATUS_OK;
        ck_assert_msg(is_valid == cases[i].is_valid, "%s", cases[i].body);
        if (!is_valid)
            continue;
        ck_assert(again.body.data == body.data && again.body.size == body.size);
        job_fini(&again);
    }
    buffer_clear(&record); /* a job of a later version is as damaged as any other */
    buffer_printf(&record, HEAD ",\"needs\":[\"more\"],\"body\":[,]}");
    ck_assert_int_eq(job_read_checked(SLICE("t/i"), buffer_slice(&record), &again), STATUS_INVALID);
}
END_TEST

START_TEST(refuses_records_beyond_the_bounds)
{
    buffer_printf(&record, HEAD ",\"retrySchedule\":[0");
    for (int i = 0; i < RETRY_SCHEDULE_MAX; i++)
        buffer_append(&record, SLICE(",0"));
    buffer_append(&record, SLICE("]}"));
    ck_assert_int_eq(job_read(SLICE("t/i"), buffer_slice(&record), &again), STATUS_INVALID);

    buffer_clear(&record);
    buffer_printf(&record, HEAD ",\"headers\":{\"h\":\"\"");
    for (int i = 0; i < JOB_HEADERS_MAX; i++)
        buffer_append(&record, SLICE(",\"h\":\"\""));
    buffer_append(&record, SLICE("}}"));
    ck_assert_int_eq(job_read(SLICE("t/i"), buffer_slice(&record), &again), STATUS_INVALID);

    buffer_clear(&record);
    buffer_printf(&record, HEAD ",\"headers\":{\"h\":\"\\n%020000d\"}}", 0);
    ck_assert_int_eq(job_read(SLICE("t/i"), buffer_slice(&record), &again), STATUS_INVALID);

    buffer_clear(&record);
    buffer_printf(&record, "{\"createdAt\":1,\"url\":\"%02049d\"}", 0);
    ck_assert_int_eq(job_read(SLICE("t/i"), buffer_slice(&record), &again), STATUS_INVALID);
}
END_TEST

/* Reading a record with any damaged byte must return a status and not crash. A job that was read can be
 * written and read again. No byte follows the copy, so that a sanitizer detects a read beyond its end. */
START_TEST(survives_damaged_records)
{
    struct buffer rewritten;
    buffer_init(&rewritten, 1 << 20);
    fill(&job);
    for (seed = 1; job.header_count < 3 || job.schedule.count < 3 || !job.last_attempt.at_ms; seed += 7)
        fill(&job);
    job.headers[0].value = SLICE("\"\\");
    job_write(&job, &record);
    for (size_t size = 0; size < record.size; size++) {
        char *copy = memory_resize(NULL, size);
        memcpy(copy, record.data, size);
        ck_assert_int_eq(job_read(SLICE("t/i"), slice_from(copy, size), &again), STATUS_INVALID);
        free(copy);
    }
    for (int i = 0; i < 20000; i++) {
        char *copy = memory_resize(NULL, record.size);
        memcpy(copy, record.data, record.size);
        for (int hits = 0; hits < 3; hits++)
            copy[roll(record.size)] = "\"\\{}[],:0 a\0\xff"[roll(13)];
        struct slice text = slice_from(copy, record.size);
        if ((i % 2 ? job_read_checked : job_read)(SLICE("t/i"), text, &again) == STATUS_OK) {
            buffer_clear(&rewritten);
            if (again.lacks.size == 0) {
                job_write(&again, &rewritten);
                ck_assert(job_read(SLICE("t/i"), buffer_slice(&rewritten), &job) == STATUS_OK);
                job_fini(&job);
            }
            job_fini(&again);
        }
        free(copy);
    }
    buffer_fini(&rewritten);
}
END_TEST

/* Every text of the record is as long as it may be, and has an escape. */
START_TEST(reads_texts_of_any_length)
{
    struct buffer rewritten;
    buffer_printf(&record,
                  "{\"createdAt\":1,\"url\":\"\\u0068ttp://h/%0*d\",\"headers\":{\"h\":\"\\u0020%0*d\"},"
                  "\"labels\":[\"\\u0020%063d\"],\"form\":\"\\u0020%0*d\",\"workflow\":\"\\u0020%0*d\","
                  "\"reason\":\"\\u0020%040000d\",\"answerHeaders\":\"\\u0020%0*d\"}",
                  JOB_URL_MAX - 9, 0, JOB_HEADER_BYTES_MAX - 2, 0, 0, JOB_FORM_MAX - 1, 0,
                  JOB_WORKFLOW_MAX - 1, 0, 0, JOB_ANSWER_HEADERS_MAX - 1, 0);
    ck_assert_int_eq(job_read(SLICE("t/i"), buffer_slice(&record), &job), STATUS_OK);
    buffer_init(&rewritten, 1 << 20);
    job_write(&job, &rewritten);
    ck_assert_int_eq(job_read(SLICE("t/i"), buffer_slice(&rewritten), &again), STATUS_OK);
    ck_assert(slice_equal(again.reason, job.reason) && slice_equal(again.url, job.url) &&
              slice_equal(again.answer_headers, job.answer_headers));
    job_fini(&again);
    job_fini(&job);
    buffer_fini(&rewritten);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("job_record");
    TCase *tests = tcase_create("job_record");
    tcase_set_timeout(tests, 30);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, writes_members_in_their_order);
    tcase_add_test(tests, writes_what_is_kept_with_a_job);
    tcase_add_test(tests, reads_what_the_schedule_script_completed);
    tcase_add_test(tests, writes_a_head_for_scripts);
    tcase_add_test(tests, a_head_has_key_and_priority);
    tcase_add_test(tests, completes_the_record_as_a_script_does);
    tcase_add_test(tests, a_head_at_another_place_is_replaced);
    tcase_add_test(tests, reads_back_any_job);
    tcase_add_test(tests, carries_members_that_it_does_not_know);
    tcase_add_test(tests, carries_as_many_as_there_are);
    tcase_add_test(tests, carries_the_last_attempt_of_a_later_version);
    tcase_add_test(tests, names_what_earlier_versions_must_not_ignore);
    tcase_add_test(tests, tells_what_it_lacks);
    tcase_add_test(tests, refuses_foreign_records);
    tcase_add_test(tests, checks_the_body_in_the_same_pass);
    tcase_add_test(tests, refuses_records_beyond_the_bounds);
    tcase_add_test(tests, survives_damaged_records);
    tcase_add_test(tests, reads_texts_of_any_length);
    suite_add_tcase(suite, tests);
    return suite;
}

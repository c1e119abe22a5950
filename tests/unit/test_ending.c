#include <stdio.h>
#include <string.h>

#include "support/suite.h"

#include "job/delivery/ending.h"
#include "support/without_head.h"

#define HOUR_MS INT64_C(3600000)
#define NOW_MS  INT64_C(1700000000000)

static const struct retry_schedule fallback = {2, {10000, 20000}};
static const struct retry_schedule no_waits = {0, {0}};

static struct ending_input input_of(const struct attempt_result *result)
{
    const struct form_answer answer = {.result = result, .retry_after_ms = -1};
    struct ending_input input = {
        .cause = ENDING_CAUSE_RESULT, .now_ms = NOW_MS, .schedule = &fallback, .result = result};
    delivery_form_judge(&delivery_form_standard, &answer, &input.judgement);
    return input;
}

static struct ending decide(const struct job *job, const struct attempt_result *result)
{
    struct ending_input input = input_of(result);
    return ending_decide(job, &input);
}

/* ---- after an attempt ---- */

START_TEST(a_job_is_exhausted_if_it_made_more_attempts_than_it_has_now)
{
    struct job job = {.attempts = 0};
    ck_assert(!ending_is_exhausted(&job, NULL, &no_waits));
    job.attempts = 2;
    ck_assert(!ending_is_exhausted(&job, NULL, &fallback));
    job.attempts = 3;
    ck_assert(ending_is_exhausted(&job, NULL, &fallback));
    job.uncounted = 1;
    ck_assert(!ending_is_exhausted(&job, NULL, &fallback));
    job.has_retry = true;
    job.retry = 1;
    ck_assert(ending_is_exhausted(&job, NULL, &fallback));
    struct ending_input input = {.cause = ENDING_CAUSE_EXHAUSTED, .schedule = &fallback};
    struct ending ending = ending_decide(&job, &input);
    ck_assert_int_eq(ending.verdict, ENDING_BURY);
    ck_assert_int_eq(ending.attempts, 3);
    ck_assert(slice_equal(ending.reason, SLICE("retries_exhausted")));
}
END_TEST

START_TEST(an_attempt_ends_the_lease_by_its_result)
{
    static const struct {
        const char *name;
        int status;
        enum failure error;
        int attempts, retry; /* retry -1: absent */
        int64_t retry_after_ms;
        enum ending_verdict verdict;
        int64_t wait_ms;
        const char *reason;
    } cases[] = {
        {"200", 200, 0, 0, -1, -1, ENDING_COMPLETE, 0, ""},
        {"299 on the last attempt", 299, 0, 2, -1, -1, ENDING_COMPLETE, 0, ""},
        {"204 with Retry-After", 204, 0, 0, -1, 5000, ENDING_COMPLETE, 0, ""},
        {"199", 199, 0, 0, -1, -1, ENDING_RETRY, 10000, ""},
        {"300", 300, 0, 0, -1, -1, ENDING_RETRY, 10000, ""},
        {"404, second", 404, 0, 1, -1, -1, ENDING_RETRY, 20000, ""},
        {"500, schedule used up", 500, 0, 2, -1, -1, ENDING_BURY, 0, "retries_exhausted"},
        {"500, more retries than steps", 500, 0, 4, 5, -1, ENDING_RETRY, 20000, ""},
        {"500, retries used up", 500, 0, 5, 5, -1, ENDING_BURY, 0, "retries_exhausted"},
        {"500, no retry", 500, 0, 0, 0, -1, ENDING_BURY, 0, "retries_exhausted"},
        {"410", 410, 0, 0, -1, -1, ENDING_BURY, 0, "gone"},
        {"410 on the last attempt", 410, 0, 2, -1, -1, ENDING_BURY, 0, "gone"},
        {"refused", 0, FAILURE_TARGET_REFUSED, 0, -1, -1, ENDING_BURY, 0, "target_refused"},
        {"timeout", 0, FAILURE_TIMEOUT, 0, -1, -1, ENDING_RETRY, 10000, ""},
        {"cut after a 2xx that does not count", 200, FAILURE_RESET, 0, -1, -1, ENDING_RETRY, 10000, ""},
        {"410 that does not count", 410, FAILURE_RESET, 0, -1, -1, ENDING_RETRY, 10000, ""},
        {"shorter Retry-After", 503, 0, 0, -1, 0, ENDING_RETRY, 10000, ""},
        {"longer Retry-After", 503, 0, 0, -1, 10001, ENDING_RETRY, 10001, ""},
        {"a day", 503, 0, 0, -1, 24 * HOUR_MS, ENDING_RETRY, 24 * HOUR_MS, ""},
        {"more than a day", 503, 0, 0, -1, INT64_MAX, ENDING_RETRY, 24 * HOUR_MS, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job job = {.attempts = cases[i].attempts};
        struct attempt_result result = {.status = cases[i].status, .error = cases[i].error};
        struct ending_input input = input_of(&result);
        job.has_retry = cases[i].retry >= 0;
        job.retry = job.has_retry ? cases[i].retry : 0;
        input.judgement.at_least_ms = cases[i].retry_after_ms;
        struct ending ending = ending_decide(&job, &input);
        ck_assert_msg(ending.verdict == cases[i].verdict && ending.wait_ms == cases[i].wait_ms &&
                          slice_equal(ending.reason, slice_of(cases[i].reason)) &&
                          ending.attempts == job.attempts + 1 && ending.uncounted == 0 && !ending.keeps_place,
                      "%s", cases[i].name);
        ck_assert_msg(ending.has_line == (ending.verdict != ENDING_COMPLETE), "%s", cases[i].name);
        ck_assert_msg(ending.has_record == (ending.verdict != ENDING_COMPLETE), "%s", cases[i].name);
    }
}
END_TEST

START_TEST(a_2xx_that_says_not_yet_begins_a_new_round)
{
    struct job job = {.attempts = 2, .uncounted = 1, .rounds = 5};
    struct attempt_result result = {.status = 202};
    struct ending_input input = input_of(&result);
    input.judgement.again_ms = 30000;
    struct ending ending = ending_decide(&job, &input);
    ck_assert(ending.verdict == ENDING_RETRY && ending.is_round && ending.wait_ms == 30000 &&
              !ending.keeps_place);
    ck_assert(ending.attempts == 0 && ending.uncounted == 0 && ending.rounds == 6);
    ck_assert(ending.has_record && ending.has_line);
    job.has_expires_at =
        true; /* the job expires before the requested time, so it waits only until it expires */
    job.expires_at_ms = NOW_MS + 20000;
    ck_assert_int_eq(ending_decide(&job, &input).wait_ms, 20000);
    job.expires_at_ms = NOW_MS + 40000;
    ck_assert_int_eq(ending_decide(&job, &input).wait_ms, 30000);
    result.status = 500; /* the time that a failed answer requests with Duepost-Again is ignored */
    ending = ending_decide(&job, &input);
    ck_assert(!ending.is_round && ending.rounds == 5 && ending.attempts == 3);
    result.status = 410;
    input = input_of(&result);
    ck_assert(slice_equal(ending_decide(&job, &input).reason, SLICE("gone")));
    result = (struct attempt_result){.error = FAILURE_PROTOCOL};
    input = input_of(&result);
    job.attempts = job.uncounted = 0;
    ck_assert(ending_decide(&job, &input).verdict == ENDING_RETRY && !ending_decide(&job, &input).is_round);
}
END_TEST

START_TEST(rounds_come_to_an_end)
{
    struct job job = {.rounds = JOB_ROUNDS_MAX - 2};
    struct attempt_result result = {.status = 200};
    struct ending_input input = input_of(&result);
    input.judgement.again_ms = 1000;
    ck_assert(ending_decide(&job, &input).is_round);
    job.rounds = JOB_ROUNDS_MAX - 1;
    struct ending ending = ending_decide(&job, &input);
    ck_assert(ending.verdict == ENDING_BURY && slice_equal(ending.reason, SLICE("rounds")) &&
              !ending.is_round);
    ck_assert(ending.rounds == JOB_ROUNDS_MAX && ending.attempts == 1 && ending.has_record &&
              ending.has_line);
    input.judgement.again_ms = 0;
    ck_assert_int_eq(ending_decide(&job, &input).verdict, ENDING_COMPLETE);
}
END_TEST

START_TEST(the_first_reset_of_an_idle_connection_uses_up_no_retry)
{
    struct job job = {.has_retry = true, .retry = 1};
    struct attempt_result idle = {.error = FAILURE_RESET, .is_idle_closed = true};
    struct attempt_result plain = {.error = FAILURE_RESET};
    struct ending ending = decide(&job, &idle);
    ck_assert(ending.verdict == ENDING_RETRY && ending.keeps_place && ending.wait_ms == 0);
    ck_assert(ending.attempts == 1 && ending.uncounted == 1 && ending.has_record && ending.has_line);
    ending = decide(&job, &plain);
    ck_assert(ending.verdict == ENDING_RETRY && !ending.keeps_place && ending.wait_ms == 10000);
    ck_assert(ending.attempts == 1 && ending.uncounted == 0);
    job.attempts = job.uncounted = 1;
    ending = decide(&job, &idle);
    ck_assert(ending.verdict == ENDING_RETRY && !ending.keeps_place && ending.wait_ms == 10000);
    ck_assert(ending.attempts == 2 && ending.uncounted == 1);
    job.attempts = 2;
    ck_assert_int_eq(decide(&job, &idle).verdict, ENDING_BURY);
}
END_TEST

START_TEST(a_job_that_expires_during_its_attempt_has_no_retry)
{
    static const struct {
        int attempts, status, again_ms;
        int64_t duration_ms;
        bool is_idle_closed;
        enum ending_verdict verdict;
        const char *reason;
    } cases[] = {
        {0, 500, 0, 499, false, ENDING_RETRY, ""},
        {0, 500, 0, 500, false, ENDING_BURY, "expired"},
        {2, 500, 0, 500, false, ENDING_BURY, "retries_exhausted"},
        {0, 200, 0, 500, false, ENDING_COMPLETE, ""},
        {0, 202, 9000, 499, false, ENDING_RETRY, ""},
        {0, 202, 9000, 500, false, ENDING_BURY, "expired"},
        {0, 0, 0, 500, true, ENDING_BURY, "expired"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job job = {
            .attempts = cases[i].attempts, .has_ttl = true, .ttl_ms = 1000, .created_ms = NOW_MS - 500};
        struct attempt_result result = {.status = cases[i].status,
                                        .duration_ms = cases[i].duration_ms,
                                        .is_idle_closed = cases[i].is_idle_closed,
                                        .error = cases[i].is_idle_closed ? FAILURE_RESET : 0};
        struct ending_input input = input_of(&result);
        input.judgement.again_ms = cases[i].again_ms;
        struct ending ending = ending_decide(&job, &input);
        ck_assert_msg(ending.verdict == cases[i].verdict, "case %zu", i);
        ck_assert(slice_equal(ending.reason, slice_of(cases[i].reason)));
    }
}
END_TEST

START_TEST(a_job_without_waits_is_not_retried)
{
    struct job job = {.has_retry = true, .retry = 3};
    struct attempt_result result = {.status = 500};
    struct attempt_result idle = {.error = FAILURE_RESET, .is_idle_closed = true};
    struct ending_input input = input_of(&result);
    input.schedule = &no_waits;
    ck_assert_int_eq(ending_decide(&job, &input).verdict, ENDING_BURY);
    input.result = &idle; /* the receiver had closed the idle connection, so this reset uses up no retry */
    ck_assert(ending_decide(&job, &input).keeps_place);
}
END_TEST

START_TEST(the_schedule_is_the_jobs_else_the_topics_else_ours)
{
    struct job job = {.has_schedule = true, .schedule = {1, {HOUR_MS * 48}}};
    struct topic_settings settings = {.has_schedule = true, .schedule = {1, {HOUR_MS}}};
    struct attempt_result result = {.status = 500};
    struct ending_input input = input_of(&result);
    input.settings = &settings;
    input.judgement.at_least_ms = 25 * HOUR_MS;
    ck_assert_int_eq(ending_decide(&job, &input).wait_ms, 48 * HOUR_MS);
    job.attempts = 1;
    ck_assert_int_eq(ending_decide(&job, &input).verdict, ENDING_BURY);
    job = (struct job){.attempts = 0};
    input.judgement.at_least_ms = -1;
    ck_assert_int_eq(ending_decide(&job, &input).wait_ms, HOUR_MS);
    settings.has_schedule = false;
    ck_assert_int_eq(ending_decide(&job, &input).wait_ms, 10000);
}
END_TEST

START_TEST(jitter_makes_waits_longer_but_for_those_that_keep_their_place)
{
    struct job job = {.attempts = 0};
    struct topic_settings settings = {.jitter_ppm = TOPIC_JITTER_MAX_PPM};
    struct attempt_result result = {.status = 500};
    struct attempt_result idle = {.error = FAILURE_RESET, .is_idle_closed = true};
    struct ending_input input = input_of(&result);
    input.settings = &settings;
    input.random = UINT32_MAX;
    ck_assert_int_eq(ending_decide(&job, &input).wait_ms, 20000);
    input.random = UINT32_MAX / 2;
    ck_assert_int_eq(ending_decide(&job, &input).wait_ms, 14999);
    input.random = 0;
    ck_assert_int_eq(ending_decide(&job, &input).wait_ms, 10000);
    input.random = UINT32_MAX;
    input.result = &idle;
    ck_assert_int_eq(ending_decide(&job, &input).wait_ms, 0);
}
END_TEST

START_TEST(a_delivery_is_kept_only_where_its_topic_keeps_jobs)
{
    struct job job = {.attempts = 0};
    struct topic_settings settings = {.retention_ms = 1000};
    struct attempt_result result = {.status = 200};
    struct ending_input input = input_of(&result);
    input.settings = &settings;
    ck_assert(ending_decide(&job, &input).has_line);
    settings.retention_ms = 0;
    ck_assert(!ending_decide(&job, &input).has_line);
}
END_TEST

/* ---- without an attempt ---- */

START_TEST(a_lease_ends_without_an_attempt)
{
    static const struct {
        enum ending_cause cause;
        int64_t hold_ms, expires_in_ms; /* expires_in_ms 0: never */
        enum ending_verdict verdict;
        bool keeps_place, has_record;
        int64_t wait_ms;
        const char *reason;
    } cases[] = {
        {ENDING_CAUSE_UNSENT, 0, 0, ENDING_RELEASE, true, false, 0, ""},
        {ENDING_CAUSE_HELD, 7000, 0, ENDING_RELEASE, false, false, 7000, ""},
        {ENDING_CAUSE_HELD, 7000, 7001, ENDING_RELEASE, false, false, 7000, ""},
        {ENDING_CAUSE_HELD, 7000, 6999, ENDING_RELEASE, false, false, 6999, ""},
        {ENDING_CAUSE_UNSERVED, 7000, 6999, ENDING_RELEASE, false, false, 7000, ""},
        {ENDING_CAUSE_NO_MEMORY, 0, 0, ENDING_RELEASE, false, false, ENDING_NO_MEMORY_MS, ""},
        {ENDING_CAUSE_EXPIRED, 0, 0, ENDING_BURY, false, true, 0, "expired"},
        {ENDING_CAUSE_UNREADABLE, 0, 0, ENDING_BURY, false, true, 0, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job job = {.attempts = 3, .uncounted = 1, .created_ms = NOW_MS - 1000};
        struct ending_input input = {
            .cause = cases[i].cause, .now_ms = NOW_MS, .schedule = &fallback, .hold_ms = cases[i].hold_ms};
        job.has_ttl = cases[i].expires_in_ms > 0;
        job.ttl_ms = cases[i].expires_in_ms + 1000;
        struct ending ending = ending_decide(&job, &input);
        ck_assert_msg(ending.verdict == cases[i].verdict && ending.keeps_place == cases[i].keeps_place &&
                          ending.wait_ms == cases[i].wait_ms && ending.has_record == cases[i].has_record &&
                          slice_equal(ending.reason, slice_of(cases[i].reason)),
                      "case %zu", i);
        ck_assert_msg(ending.attempts == 3 && ending.uncounted == 1 && !ending.has_line, "case %zu", i);
    }
}
END_TEST

/* ---- what is written ---- */

static const char raw_record[] =
    "{\"createdAt\":1699999999000,\"url\":\"http://h/\",\"retry\":1,\"later\":[1],\"body\":{\"a\":1.0}}";

static struct ending_texts texts;

/* Decides the ending of the job in raw_record, and writes its texts. Returns the new record. */
static const char *written(const struct ending_input *input)
{
    struct job job;
    ck_assert_int_eq(job_read(SLICE("t/j"), slice_of(raw_record), &job), STATUS_OK);
    struct ending ending = ending_decide(&job, input);
    ending_texts_init(&texts);
    ck_assert(ending_write(&ending, input, &job, slice_of(raw_record), &texts));
    job_fini(&job);
    return without_head(buffer_text(&texts.record));
}

START_TEST(a_round_is_written_with_its_number)
{
    struct attempt_result result = {.at_ms = NOW_MS, .duration_ms = 12, .status = 202, .was_sent = true};
    struct ending_input input = input_of(&result);
    input.judgement.again_ms = 2000;
    ck_assert_str_eq(written(&input),
                     "{\"createdAt\":1699999999000,\"url\":\"http://h/\",\"retry\":1,\"rounds\":1,"
                     "\"lastAttempt\":{\"at\":1700000000000,\"durationMs\":12,\"status\":202},"
                     "\"waitMs\":2000,\"needs\":[\"rounds\"],\"later\":[1],\"body\":{\"a\":1.0}}");
    ck_assert_str_eq(buffer_text(&texts.line), "1 1700000000000 12 202");
    ending_texts_fini(&texts);
}
END_TEST

START_TEST(a_failure_writes_the_numbers_and_the_line)
{
    struct attempt_result result = {.at_ms = NOW_MS, .duration_ms = 12, .status = 503, .was_sent = true};
    struct ending_input input = input_of(&result);
    input.answer = SLICE("busy");
    input.is_answer_cut = true;
    ck_assert_str_eq(written(&input),
                     "{\"createdAt\":1699999999000,\"url\":\"http://h/\",\"retry\":1,\"attempts\":1,"
                     "\"lastAttempt\":{\"at\":1700000000000,\"durationMs\":12,\"status\":503},"
                     "\"waitMs\":10000,\"later\":[1],\"body\":{\"a\":1.0}}");
    ck_assert_str_eq(buffer_text(&texts.line), "1 1700000000000 12 503 \"busy\"+");
    ending_texts_fini(&texts);
}
END_TEST

START_TEST(a_death_writes_its_reason_and_no_wait)
{
    struct attempt_result result = {.at_ms = NOW_MS, .status = 410};
    struct ending_input input = input_of(&result);
    const char *record = written(&input);
    ck_assert_ptr_nonnull(strstr(record, "\"reason\":\"gone\""));
    ck_assert_ptr_null(strstr(record, "waitMs"));
    ck_assert_ptr_null(strstr(record, "answerHeaders"));
    ending_texts_fini(&texts);
}
END_TEST

START_TEST(a_death_keeps_the_headers_of_the_answer)
{
    struct attempt_result result = {.at_ms = NOW_MS, .status = 410};
    struct ending_input input = input_of(&result);
    input.headers = SLICE("A: 1\nB: \"2\"\n");
    ck_assert_ptr_nonnull(strstr(written(&input), "\"answerHeaders\":\"A: 1\\nB: \\\"2\\\"\\n\""));
    ending_texts_fini(&texts);
}
END_TEST

/* The two headers fit exactly, or are one byte too long together. */
START_TEST(headers_that_do_not_fit_are_left_out)
{
    struct attempt_result result = {.at_ms = NOW_MS, .status = 410};
    struct ending_input input = input_of(&result);
    char lines[JOB_ANSWER_HEADERS_MAX + 16];
    size_t first = (size_t)JOB_ANSWER_HEADERS_MAX - 5 + (size_t)_i;
    memset(lines, 'x', sizeof lines);
    lines[1] = ':';
    lines[first - 1] = '\n';
    memcpy(lines + first, "B: 2\n", 5);
    input.headers = slice_from(lines, first + 5);
    const char *record = written(&input);
    ck_assert_ptr_nonnull(strstr(record, "\"answerHeaders\":\"x:x"));
    ck_assert((strstr(record, "\\nB: 2\\n\"") != NULL) == (_i == 0));
    ending_texts_fini(&texts);
}
END_TEST

/* Each byte that is not UTF-8 has three bytes in the record. */
START_TEST(headers_that_are_not_utf8_do_not_make_the_record_unreadable)
{
    struct attempt_result result = {.at_ms = NOW_MS, .status = 410};
    struct ending_input input = input_of(&result);
    char lines[JOB_ANSWER_HEADERS_MAX];
    struct job again;
    memset(lines, 0xe9, sizeof lines);
    lines[999] = lines[sizeof lines - 1] = '\n';
    input.headers = slice_from(lines, sizeof lines);
    (void)written(&input);
    ck_assert_int_eq(job_read(SLICE("t/i"), buffer_slice(&texts.record), &again), STATUS_OK);
    ck_assert_uint_eq(again.answer_headers.size, 3 * 999 + 1);
    job_fini(&again);
    ending_texts_fini(&texts);
}
END_TEST

START_TEST(a_retry_keeps_no_headers)
{
    struct attempt_result result = {.at_ms = NOW_MS, .status = 503};
    struct ending_input input = input_of(&result);
    input.headers = SLICE("A: 1\n");
    const char *record = written(&input);
    ck_assert_ptr_nonnull(strstr(record, "waitMs"));
    ck_assert_ptr_null(strstr(record, "answerHeaders"));
    ending_texts_fini(&texts);
}
END_TEST

START_TEST(a_delivery_and_a_release_write_no_record)
{
    struct attempt_result result = {.status = 200};
    struct ending_input delivered = input_of(&result);
    struct ending_input released = {.cause = ENDING_CAUSE_HELD, .schedule = &fallback};
    ck_assert_str_eq(written(&delivered), "");
    ck_assert_int_eq(texts.line.size, 0);
    ending_texts_fini(&texts);
    ck_assert_str_eq(written(&released), "");
    ck_assert_int_eq(texts.line.size, 0);
    ending_texts_fini(&texts);
}
END_TEST

START_TEST(a_job_that_was_not_attempted_has_no_last_attempt)
{
    struct ending_input input = {.cause = ENDING_CAUSE_EXPIRED, .schedule = &fallback};
    ck_assert_str_eq(written(&input),
                     "{\"createdAt\":1699999999000,\"url\":\"http://h/\",\"retry\":1,\"reason\":\"expired\","
                     "\"later\":[1],\"body\":{\"a\":1.0}}");
    ck_assert_int_eq(texts.line.size, 0);
    ending_texts_fini(&texts);
}
END_TEST

START_TEST(an_unreadable_record_is_kept_as_it_is)
{
    struct ending_input input = {.cause = ENDING_CAUSE_UNREADABLE, .schedule = &fallback};
    ck_assert_str_eq(written(&input), raw_record);
    ending_texts_fini(&texts);
}
END_TEST

/* Writes the callbacks of an ending of the job t/j. The topic has a url for each of the three callbacks. */
static void write_callbacks(struct ending_input input)
{
    struct topic_settings settings = {.on_delivered = SLICE("\"http://x/delivered\""),
                                      .on_dead = SLICE("\"http://x/dead\""),
                                      .on_attempt = SLICE("\"http://x/attempt\"")};
    input.id = SLICE("t/j"), input.nonce = SLICE("n1"), input.settings = &settings;
    written(&input);
}

static void check_callback(size_t i, const char *id, const char *part)
{
    ck_assert_uint_lt(i, texts.callbacks.count);
    ck_assert_str_eq(buffer_text(&texts.callbacks.items[i].id), id);
    ck_assert_msg(strstr(buffer_text(&texts.callbacks.items[i].record), part), "%s has no %s",
                  buffer_text(&texts.callbacks.items[i].record), part);
}

START_TEST(an_attempt_has_its_callback_and_an_end_has_another)
{
    struct attempt_result result = {.at_ms = NOW_MS, .duration_ms = 12, .status = 410};
    write_callbacks(input_of(&result));
    ck_assert_uint_eq(texts.callbacks.count, 2);
    check_callback(0, "t~callbacks/j~attempt~n1", "\"outcome\":\"dead\",\"reason\":\"gone\",\"status\":410");
    check_callback(1, "t~callbacks/j~dead~n1", "\"endedAt\":\"2023-11-14T22:13:20.012Z\"");
    ending_texts_fini(&texts);
    result.status = 500;
    write_callbacks(input_of(&result));
    ck_assert_uint_eq(texts.callbacks.count, 1);
    check_callback(0, "t~callbacks/j~attempt~n1", "\"outcome\":\"failed\",\"status\":500");
    ending_texts_fini(&texts);
    result.status = 200;
    write_callbacks(input_of(&result));
    ck_assert_uint_eq(texts.callbacks.count, 2);
    check_callback(1, "t~callbacks/j~delivered~n1", "\"outcome\":\"delivered\",\"status\":200");
    ending_texts_fini(&texts);
}
END_TEST

START_TEST(a_round_is_reported_as_an_attempt)
{
    struct attempt_result result = {.at_ms = NOW_MS, .duration_ms = 12, .status = 200};
    struct ending_input input = input_of(&result);
    input.judgement.again_ms = 30000;
    write_callbacks(input);
    ck_assert_uint_eq(texts.callbacks.count, 1);
    check_callback(0, "t~callbacks/j~attempt~n1",
                   "\"outcome\":\"again\",\"status\":200,\"attempts\":1,\"round\":1,");
    check_callback(0, "t~callbacks/j~attempt~n1", "\"waitMs\":30000");
    ending_texts_fini(&texts);
}
END_TEST

START_TEST(a_death_without_an_attempt_has_one_callback)
{
    write_callbacks((struct ending_input){.cause = ENDING_CAUSE_EXPIRED, .now_ms = NOW_MS});
    ck_assert_uint_eq(texts.callbacks.count, 1);
    check_callback(0, "t~callbacks/j~dead~n1", "\"reason\":\"expired\",\"attempts\":0");
    ending_texts_fini(&texts);
    write_callbacks((struct ending_input){.cause = ENDING_CAUSE_UNREADABLE, .now_ms = NOW_MS});
    check_callback(0, "t~callbacks/j~dead~n1", "\"reason\":\"unreadable\",\"attempts\":0,\"endedAt\"");
    ending_texts_fini(&texts);
}
END_TEST

START_TEST(a_job_that_is_given_back_has_no_callback)
{
    static const enum ending_cause causes[] = {ENDING_CAUSE_UNSENT, ENDING_CAUSE_HELD, ENDING_CAUSE_UNSERVED,
                                               ENDING_CAUSE_NO_MEMORY};
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        write_callbacks((struct ending_input){.cause = causes[i], .now_ms = NOW_MS});
        ck_assert_uint_eq(texts.callbacks.count, 0);
        ending_texts_fini(&texts);
    }
}
END_TEST

START_TEST(a_callback_without_room_is_told)
{
    struct job job;
    struct attempt_result result = {.status = 410};
    struct topic_settings settings = {.on_dead = SLICE("\"http://x/\"")};
    struct ending_input input = input_of(&result);
    input.id = SLICE("t/j"), input.nonce = SLICE("n1"), input.settings = &settings;
    ck_assert_int_eq(job_read(SLICE("t/j"), slice_of(raw_record), &job), STATUS_OK);
    struct ending ending = ending_decide(&job, &input);
    ending_texts_init(&texts);
    texts.callbacks.items[0].record.max = 16;
    ck_assert(!ending_write(&ending, &input, &job, slice_of(raw_record), &texts));
    input = (struct ending_input){.cause = ENDING_CAUSE_NO_MEMORY}; /* the job is released instead */
    ending = ending_decide(&job, &input);
    ck_assert(ending_write(&ending, &input, &job, slice_of(raw_record), &texts));
    ck_assert_uint_eq(texts.line.size, 0);
    ending_texts_fini(&texts);
    job_fini(&job);
}
END_TEST

START_TEST(a_record_without_room_is_told)
{
    struct job job;
    struct attempt_result result = {.status = 500};
    struct ending_input input = input_of(&result);
    ck_assert_int_eq(job_read(SLICE("t/j"), slice_of(raw_record), &job), STATUS_OK);
    struct ending ending = ending_decide(&job, &input);
    ending_texts_init(&texts);
    texts.record.max = 16;
    ck_assert(!ending_write(&ending, &input, &job, slice_of(raw_record), &texts));
    input = (struct ending_input){.cause = ENDING_CAUSE_NO_MEMORY}; /* the job is released instead */
    ending = ending_decide(&job, &input);
    ck_assert(ending_write(&ending, &input, &job, slice_of(raw_record), &texts));
    ck_assert_uint_eq(texts.line.size, 0);
    ending_texts_fini(&texts);
    job_fini(&job);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("ending");
    TCase *tests = tcase_create("ending");
    tcase_add_test(tests, a_job_is_exhausted_if_it_made_more_attempts_than_it_has_now);
    tcase_add_test(tests, an_attempt_ends_the_lease_by_its_result);
    tcase_add_test(tests, a_2xx_that_says_not_yet_begins_a_new_round);
    tcase_add_test(tests, rounds_come_to_an_end);
    tcase_add_test(tests, the_first_reset_of_an_idle_connection_uses_up_no_retry);
    tcase_add_test(tests, a_job_that_expires_during_its_attempt_has_no_retry);
    tcase_add_test(tests, a_job_without_waits_is_not_retried);
    tcase_add_test(tests, the_schedule_is_the_jobs_else_the_topics_else_ours);
    tcase_add_test(tests, jitter_makes_waits_longer_but_for_those_that_keep_their_place);
    tcase_add_test(tests, a_delivery_is_kept_only_where_its_topic_keeps_jobs);
    tcase_add_test(tests, a_lease_ends_without_an_attempt);
    tcase_add_test(tests, a_round_is_written_with_its_number);
    tcase_add_test(tests, a_failure_writes_the_numbers_and_the_line);
    tcase_add_test(tests, a_death_writes_its_reason_and_no_wait);
    tcase_add_test(tests, a_death_keeps_the_headers_of_the_answer);
    tcase_add_loop_test(tests, headers_that_do_not_fit_are_left_out, 0, 2);
    tcase_add_test(tests, headers_that_are_not_utf8_do_not_make_the_record_unreadable);
    tcase_add_test(tests, a_retry_keeps_no_headers);
    tcase_add_test(tests, a_delivery_and_a_release_write_no_record);
    tcase_add_test(tests, a_job_that_was_not_attempted_has_no_last_attempt);
    tcase_add_test(tests, an_unreadable_record_is_kept_as_it_is);
    tcase_add_test(tests, an_attempt_has_its_callback_and_an_end_has_another);
    tcase_add_test(tests, a_round_is_reported_as_an_attempt);
    tcase_add_test(tests, a_death_without_an_attempt_has_one_callback);
    tcase_add_test(tests, a_job_that_is_given_back_has_no_callback);
    tcase_add_test(tests, a_callback_without_room_is_told);
    tcase_add_test(tests, a_record_without_room_is_told);
    suite_add_tcase(suite, tests);
    return suite;
}

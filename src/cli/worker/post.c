/* post.c - the request of duepost listen: POSTs a leased job to a url with the headers and the body that a
 * delivery would have, and decides by the same rules how its answer ends the lease. */
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/encoding.h"
#include "base/json_writer.h"
#include "base/system.h"
#include "base/timestamp.h"
#include "base/utf8.h"
#include "cli/worker/work.h"
#include "job/delivery/delivery_form.h"
#include "job/delivery/ending.h"
#include "job/lease_text.h"
#include "job/request.h"

enum {
    TEXTS_MAX = 2 * TOPIC_DEFAULTS_HEADERS_MAX + 8,
    BODY_MAX = 256 * 1024 * 1024,
    HEADERS_MAX = 256 * 1024,
    ERROR_MAX = 1024,
    ATTEMPT_MAX = 1000000,
};

/* ---- the job ---- */

/* A leased job as a delivery has it. */
struct posted_job {
    struct job job;
    struct job_header headers[TOPIC_DEFAULTS_HEADERS_MAX]; /* headers of the job and its topic */
    size_t header_count;
    struct slice token;
    char *texts[TEXTS_MAX]; /* decoded strings */
    size_t text_count;
};

static void posted_job_fini(struct posted_job *posted)
{
    for (size_t i = 0; i < posted->text_count; i++)
        free(posted->texts[i]);
}

/* Returns a string without quotes and escapes. The result is valid until posted_job_fini. */
static struct slice decode_post(struct posted_job *posted, struct slice json)
{
    struct buffer scratch;
    if (!json_is_text(json) || posted->text_count == TEXTS_MAX)
        return SLICE("");
    buffer_init(&scratch, BODY_MAX);
    struct slice text = json_text(json, &scratch);
    char *copy = posted->texts[posted->text_count++] = slice_dup(text);
    size_t size = text.size;
    buffer_fini(&scratch);
    return slice_from(copy, size);
}

static void read_headers(struct posted_job *posted, struct slice json)
{
    struct json_cursor headers;
    struct slice name, value;
    if (!json_open(json, &headers))
        return;
    while (posted->header_count < TOPIC_DEFAULTS_HEADERS_MAX && json_next_member(&headers, &name, &value)) {
        struct job_header *header = &posted->headers[posted->header_count];
        *header = (struct job_header){decode_post(posted, name), decode_post(posted, value)};
        posted->header_count += header_name_is_valid(header->name) && header_value_is_valid(header->value);
    }
}

static void read_member(struct posted_job *posted, struct slice key, struct slice value)
{
    struct job *job = &posted->job;
    uint64_t number;
    if (slice_equal(key, SLICE("\"topic\"")))
        job->topic = decode_post(posted, value);
    else if (slice_equal(key, SLICE("\"jobId\"")))
        job->job_id = decode_post(posted, value);
    else if (slice_equal(key, SLICE("\"token\"")))
        posted->token = decode_post(posted, value);
    else if (slice_equal(key, SLICE("\"attempt\"")) && slice_to_number(value, ATTEMPT_MAX, &number))
        job->attempts = (int)number - 1;
    else if (slice_equal(key, SLICE("\"createdAt\"")))
        (void)timestamp_parse(decode_post(posted, value), &job->created_ms);
    else if (slice_equal(key, SLICE("\"method\"")))
        (void)job_method_parse(decode_post(posted, value), &job->method);
    else if (slice_equal(key, SLICE("\"headers\"")))
        read_headers(posted, value);
    else if (slice_equal(key, SLICE("\"body\"")))
        job->body = value;
    else if (slice_equal(key, SLICE("\"bodyBase64\""))) {
        job->has_body_base64 = true;
        job->body_base64 = decode_post(posted, value);
    }
}

static bool posted_job_read(struct posted_job *posted, struct slice text)
{
    struct json_cursor members;
    struct slice key, value;
    job_init(&posted->job);
    posted->header_count = posted->text_count = 0;
    posted->token = SLICE("");
    if (json_open(text, &members))
        while (json_next_member(&members, &key, &value))
            read_member(posted, key, value);
    return posted->job.topic.size && posted->job.job_id.size && posted->token.size;
}

/* ---- the request ---- */

struct remote_call *post_start(const struct post_settings *settings, struct remote_calls *calls,
                               struct slice text, remote_call_fn *done, void *arg)
{
    struct posted_job posted;
    struct buffer payload_room, header_room, id;
    struct header_lines lines = {.text = &header_room};
    struct slice headers[HEADER_LINES_MAX];
    struct remote_call *call = NULL;
    const struct job *job = &posted.job;
    buffer_init_fallible(&payload_room, BODY_MAX);
    buffer_init_fallible(&header_room, HEADERS_MAX);
    buffer_init(&id, JOB_TOPIC_MAX + JOB_ID_DERIVED_MAX + 1);
    if (!posted_job_read(&posted, text))
        goto out;
    struct slice payload = job_method_allows_body(job->method) ? job_payload(job, &payload_room) : SLICE("");
    buffer_printf(&id, "%.*s/%.*s", SLICE_ARG(job->topic), SLICE_ARG(job->job_id));
    const struct form_attempt attempt = {
        .job = job,
        .id = buffer_slice(&id),
        .url = slice_of(settings->url),
        .payload = payload,
        .keys = &settings->keys,
        .now_ms = clock_wall_ms(),
        .headers = posted.headers,
        .header_count = posted.header_count,
        .token = posted.token,
        .end_url = settings->end_url,
    };
    delivery_form_standard.write_headers(&attempt, &lines);
    for (size_t i = 0; i < posted.header_count; i++)
        header_lines_add(&lines, posted.headers[i].name, posted.headers[i].value);
    if (payload_room.failed || header_room.failed)
        goto out;
    for (size_t i = 0; i < lines.count; i++)
        headers[i] = header_lines_at(&lines, i);
    const struct remote_request request = {
        .url = settings->url,
        .method = job_method_word(job->method),
        .body = payload,
        .headers = headers,
        .header_count = lines.count,
        .answer_max = LEASE_RESULT_MAX,
        .timeout_ms = settings->timeout_ms,
    };
    call = remote_call_start(calls, &request, done, arg);
out:
    posted_job_fini(&posted);
    buffer_fini(&payload_room);
    buffer_fini(&header_room);
    buffer_fini(&id);
    return call;
}

/* ---- the answer ---- */

void post_end_init(struct post_end *end)
{
    *end = (struct post_end){.delay_ms = -1};
    buffer_init_fallible(&end->error, ERROR_MAX);
    buffer_init_fallible(&end->result, (size_t)2 * LEASE_RESULT_MAX);
}

void post_end_fini(struct post_end *end)
{
    buffer_fini(&end->error);
    buffer_fini(&end->result);
}

/* Writes the answer as the result of the job, as far as a delivery would keep it. */
static void write_result(struct slice answer, struct buffer *result)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault fault;
    struct json_writer json = json_writer_to(result);
    answer = slice_trim(answer);
    if (answer.size == 0)
        return;
    if (json_check(answer, &limits, &fault) == STATUS_OK)
        buffer_append(result, answer);
    else if (utf8_is_sound_text(answer.data, answer.size))
        json_put_text(&json, answer);
    if (result->failed || result->size > LEASE_RESULT_MAX)
        buffer_clear(result);
}

/* Returns the wait of Retry-After, at most a day as for a delivery, or -1. */
static int64_t retry_after_ms(const char *value, int64_t now_ms)
{
    uint64_t seconds;
    int64_t at_ms, wait_ms = -1;
    if (value && slice_to_number(slice_of(value), INT32_MAX, &seconds))
        wait_ms = (int64_t)seconds * 1000;
    else if (value && http_date_parse(slice_of(value), &at_ms))
        wait_ms = at_ms > now_ms ? at_ms - now_ms : 0;
    return wait_ms < ENDING_RETRY_AFTER_MAX_MS ? wait_ms : ENDING_RETRY_AFTER_MAX_MS;
}

/* Writes the status and the first line of the answer, or why there is no answer. */
static void write_error(struct buffer *error, long status, struct slice answer)
{
    struct slice line, rest;
    slice_cut(slice_trim(answer), '\n', &line, &rest);
    if (status)
        buffer_printf(error, "status %ld%s", status, line.size ? ": " : "");
    if (line.size > ERROR_MAX / 2)
        line.size = ERROR_MAX / 2;
    buffer_append(error, line);
}

void post_judge(const struct post_settings *settings, const struct remote_call *call, long status,
                struct slice body, struct post_end *end)
{
    struct job job;
    const char *again = status ? remote_call_header(call, "Duepost-Again") : NULL;
    const char *defer = status ? remote_call_header(call, "Duepost-Defer") : NULL;
    const char *after = status ? remote_call_header(call, "Retry-After") : NULL;
    const struct attempt_result result = {
        .at_ms = clock_wall_ms(), .status = (int)status, .error = status ? FAILURE_NONE : FAILURE_CONNECT};
    job_init(&job);
    const struct form_answer answer = {
        .job = &job,
        .result = &result,
        .retry_after_ms = retry_after_ms(after, result.at_ms),
        .has_again = again,
        .again = slice_trim(slice_of(again)),
        .has_defer = defer,
        .defer = slice_trim(slice_of(defer)),
        .may_defer = true, /* any lease can be ended later */
    };
    struct form_judgement judgement;
    delivery_form_judge(&delivery_form_standard, &answer, &judgement);
    bool is_success = attempt_result_is_success(&result) && !judgement.reply_fault;
    if (is_success && judgement.defer_ms) {
        end->action = "extend";
        end->lease_ms = judgement.defer_ms;
    } else if (is_success && judgement.again_ms) {
        end->action = "retry";
        end->delay_ms = judgement.again_ms;
        buffer_printf(&end->error, "not yet: Duepost-Again: %s", again);
    } else if (is_success) {
        end->action = "complete";
        if (settings->are_results_kept && !remote_call_is_cut(call))
            write_result(body, &end->result);
    } else {
        end->action = judgement.final.size ? "bury" : "retry";
        end->delay_ms = judgement.final.size ? -1 : judgement.at_least_ms;
        if (judgement.reply_fault)
            buffer_printf(&end->error, "%s", judgement.reply_fault);
        else
            write_error(&end->error, status, body);
    }
}

#include "job/delivery/batch.h"

#include <stdio.h>

#include "base/memory.h"
#include "job/text/json.h"
#include "job/text/member.h"

/* ---- the body ---- */

void batch_body_begin(struct buffer *body)
{
    buffer_append_byte(body, '[');
}

void batch_body_add(struct buffer *body, const struct job *job, int attempt)
{
    buffer_append(body, body->size > 1 ? SLICE(",{\"jobId\":") : SLICE("{\"jobId\":"));
    buffer_append_json(body, job->job_id);
    buffer_append(body, SLICE(",\"topic\":"));
    buffer_append_json(body, job->topic);
    if (job->key.size) {
        buffer_append(body, SLICE(",\"key\":"));
        buffer_append_json(body, job->key);
    }
    buffer_append(body, SLICE(",\"attempt\":"));
    buffer_append_number(body, attempt);
    for (size_t i = 0; i < job->labels.count; i++) {
        buffer_append(body, i ? SLICE(",") : SLICE(",\"labels\":["));
        buffer_append_json(body, job->labels.items[i]);
    }
    if (job->labels.count)
        buffer_append_byte(body, ']');
    if (job->has_body_base64) {
        buffer_append(body, SLICE(",\"bodyBase64\":"));
        buffer_append_json(body, job->body_base64);
    } else if (job->body.size) {
        buffer_append(body, SLICE(",\"body\":"));
        buffer_append(body, job->body);
    }
    buffer_append_byte(body, '}');
}

void batch_body_end(struct buffer *body)
{
    buffer_append_byte(body, ']');
}

/* ---- the answer ---- */

/* Finds the array results. Returns false if the answer is not an object that begins with it. */
static bool open_results(struct slice answer, struct json_cursor *results)
{
    struct json_cursor top;
    struct slice key;
    if (!json_open(answer, &top) || top.close != '}')
        return false;
    while (json_next_key(&top, &key)) {
        struct slice value;
        if (slice_equal(key, SLICE("\"results\"")))
            return json_open(slice_from(top.at, (size_t)(top.end - top.at)), results) &&
                   results->close == ']';
        if (!json_take_value(&top, &value))
            return false;
    }
    return false;
}

bool batch_has_results(struct slice answer)
{
    struct json_cursor results;
    return open_results(answer, &results);
}

bool batch_may_have_results(struct slice part)
{
    while (part.size && strchr(" \t\r\n", part.data[0]))
        part = slice_skip(part, 1);
    return part.size == 0 || part.data[0] == '{';
}

static void batch_fail(struct batch_result *result, const char *detail)
{
    *result = (struct batch_result){.verdict = BATCH_FAILED};
    snprintf(result->detail, sizeof result->detail, "%s", detail);
}

static void copy_detail(struct batch_result *result, struct slice text)
{
    size_t size = text.size < BATCH_DETAIL_MAX ? text.size : BATCH_DETAIL_MAX;
    while (size > 0 && size < text.size && ((unsigned char)text.data[size] & 0xc0) == 0x80)
        size--; /* no part of a character */
    if (size > 0)
        memcpy(result->detail, text.data, size);
    for (size_t i = 0; i < size; i++) /* a record has no detail that needs escapes, see attempt_result */
        if ((unsigned char)result->detail[i] < ' ' || strchr("\"\\\x7f", result->detail[i]))
            result->detail[i] = result->detail[i] == '"' ? '\'' : ' ';
    result->detail[size] = '\0';
}

/* Reads a result that is for this job. */
static void read_result(struct json_cursor *members, struct batch_result *result)
{
    struct slice key, value;
    struct job_errors ignored;
    char room[4 * BATCH_DETAIL_MAX];
    struct buffer text = buffer_of(room, sizeof room);
    batch_fail(result, "the result of the job says neither ok, retry nor bury");
    job_errors_clear(&ignored);
    while (json_next_member(members, &key, &value)) {
        if (slice_equal(key, SLICE("\"ok\"")) && slice_equal(value, SLICE("true"))) {
            *result = (struct batch_result){.verdict = BATCH_DELIVERED};
        } else if (slice_equal(key, SLICE("\"ok\"")) && slice_equal(value, SLICE("false"))) {
            batch_fail(result, "");
        } else if (slice_equal(key, SLICE("\"retry\""))) {
            batch_fail(result, "");
            result->has_wait =
                member_seconds(&ignored, "retry", value, 0, JOB_DELAY_MAX_MS, &result->wait_ms);
            if (!result->has_wait)
                batch_fail(result, "the result of the job has a retry that is not a duration");
        } else if (slice_equal(key, SLICE("\"bury\"")) && json_is_text(value)) {
            result->verdict = BATCH_BURIED;
            copy_detail(result, json_text(value, &text));
        } else {
            continue;
        }
        return;
    }
}

static void add_found(struct batch_results *results, struct slice job_id, struct slice item)
{
    if (results->count == results->capacity) {
        results->capacity = results->capacity ? 2 * results->capacity : 64;
        results->items = memory_resize(results->items, results->capacity * sizeof *results->items);
    }
    results->items[results->count++] = (struct batch_found){job_id, item};
}

void batch_results_read(struct slice answer, bool is_cut, struct batch_results *results)
{
    struct json_cursor array, members;
    struct slice item, key, value;
    *results = (struct batch_results){.count = 0};
    if (!open_results(answer, &array))
        return;
    while (json_next_item(&array, &item)) {
        if (!json_open(item, &members) || members.close != '}')
            continue;
        while (json_next_member(&members, &key, &value))
            if (slice_equal(key, SLICE("\"jobId\"")) && json_is_text(value))
                add_found(results, value, item);
    }
    results->are_whole = array.is_ended && !is_cut;
}

void batch_results_fini(struct batch_results *results)
{
    free(results->items);
}

/* text: a JSON string */
static bool is_job_id(struct slice text, struct slice job_id)
{
    char room[JOB_ID_MAX * 6];
    struct buffer decoded = buffer_of(room, sizeof room);
    if (slice_equal(slice_from(text.data + 1, text.size - 2), job_id))
        return !json_has_escapes(text);
    return json_has_escapes(text) && slice_equal(json_text(text, &decoded), job_id);
}

void batch_result_of(const struct batch_results *results, struct slice job_id, struct batch_result *result)
{
    struct json_cursor members;
    for (size_t i = 0; i < results->count; i++) {
        if (is_job_id(results->items[i].job_id, job_id) && json_open(results->items[i].item, &members)) {
            read_result(&members, result);
            return;
        }
    }
    batch_fail(result, results->are_whole ? "the results leave this job out"
                                          : "the answer has unreadable results, or more than 64 KiB of them");
}

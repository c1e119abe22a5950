#include "job/job.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdio.h>

#include "base/encoding.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "job/retry.h"
#include "job/text/json.h"

/* ---- results of attempts ---- */

struct slice attempt_detail(struct slice value)
{
    bool is_one = json_is_text(value) && value.size <= ATTEMPT_DETAIL_MAX + 2 && !json_has_escapes(value);
    return is_one ? slice_from(value.data + 1, value.size - 2) : SLICE("");
}

void attempt_result_add(struct json_writer *json, const struct attempt_result *result)
{
    if (result->error == FAILURE_NONE) {
        json_add_number(json, "status", result->status);
        return;
    }
    json_add_text(json, "error", slice_of(failure_word(result->error)));
    if (result->detail.size)
        json_add_text(json, "errorDetail", result->detail);
}

bool attempt_result_is_success(const struct attempt_result *result)
{
    return result->error == FAILURE_NONE && result->status >= 200 && result->status <= 299;
}

/* ---- a job ---- */

void job_init(struct job *job)
{
    memset(job, 0, offsetof(struct job, labels));
    job->timeout_ms = JOB_TIMEOUT_MS;
    job->labels.count = job->schedule.count = job->unknown.count = 0;
}

void job_fini(struct job *job)
{
    buffer_fini(&job->text);
    buffer_fini(&job->opened);
}

int64_t job_due_ms(const struct job *job, int64_t created_ms)
{
    if (job->has_due_at)
        return job->due_at_ms > created_ms ? job->due_at_ms : created_ms;
    return created_ms + job->delay_ms;
}

int64_t job_expires_ms(const struct job *job, int64_t created_ms)
{
    if (job->has_expires_at)
        return job->expires_at_ms;
    return job->has_ttl ? created_ms + job->ttl_ms : JOB_NEVER_MS;
}

bool job_was_replaced(const struct job *job)
{
    return slice_equal(job->reason, SLICE(JOB_REASON_REPLACED));
}

bool job_is_expired(const struct job *job, int64_t now_ms)
{
    return now_ms >= job_expires_ms(job, job->created_ms);
}

static const struct retry_schedule *schedule_of(const struct job *job, const struct retry_schedule *fallback)
{
    return job->has_schedule ? &job->schedule : fallback;
}

int job_max_retries(const struct job *job, const struct retry_schedule *fallback)
{
    size_t steps = schedule_of(job, fallback)->count;
    if (steps == 0 && job->retry_wait.size == 0) /* the job has no wait of its own */
        return 0;
    return job->has_retry ? job->retry : (int)steps;
}

int64_t job_wait_ms(const struct job *job, const struct retry_schedule *fallback, int n)
{
    const struct retry_schedule *schedule = schedule_of(job, fallback);
    int64_t wait_ms;
    if (job->retry_wait.size == 0)
        return retry_schedule_wait_ms(schedule, n);
    if (retry_expression_wait_ms(job->retry_wait, n - 1, &wait_ms))
        return wait_ms;
    return retry_schedule_wait_ms(schedule->count ? schedule : &retry_schedule_default, n);
}

/* ---- the body ---- */

struct slice job_payload(const struct job *job, struct buffer *scratch)
{
    if (json_is_text(job->body))
        return json_text(job->body, scratch);
    if (!job->has_body_base64)
        return job->body;
    scratch->failed |= !base64_decode(job->body_base64, scratch);
    return buffer_slice(scratch);
}

bool job_has_broken_body(const struct job *job)
{
    static const struct json_limits limits = {JSON_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault ignored;
    const char *end = slice_end(job->body);
    if (job->has_body_base64)
        return !base64_is_valid(job->body_base64);
    if (!json_is_text(job->body) || json_plain_end(job->body.data + 1, end - 1) == end - 1)
        return false; /* most texts have no escapes, so nothing in them can be broken */
    return json_check(job->body, &limits, &ignored) == STATUS_INVALID;
}

bool job_needs_content_type(const struct job *job)
{
    return job->method == JOB_METHOD_POST || job->body.size || job->has_body_base64;
}

struct slice job_content_type(const struct job *job, struct slice payload)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault ignored;
    if (job->has_body_base64)
        return SLICE("application/octet-stream");
    switch (json_is_text(job->body) ? json_check(payload, &limits, &ignored) : STATUS_OK) {
    case STATUS_OK:
        return SLICE("application/json");
    case STATUS_NO_MEMORY:
        return (struct slice){NULL, 0};
    default:
        return SLICE("text/plain; charset=utf-8");
    }
}

const struct slice *job_header(const struct job *job, struct slice name)
{
    return headers_find(job->headers, job->header_count, name);
}

/* ---- keys, priorities, labels ---- */

bool lane_key_is_valid(struct slice text)
{
    return text.size <= LANE_KEY_MAX && utf8_is_text(text.data, text.size);
}

int job_priority(const struct job *job)
{
    return job->has_priority ? job->priority : JOB_PRIORITY_DEFAULT;
}

bool job_label_is_valid(struct slice text)
{
    return text.size <= JOB_LABEL_MAX && utf8_is_text(text.data, text.size);
}

bool job_labels_have(const struct job_labels *labels, struct slice label)
{
    for (size_t i = 0; i < labels->count; i++)
        if (slice_equal(labels->items[i], label))
            return true;
    return false;
}

bool job_labels_are_same(const struct job_labels *a, const struct job_labels *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (!job_labels_have(b, a->items[i]))
            return false;
    return a->count == b->count;
}

/* ---- states and tags ---- */

const char *job_state_word(enum job_state state)
{
    static const char *const words[] = {"delayed", "ready", "leased", "dead", "delivered", "cancelled"};
    return words[state];
}

enum { DIGEST_BYTES = 20, HEAD_MAX = 64 };

/* SHA-1 is enough to detect changes. A client could construct two records with the same tag, but only among
 * its own records. */
void job_tag_make(struct slice state, int64_t place_ms, struct slice record, char tag[JOB_TAG_SIZE])
{
    unsigned char digest[DIGEST_BYTES];
    char head[HEAD_MAX];
    int size = snprintf(head, sizeof head, "%.*s %lld ", SLICE_ARG(state), (long long)place_ms);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    assert(context && size > 0 && size < HEAD_MAX);
    int ok = EVP_DigestInit_ex(context, EVP_sha1(), NULL) && EVP_DigestUpdate(context, head, (size_t)size) &&
             EVP_DigestUpdate(context, record.data, record.size) && EVP_DigestFinal_ex(context, digest, NULL);
    assert(ok);
    EVP_MD_CTX_free(context);
    hex_write(tag, digest, DIGEST_BYTES);
    tag[JOB_TAG_SIZE - 1] = '\0';
}

void job_tag_of(const struct stored_job *job, char tag[JOB_TAG_SIZE])
{
    job_tag_make(slice_of(job_state_word(job->state)), job->state == JOB_STATE_LEASED ? 0 : job->at_ms,
                 job->record, tag);
}

bool job_tags_match(struct slice tags, const char tag[JOB_TAG_SIZE])
{
    bool is_excluded = tags.size && tags.data[0] == JOB_TAGS_EXCLUDED;
    if (is_excluded)
        tags = slice_skip(tags, 1);
    if (tags.size == 0 || slice_equal(tags, SLICE("*")))
        return !is_excluded;
    return (memmem(tags.data, tags.size, tag, JOB_TAG_SIZE - 1) != NULL) != is_excluded;
}

/* ---- throttle and debounce ---- */

/* A key has a newline, so it is not the idempotency key of a request. */
static void write_key(const char *kind, struct slice topic, struct slice key, struct buffer *text)
{
    buffer_append_byte(text, ' ');
    buffer_append(text, topic);
    buffer_append(text, SLICE("/\n"));
    buffer_append(text, slice_of(kind));
    buffer_append_byte(text, '\n');
    buffer_append(text, key);
}

void job_write_throttle(const struct job *job, struct buffer *text)
{
    buffer_append(text, SLICE("\nthrottle "));
    buffer_append_number(text, job->throttle_per_ms);
    write_key("throttle", job->topic, job->throttle_key, text);
}

void job_write_debounce(const struct job *job, struct buffer *text)
{
    int64_t most_ms = job->debounce_max_ms;
    if (most_ms == 0 && job->debounce_wait_ms < JOB_DELAY_MAX_MS / JOB_DEBOUNCE_WAITS)
        most_ms = JOB_DEBOUNCE_WAITS * job->debounce_wait_ms;
    buffer_append_byte(text, '~');
    buffer_append_number(text, job->debounce_wait_ms);
    buffer_append_byte(text, ' ');
    buffer_append_number(text, most_ms ? most_ms : JOB_DELAY_MAX_MS);
    write_key("debounce", job->topic, job->debounce_key, text);
}

/* patch.c - PATCH /jobs/<topic>/<jobId>: other members of a job.
 *
 * It reads the job, makes the new one, and writes it unless the job has changed meanwhile; then it begins
 * anew. */
#include "api/audit.h"
#include "http/etag.h"
#include "api/handlers.h"
#include "api/problem.h"
#include "api/target_check.h"
#include "api/view.h"
#include "base/memory.h"
#include "job/job_patch.h"
#include "job/topic_settings.h"

enum { TRIES_MAX = 20, MORE_MAX = 1024 };

struct patch {
    struct exchange *exchange;
    enum job_state state; /* of the job that was read */
    int64_t at_ms, until_ms;
    char tag[JOB_TAG_SIZE];
    bool is_moved;
    struct buffer record;   /* the new one */
    struct buffer settings; /* of its topic, when it was read */
    int tries;
};

static void read_job(struct patch *);

static void patch_end(struct patch *patch)
{
    buffer_fini(&patch->record);
    buffer_fini(&patch->settings);
    free(patch);
}

static void answer_changed(const struct patch *patch, int64_t due_ms, int64_t now_ms)
{
    struct exchange *exchange = patch->exchange;
    struct buffer *body = exchange_scratch(exchange);
    struct etag etag;
    struct store_job job = {.id = exchange->key,
                            .record = buffer_slice(&patch->record),
                            .settings = buffer_slice(&patch->settings),
                            .state = patch->state,
                            .at_ms = patch->at_ms,
                            .until_ms = patch->until_ms};
    if (patch->is_moved) {
        job.state = due_ms > now_ms ? JOB_STATE_DELAYED : JOB_STATE_READY;
        job.at_ms = due_ms;
    }
    struct http_header header = view_etag(&job, &etag);
    view_write(body, &job, api_of(exchange)->options.schedule);
    exchange_answer(exchange, 200, &header, 1, buffer_slice(body));
}

static void on_changed(void *arg, enum status status, int64_t due_ms, int64_t now_ms)
{
    struct patch *patch = arg;
    if (status == STATUS_STALE && ++patch->tries < TRIES_MAX) {
        read_job(patch);
        return;
    }
    audit_job(patch->exchange, "job_changed", status);
    if (status == STATUS_STALE)
        exchange_refuse(patch->exchange, 503, "The job changes all the time; nothing changed.");
    else if (status != STATUS_OK)
        problem_answer_status(patch->exchange, status, "Read the job to see, or repeat the request.");
    else
        answer_changed(patch, due_ms, now_ms);
    patch_end(patch);
}

static void answer_no_memory(struct patch *patch)
{
    exchange_refuse(patch->exchange, 503, "There is no memory for the job; nothing changed.");
    patch_end(patch);
}

static void change(struct patch *patch, const struct job_patched *patched)
{
    const struct job *job = &patched->job;
    struct exchange *exchange = patch->exchange;
    patch->is_moved = patched->is_moved && patch->state != JOB_STATE_DEAD;
    buffer_clear(&patch->record);
    job_write(job, &patch->record);
    if (patch->record.failed) {
        answer_no_memory(patch);
        return;
    }
    struct store_change call = {
        .id = exchange->key,
        .tag = slice_of(patch->tag),
        .record = buffer_slice(&patch->record),
        .is_moved = patch->is_moved,
        .when = {job->has_due_at, job->has_due_at ? job->due_at_ms : job->delay_ms},
    };
    store_change(api_of(exchange)->options.store, &call, on_changed, patch);
}

/* The new job from the one that was read. False: it has answered. */
static bool make_job(const struct patch *patch, const struct store_job *stored, struct buffer *text,
                     struct job_patched *patched)
{
    struct job_errors errors;
    struct exchange *exchange = patch->exchange;
    struct job_patch call = {
        .id = exchange->key,
        .record = stored->record,
        .text = http_request_body(exchange->request),
        .now_ms = stored->now_ms,
        .due_ms = stored->state == JOB_STATE_DEAD ? 0 : stored->at_ms,
    };
    enum status status = job_patch(&call, text, patched, &errors);
    if (status == STATUS_UNREADABLE)
        problem_answer_conflict(exchange, PROBLEM_UNREADABLE, stored);
    else if (status == STATUS_LACKING)
        problem_answer_conflict(exchange, PROBLEM_LACKING, stored);
    else if (status != STATUS_OK)
        problem_answer_invalid(exchange, status, "job", &errors);
    if (status != STATUS_OK)
        return false;
    if (patched->has_url && !target_check(exchange, patched->job.url)) {
        job_patched_fini(patched);
        return false;
    }
    return true;
}

static bool is_seen(const struct exchange *exchange, const struct store_job *stored)
{
    char tag[JOB_TAG_SIZE];
    store_job_tag(stored, tag);
    return job_tags_match(buffer_slice(&exchange->seen), tag);
}

static bool is_refused(struct exchange *exchange, enum status status, const struct store_job *stored)
{
    if (status != STATUS_OK)
        problem_answer_status(exchange, status, "Nothing changed; repeat the request.");
    else if (stored->state == JOB_STATE_LEASED)
        problem_answer_conflict(exchange, "The job is being delivered.", stored);
    else if (!is_seen(exchange, stored))
        etag_refuse(exchange);
    else
        return false;
    return true;
}

static void on_read(void *arg, enum status status, const struct store_job *stored)
{
    struct patch *patch = arg;
    struct exchange *exchange = patch->exchange;
    struct job_patched patched;
    struct buffer text;
    if (is_refused(exchange, status, stored)) {
        patch_end(patch);
        return;
    }
    patch->state = stored->state;
    patch->at_ms = stored->at_ms;
    patch->until_ms = stored->until_ms;
    store_job_tag(stored, patch->tag);
    buffer_clear(&patch->settings);
    buffer_append(&patch->settings, stored->settings);
    buffer_init_fallible(&text, stored->record.size + http_request_body(exchange->request).size + MORE_MAX);
    buffer_reserve(&text, text.max);
    if (text.failed) {
        answer_no_memory(patch);
    } else if (make_job(patch, stored, &text, &patched)) {
        change(patch, &patched);
        job_patched_fini(&patched);
    } else {
        patch_end(patch);
    }
    buffer_fini(&text);
}

static void read_job(struct patch *patch)
{
    store_read(api_of(patch->exchange)->options.store, patch->exchange->key, on_read, patch);
}

void patch_handle(struct exchange *exchange)
{
    if (problem_answer_sibling(exchange) || !etag_read_matches(exchange) || problem_answer_unready(exchange))
        return;
    struct patch *patch = NEW(struct patch);
    patch->exchange = exchange;
    buffer_init_fallible(&patch->record, JOB_RECORD_MAX);
    buffer_init(&patch->settings, TOPIC_SETTINGS_BYTES_MAX);
    read_job(patch);
}

/* replace.c - PUT /jobs/<topic>/<jobId>: a job in the place of another one, or a new one. */
#include <assert.h>
#include <stdio.h>

#include "api/audit.h"
#include "http/etag.h"
#include "api/handlers.h"
#include "api/problem.h"
#include "api/target_check.h"
#include "http/trace_context.h"
#include "api/view.h"
#include "base/clock.h"
#include "base/memory.h"

enum { OPENING_MAX = 40 };

struct replacement {
    struct exchange *exchange;
    struct buffer record; /* behind OPENING_MAX bytes for its opening, which the script writes */
};

static void replacement_free(struct replacement *replacement)
{
    buffer_fini(&replacement->record);
    free(replacement);
}

/* The record as it stands in Redis now. */
static struct slice complete_record(const struct replacement *replacement, int64_t created_ms)
{
    char opening[OPENING_MAX + 1];
    int size = snprintf(opening, sizeof opening, "{\"createdAt\":%lld,", (long long)created_ms);
    assert(size > 0 && size <= OPENING_MAX);
    size_t first = OPENING_MAX - (size_t)size;
    memcpy(replacement->record.data + first, opening, (size_t)size);
    return slice_skip(buffer_slice(&replacement->record), first);
}

static void answer_placed(const struct replacement *replacement, const struct store_replaced *place)
{
    struct exchange *exchange = replacement->exchange;
    struct buffer *body = exchange_scratch(exchange);
    struct etag etag;
    struct store_job job = {
        .state = place->due_ms > place->now_ms ? JOB_STATE_DELAYED : JOB_STATE_READY,
        .at_ms = place->due_ms,
        .record = complete_record(replacement, place->created_ms),
    };
    struct http_header header = view_etag(&job, &etag);
    buffer_append_byte(body, '{');
    view_write_placed(body, exchange->key, JOB_STATE_DELAYED, place->due_ms);
    buffer_append_byte(body, '}');
    exchange_answer(exchange, place->was_there ? 200 : 201, &header, 1, buffer_slice(body));
}

static void on_replaced(void *arg, enum status status, const struct store_replaced *place)
{
    struct replacement *replacement = arg;
    struct exchange *exchange = replacement->exchange;
    struct store_job leased = {.state = JOB_STATE_LEASED};
    if (status != STATUS_OK || place->was_there) /* a new job is no change */
        audit_job(exchange, "job_replaced", status);
    switch (status) {
    case STATUS_OK:
        if (!place->was_there)
            metrics_accepted(api_of(exchange)->options.metrics, exchange->topic);
        answer_placed(replacement, place);
        break;
    case STATUS_LEASED:
        problem_answer_conflict(exchange, "The job is being delivered.", &leased);
        break;
    case STATUS_STALE:
        etag_refuse(exchange);
        break;
    default:
        problem_answer_status(exchange, status, "Repeating the request is safe: the job starts over.");
    }
    replacement_free(replacement);
}

static void replace(struct exchange *exchange, struct job *job)
{
    static const char opening[OPENING_MAX];
    struct trace_context trace;
    struct replacement *replacement = NEW(struct replacement);
    replacement->exchange = exchange;
    buffer_init_fallible(&replacement->record, JOB_RECORD_MAX);
    trace_context_take(exchange->request, &trace, job);
    buffer_append(&replacement->record, slice_from(opening, OPENING_MAX));
    job_write(job, &replacement->record);
    if (replacement->record.failed) {
        exchange_refuse(exchange, 503, "There is no memory for the job; nothing changed.");
        replacement_free(replacement);
        return;
    }
    struct store_replace call = {
        .id = exchange->key,
        .when = {job->has_due_at, job->has_due_at ? job->due_at_ms : job->delay_ms},
        .record = slice_skip(buffer_slice(&replacement->record), OPENING_MAX),
        .tags = buffer_slice(&exchange->seen),
    };
    store_replace(api_of(exchange)->options.store, &call, on_replaced, replacement);
}

void replace_handle(struct exchange *exchange)
{
    struct job job;
    struct job_errors errors;
    struct slice body = http_request_body(exchange->request);
    if (problem_answer_sibling(exchange))
        return;
    enum status status = job_parse_named(exchange->key, body, clock_wall_ms(), &job, &errors);
    if (status != STATUS_OK) {
        problem_answer_invalid(exchange, status, "job", &errors);
        return;
    }
    if (target_check(exchange, job.url) && etag_read_matches(exchange) && !problem_answer_unready(exchange))
        replace(exchange, &job);
    job_fini(&job);
}

/* change.c - DELETE /jobs/<topic>/<jobId> and POST /jobs/<topic>/<jobId>/run */
#include "api/audit.h"
#include "api/etag.h"
#include "api/handlers.h"
#include "api/problem.h"
#include "api/view.h"

static void on_cancelled(void *arg, enum status status, bool was_leased)
{
    struct exchange *exchange = arg;
    audit_job(exchange, "job_cancelled", status);
    if (status == STATUS_STALE) {
        etag_answer_mismatch(exchange);
        return;
    }
    if (status != STATUS_OK) {
        problem_answer_status(exchange, status, "Repeat the cancel: a 404 then says that the job is gone.");
        return;
    }
    metrics_ended(exchange->api->options.metrics, exchange->topic, METRICS_END_CANCELLED);
    struct slice body = was_leased ? SLICE("{\"state\":\"cancelled\",\"attemptInFlight\":true}")
                                   : SLICE("{\"state\":\"cancelled\",\"attemptInFlight\":false}");
    exchange_answer_json(exchange, 200, NULL, 0, body);
}

void cancel_handle(struct exchange *exchange)
{
    if (etag_read_match(exchange) && !problem_answer_unready(exchange))
        store_cancel(exchange->api->options.store, exchange->key, buffer_slice(&exchange->seen), on_cancelled,
                     exchange);
}

static void on_run(void *arg, enum status status, int64_t due_ms)
{
    struct exchange *exchange = arg;
    audit_job(exchange, "job_run", status);
    if (status == STATUS_LEASED) {
        struct store_job job = {.state = JOB_STATE_LEASED};
        problem_answer_conflict(exchange, "The job is being delivered.", &job);
        return;
    }
    if (status == STATUS_EXPIRED) {
        struct store_job job = {.state = JOB_STATE_DEAD};
        problem_answer_conflict(exchange, "The job has expired, and would be dead at once again.", &job);
        return;
    }
    if (status != STATUS_OK) {
        problem_answer_status(exchange, status, "Repeating the request is safe.");
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    buffer_append_byte(body, '{');
    view_write_placed(body, exchange->key, JOB_STATE_DELAYED, due_ms);
    buffer_append_byte(body, '}');
    exchange_answer_json(exchange, 202, NULL, 0, buffer_slice(body));
}

void run_handle(struct exchange *exchange)
{
    if (!problem_answer_unready(exchange))
        store_run(exchange->api->options.store, exchange->key, (struct store_when){false, 0}, on_run,
                  exchange);
}

/* DELETE /jobs/<topic>/<jobId> */
#include "api/audit.h"
#include "http/etag.h"
#include "api/handlers.h"
#include "api/problem.h"

static void on_cancelled(void *arg, enum status status, bool was_leased)
{
    struct exchange *exchange = arg;
    audit_job(exchange, "job_cancelled", status);
    if (status == STATUS_STALE) {
        etag_refuse(exchange);
        return;
    }
    if (status != STATUS_OK) {
        problem_answer_status(exchange, status, "Repeat the cancel: a 404 then says that the job is gone.");
        return;
    }
    metrics_ended(api_of(exchange)->options.metrics, exchange->topic, METRICS_END_CANCELLED);
    struct slice body = was_leased ? SLICE("{\"state\":\"cancelled\",\"attemptInFlight\":true}")
                                   : SLICE("{\"state\":\"cancelled\",\"attemptInFlight\":false}");
    exchange_answer(exchange, 200, NULL, 0, body);
}

void cancel_handle(struct exchange *exchange)
{
    if (etag_read_match(exchange) && !problem_answer_unready(exchange))
        store_cancel(api_of(exchange)->options.store, exchange->key, buffer_slice(&exchange->seen), on_cancelled,
                     exchange);
}

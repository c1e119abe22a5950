/* POST /jobs/<topic>/<jobId>/run */
#include "api/audit.h"
#include "api/handlers.h"
#include "api/problem.h"
#include "api/view.h"

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
        store_run(exchange->api->options.store, exchange->key, SLICE(""), (struct store_when){false, 0},
                  on_run, exchange);
}

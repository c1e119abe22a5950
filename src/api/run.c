/* POST /jobs/<topic>/<jobId>/run */
#include "api/audit.h"
#include "api/handlers.h"
#include "api/problem.h"
#include "api/view.h"

/* NULL: it stands in nobody's way. */
static const char *conflict_of(enum status status)
{
    switch (status) {
    case STATUS_LEASED:
        return "The job is being delivered.";
    case STATUS_EXISTS:
        return "The job is dead, and meanwhile another job has its id.";
    case STATUS_EXPIRED:
        return "The job has expired, and would be dead at once again.";
    case STATUS_UNREADABLE:
        return PROBLEM_UNREADABLE;
    case STATUS_LACKING:
        return PROBLEM_LACKING;
    default:
        return NULL;
    }
}

static void on_run(void *arg, enum status status, int64_t due_ms)
{
    struct exchange *exchange = arg;
    const char *conflict = conflict_of(status);
    audit_job(exchange, "job_run", status);
    if (conflict) {
        struct store_job job = {.state = status == STATUS_LEASED ? JOB_STATE_LEASED : JOB_STATE_DEAD};
        problem_answer_conflict(exchange, conflict, &job);
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
    exchange_answer(exchange, 202, NULL, 0, buffer_slice(body));
}

void run_handle(struct exchange *exchange)
{
    if (!problem_answer_unready(exchange))
        store_run(api_of(exchange)->options.store, exchange->key, SLICE(""), (struct store_when){false, 0},
                  on_run, exchange);
}

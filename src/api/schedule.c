/* schedule.c - POST /jobs */
#include <stdio.h>

#include "api/handlers.h"
#include "api/idempotency.h"
#include "api/job_batch.h"
#include "api/problem.h"
#include "api/trace_context.h"

static void answer_placed(struct exchange *exchange, const struct verdict *verdict)
{
    struct buffer *body = exchange_scratch(exchange);
    char location[sizeof "/jobs/" + JOB_KEY_MAX];
    int size = snprintf(location, sizeof location, "/jobs/%.*s", SLICE_ARG(verdict->key));
    struct http_header header = {SLICE("Location"), slice_from(location, (size_t)size)};
    buffer_append_byte(body, '{');
    buffer_append(body, verdict->members);
    buffer_append_byte(body, '}');
    exchange_answer_json(exchange, verdict->status, &header, 1, buffer_slice(body));
}

static void on_verdict(void *arg, const struct verdict *verdict)
{
    struct exchange *exchange = arg;
    if (verdict->status < 400)
        answer_placed(exchange, verdict);
    else
        problem_answer_members(exchange, verdict->status, verdict->members);
}

static void schedule_one(struct exchange *exchange)
{
    struct submission *submission = &exchange->submission;
    struct verdict verdict;
    struct job job;
    submission_init(submission, exchange, http_request_body(exchange->request), on_verdict, exchange);
    if (!submission_check(submission, &job, &verdict)) {
        on_verdict(exchange, &verdict);
        return;
    }
    if (idempotency_begin(exchange, job.topic)) {
        struct trace_context trace;
        trace_context_take(exchange->request, &trace, &job);
        submission->once = buffer_slice(&exchange->once);
        submission_send(submission, &job);
    }
    job_fini(&job);
}

void schedule_handle(struct exchange *exchange)
{
    if (job_batch_is_meant(exchange))
        job_batch_begin(exchange);
    else
        schedule_one(exchange);
}

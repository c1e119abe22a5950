/* schedule.c - POST /jobs */
#include "api/handlers.h"
#include "http/idempotency.h"
#include "api/job_batch.h"
#include "api/problem.h"
#include "http/trace_context.h"
#include "api/submission.h"
#include "base/memory.h"
#include "base/percent.h"

enum { LOCATION_MAX = sizeof "/jobs/" + JOB_TOPIC_MAX + 1 + 3 * JOB_ID_MAX };

static void answer_placed(struct exchange *exchange, const struct verdict *verdict)
{
    struct buffer *body = exchange_scratch(exchange);
    char room[LOCATION_MAX + 1];
    struct buffer location = {.data = room, .capacity = sizeof room, .max = LOCATION_MAX};
    struct slice topic, job_id;
    slice_cut(verdict->key, '/', &topic, &job_id);
    buffer_printf(&location, "/jobs/%.*s/", SLICE_ARG(topic));
    percent_append(&location, job_id);
    struct http_header header = {SLICE("Location"), buffer_slice(&location)};
    buffer_append_byte(body, '{');
    buffer_append(body, verdict->members);
    buffer_append_byte(body, '}');
    exchange_answer(exchange, verdict->status, &header, 1, buffer_slice(body));
}

static void on_verdict(void *arg, const struct verdict *verdict)
{
    struct exchange *exchange = arg;
    if (verdict->status < 400)
        answer_placed(exchange, verdict);
    else
        problem_answer_members(exchange, verdict->status, verdict->members);
}

static void free_submission(void *submission)
{
    submission_fini(submission);
    free(submission);
}

static void schedule_one(struct exchange *exchange)
{
    struct submission *submission = NEW(struct submission);
    struct verdict verdict;
    struct job job;
    submission_init(submission, exchange, http_request_body(exchange->request), on_verdict, exchange);
    exchange_keep(exchange, submission, free_submission);
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

/* submit.c - POST /jobs */
#include "api/job_batch.h"
#include "api/problem.h"
#include "api/sends.h"
#include "api/submission.h"
#include "base/memory.h"
#include "http/idempotency.h"
#include "http/trace_context.h"

static void answer_placed(struct exchange *exchange, unsigned status, struct slice id, struct slice members)
{
    struct buffer *body = exchange_scratch(exchange);
    char room[SUBMISSION_LOCATION_MAX + 1];
    struct buffer location = buffer_of(room, sizeof room);
    submission_write_location(&location, exchange, id, SLICE(""));
    struct http_header header = {SLICE("Location"), buffer_slice(&location)};
    buffer_append_byte(body, '{');
    buffer_append(body, members);
    buffer_append_byte(body, '}');
    exchange_answer(exchange, status, &header, 1, buffer_slice(body));
}

static void on_submitted(void *arg, const struct app_verdict *verdict)
{
    struct exchange *exchange = arg;
    struct buffer *members = exchange_members(exchange);
    unsigned status = submission_write(members, exchange, exchange->state, verdict);
    if (status < 400)
        answer_placed(exchange, status, verdict->job.id, buffer_slice(members));
    else
        problem_answer_members(exchange, status, buffer_slice(members));
}

static void free_submission(void *submission)
{
    app_submission_fini(submission);
    free(submission);
}

static void submit_one(struct exchange *exchange)
{
    struct slice body = http_request_body(exchange->request);
    struct trace_context trace;
    struct job job;
    struct job_errors errors;
    enum status status = job_parse(body, app_now_ms(app_of(exchange)), &job, &errors);
    if (status != STATUS_OK) {
        problem_answer_unparsed(exchange, status, "job", &errors);
        return;
    }
    if (job.group.size) {
        sends_submit(exchange, &job);
        return;
    }
    struct app_submission *submission = NEW(struct app_submission);
    app_submission_init(submission, app_of(exchange), on_submitted, exchange);
    exchange_keep(exchange, submission, free_submission);
    if (app_submission_admit(submission, &exchange->caller, &job, body.size) &&
        idempotency_begin(exchange, job.topic, body)) {
        trace_context_take(exchange, &trace, &job);
        submission->once = buffer_slice(&exchange->once);
        app_submission_send(submission, &job);
    }
    job_fini(&job);
}

HANDLER(submit_handle)
{
    if (job_batch_is_meant(exchange))
        job_batch_begin(exchange);
    else
        submit_one(exchange);
}

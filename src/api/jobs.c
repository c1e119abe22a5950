/* jobs.c - POST /jobs; /jobs/<topic>/<jobId>: GET, PUT, PATCH, DELETE, and the job's run and attempts */
#include "api/api_private.h"

#include "app/jobs.h"
#include "base/memory.h"
#include "http/exchange.h"
#include "http/request_headers.h"
#include "job/attempt_line.h"

/* ---- POST /jobs ---- */

static void on_submitted(void *arg, const struct app_verdict *verdict)
{
    struct exchange *exchange = arg;
    struct buffer *members = exchange_members(exchange);
    unsigned status = submission_write(members, exchange, exchange->state, verdict);
    if (status < 400) {
        struct buffer *body = exchange_scratch(exchange);
        char room[SUBMISSION_LOCATION_MAX + 1];
        struct buffer location = buffer_of(room, sizeof room);
        submission_write_location(&location, exchange, verdict->job.id, SLICE(""));
        struct http_header header = {SLICE("Location"), buffer_slice(&location)};
        buffer_append_byte(body, '{');
        buffer_append(body, buffer_slice(members));
        buffer_append_byte(body, '}');
        exchange_answer(exchange, status, &header, 1, buffer_slice(body));
    } else {
        problem_answer_members(exchange, status, buffer_slice(members), verdict);
    }
}

static void free_submission(void *submission)
{
    app_submission_fini(submission);
    free(submission);
}

HANDLER(submit_handle)
{
    if (job_batch_is_meant(exchange)) {
        job_batch_begin(exchange);
        return;
    }
    struct slice body = http_request_body(exchange->request);
    struct trace_context trace;
    struct job job;
    struct job_errors errors;
    enum status status = app_parse_job(app_of(exchange), SLICE(""), body, &job, &errors);
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

static struct http_header tag_header(const struct stored_job *job, struct etag *etag)
{
    char tag[JOB_TAG_SIZE];
    job_tag_of(job, tag);
    return etag_header(tag, etag);
}

/* Answers with the whole job. */
static void answer_job(struct exchange *exchange, const struct stored_job *job)
{
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    struct etag etag;
    struct http_header header = tag_header(job, &etag);
    view_put_job(&json, job, app_of(exchange)->schedule);
    exchange_answer(exchange, 200, &header, 1, buffer_slice(body));
}

/* Answers with the name, the state and the due time of a job that waits. */
static void answer_placed(struct exchange *exchange, unsigned status, const struct http_header *header,
                          const struct app_verdict *verdict)
{
    const struct stored_job *job = &verdict->job;
    struct stored_job placed = {.id = job->id, .state = JOB_STATE_DELAYED, .at_ms = job->at_ms};
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    view_add_placed(&json, &placed);
    if (verdict->was_leased)
        json_add_bool(&json, "attemptInFlight", true);
    json_end_object(&json);
    exchange_answer(exchange, status, header, header != NULL, buffer_slice(body));
}

/* ---- GET ---- */

static void on_read(void *arg, const struct app_verdict *verdict)
{
    struct exchange *exchange = arg;
    if (verdict->end == STATUS_OK)
        answer_job(exchange, &verdict->job);
    else
        problem_answer_verdict(exchange, verdict, &problem_of_read);
}

HANDLER(read_handle)
{
    if (exchange->query.size)
        sends_read(exchange);
    else
        app_read(app_of(exchange), exchange->key, on_read, exchange);
}

/* ---- PUT ---- */

static void on_replaced(void *arg, const struct app_verdict *verdict)
{
    static const struct problem_words words = {"job",
                                               "Repeating the request is safe: it replaces the job again."};
    struct exchange *exchange = arg;
    struct etag etag;
    if (verdict->end != STATUS_OK) {
        problem_answer_verdict(exchange, verdict, &words);
        return;
    }
    struct http_header header = tag_header(&verdict->job, &etag);
    answer_placed(exchange, verdict->was_there ? 200 : 201, &header, verdict);
}

HANDLER(replace_handle)
{
    struct job job;
    struct job_errors errors;
    struct trace_context trace;
    struct slice body = http_request_body(exchange->request);
    enum status status = app_parse_job(app_of(exchange), exchange->key, body, &job, &errors);
    if (status != STATUS_OK) {
        problem_answer_unparsed(exchange, status, "job", &errors);
        return;
    }
    if (!etag_read_matches(exchange)) {
        job_fini(&job);
        return;
    }
    if (job.group.size) {
        sends_replace(exchange, &job);
        return;
    }
    trace_context_take(exchange, &trace, &job);
    struct app_replace call = {.id = exchange->key, .job = &job, .tags = buffer_slice(&exchange->seen)};
    app_replace(app_of(exchange), &exchange->caller, &call, on_replaced, exchange);
    job_fini(&job);
}

/* ---- PATCH ---- */

static void on_patched(void *arg, const struct app_verdict *verdict)
{
    static const struct problem_words words = {"job",
                                               "Read the job to see the outcome, or repeat the request."};
    struct exchange *exchange = arg;
    if (verdict->end == STATUS_OK)
        answer_job(exchange, &verdict->job);
    else
        problem_answer_verdict(exchange, verdict, &words);
}

HANDLER(patch_handle)
{
    if (!etag_read_matches(exchange))
        return;
    struct app_patch call = {.id = exchange->key,
                             .text = http_request_body(exchange->request),
                             .tags = buffer_slice(&exchange->seen)};
    app_patch(app_of(exchange), &exchange->caller, &call, on_patched, exchange);
}

/* ---- DELETE ---- */

static void on_cancelled(void *arg, const struct app_verdict *verdict)
{
    static const struct problem_words words = {
        "job", "Repeat the request: the answer 404 then means that the job is gone."};
    struct exchange *exchange = arg;
    if (verdict->end != STATUS_OK) {
        problem_answer_verdict(exchange, verdict, &words);
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_text(&json, "state", SLICE("cancelled"));
    json_add_bool(&json, "attemptInFlight", verdict->was_leased);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

HANDLER(cancel_handle)
{
    if (exchange->query.size)
        sends_cancel(exchange);
    else if (etag_read_match(exchange))
        app_cancel(app_of(exchange), &exchange->caller, exchange->key, buffer_slice(&exchange->seen),
                   on_cancelled, exchange);
}

/* ---- POST .../run ---- */

static void on_run(void *arg, const struct app_verdict *verdict)
{
    static const struct problem_words words = {"job", "Repeating the request is safe."};
    struct exchange *exchange = arg;
    if (verdict->end == STATUS_OK)
        answer_placed(exchange, 202, NULL, verdict);
    else
        problem_answer_verdict(exchange, verdict, &words);
}

HANDLER(run_handle)
{
    /* cppcheck-suppress nullPointer ; only the type of the member is used */
    static const struct query_parameter parameters[] = {{"resend", QUERY_FLAG(struct app_run, is_resend)}};
    struct query_reading reading = {.exchange = exchange, .parameters = parameters, .count = 1, .known = 1};
    struct app_run run = {.id = exchange->key};
    char room[QUERY_BYTES_MAX + 1];
    struct buffer text = buffer_of(room, sizeof room);
    query_read(&reading, &run, &text);
    if (query_end(&reading))
        app_run(app_of(exchange), &exchange->caller, &run, on_run, exchange);
}

/* ---- GET .../attempts ---- */

static void on_attempts(void *arg, const struct app_verdict *verdict)
{
    struct exchange *exchange = arg;
    struct slice lines = verdict->lines;
    struct attempt_line line;
    if (verdict->end != STATUS_OK) {
        problem_answer_verdict(exchange, verdict, &problem_of_read);
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_text(&json, "jobId", exchange->job_id);
    json_add_text(&json, "topic", exchange->topic);
    json_add_array(&json, "attempts");
    while (attempt_line_take(&lines, &line)) {
        json_put_object(&json);
        json_add_number(&json, "attempt", line.number);
        if (line.round > 1)
            json_add_number(&json, "round", line.round);
        view_add_result(&json, &line.result);
        attempt_line_add_answer(&json, &line);
        if (line.is_answer_cut)
            json_add_bool(&json, "answerTruncated", true);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

HANDLER(attempts_handle)
{
    app_attempts(app_of(exchange), exchange->key, on_attempts, exchange);
}

/* jobs.c - POST /jobs; /jobs/<topic>/<jobId>: GET, PUT, PATCH, DELETE, and the job's run and attempts */
#include "api/api_private.h"

#include "app/jobs.h"
#include "app/wait.h"
#include "base/duration.h"
#include "base/memory.h"
#include "http/access.h"
#include "http/exchange.h"
#include "http/request_headers.h"
#include "job/attempt_line.h"

/* ---- the query parameter wait ---- */

enum { WAIT_MAX_MS = 60 * 1000, PLACED_MAX = 4096 };

struct wait_query {
    int64_t wait_ms;
    char text[QUERY_BYTES_MAX + 1];
};

static const char *read_wait(void *into, struct slice value)
{
    struct wait_query *query = into;
    return duration_parse(value, WAIT_MAX_MS, &query->wait_ms) ? NULL : "must be 0s to 60s, such as 30s";
}

/* Reads a query that may have only wait. Returns false after answering 400. */
static bool read_wait_query(struct exchange *exchange, struct wait_query *query)
{
    static const struct query_parameter parameters[] = {{"wait", read_wait, 0}};
    struct query_reading reading = {.exchange = exchange, .parameters = parameters, .count = 1, .known = 1};
    struct buffer text = buffer_of(query->text, sizeof query->text);
    query->wait_ms = 0;
    query_read(&reading, query, &text);
    return query_end(&reading);
}

/* Returns whether the token has lost its right during the wait. */
static bool has_lost_right(const struct exchange *exchange)
{
    return exchange->caller.has_left(exchange->caller.peer) && !http_request_has_left(exchange->request);
}

/* Marks a request that waits. Returns false after answering 503. */
static bool begin_to_linger(struct exchange *exchange, void (*on_left)(void *arg), void *arg)
{
    if (http_request_linger(exchange->request, on_left, arg))
        return true;
    exchange_refuse(exchange, 503,
                    "Too many requests wait for jobs (--max-waiting-leases); nothing changed.");
    return false;
}

static struct http_header tag_header(const struct stored_job *job, struct etag *etag)
{
    char tag[JOB_TAG_SIZE];
    job_tag_of(job, tag);
    return etag_header(tag, etag);
}

/* ---- POST /jobs ---- */

/* A request that schedules one job. */
struct submitting {
    struct app_submission submission;
    struct exchange *exchange;
    struct app_wait *wait; /* NULL: not waiting */
    unsigned status;       /* status of the answer, after a wait */
    struct buffer location;
    struct buffer placed; /* body of the answer if the job cannot be read after the wait */
};

static void free_submitting(void *arg)
{
    struct submitting *submitting = arg;
    if (submitting->wait)
        app_wait_drop(submitting->wait);
    app_submission_fini(&submitting->submission);
    buffer_fini(&submitting->location);
    buffer_fini(&submitting->placed);
    free(submitting);
}

static void on_submit_left(void *arg)
{
    struct submitting *submitting = arg;
    if (submitting->wait)
        app_wait_leave(submitting->wait);
}

/* Answers that the job was scheduled. stored: the job after a wait, or NULL. */
static void answer_submitted(struct submitting *submitting, const struct stored_job *stored)
{
    struct exchange *exchange = submitting->exchange;
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    struct etag etag;
    char room[SUBMISSION_LOCATION_MAX + 1];
    struct buffer location = buffer_of(room, sizeof room);
    struct http_header headers[2];
    buffer_append(&location, buffer_slice(&submitting->location));
    headers[0] = (struct http_header){SLICE("Location"), buffer_slice(&location)};
    if (stored) {
        view_put_job(&json, stored, app_of(exchange)->schedule);
        headers[1] = tag_header(stored, &etag);
    } else {
        buffer_append(body, buffer_slice(&submitting->placed));
    }
    exchange_answer(exchange, submitting->status, headers, stored ? 2 : 1, buffer_slice(body));
}

/* If the end of the job was not kept, which is possible only for that of an earlier request, or if Redis is
 * away, the answer is the one without a wait: the job was scheduled. */
static void on_submitted_ended(void *arg, const struct app_verdict *verdict)
{
    struct submitting *submitting = arg;
    submitting->wait = NULL;
    answer_submitted(submitting, verdict->end == STATUS_OK && !has_lost_right(submitting->exchange)
                                     ? &verdict->job
                                     : NULL);
}

static void on_submitted(void *arg, const struct app_verdict *verdict)
{
    struct submitting *submitting = arg;
    struct exchange *exchange = submitting->exchange;
    struct buffer *members = exchange_members(exchange);
    unsigned status = submission_write(members, exchange, &submitting->submission, verdict);
    if (status >= 400) {
        problem_answer_members(exchange, status, buffer_slice(members), verdict);
        return;
    }
    buffer_append_byte(&submitting->placed, '{');
    buffer_append(&submitting->placed, buffer_slice(members));
    buffer_append_byte(&submitting->placed, '}');
    submission_write_location(&submitting->location, exchange, verdict->job.id, SLICE(""));
    submitting->status = status;
    int64_t wait_ms = submitting->submission.wait_ms;
    if (wait_ms > 0 && !http_request_has_left(exchange->request)) {
        const struct app_wait_call call = {.id = verdict->job.id, .wait_ms = wait_ms};
        submitting->wait = app_wait(app_of(exchange), &call, on_submitted_ended, submitting);
        return;
    }
    answer_submitted(submitting, NULL);
}

/* Returns whether the query has no wait. Otherwise answers 400, because what has several jobs. */
static bool waits_for_none(struct exchange *exchange, const struct wait_query *query, const char *what)
{
    if (query->wait_ms == 0)
        return true;
    exchange_refuse(exchange, 400, "wait is for one job, not for %s.", what);
    return false;
}

HANDLER(submit_handle)
{
    struct wait_query query;
    if (!read_wait_query(exchange, &query) ||
        (query.wait_ms > 0 && !access_has_scopes(exchange, SCOPE_READ))) /* the answer shows the whole job */
        return;
    if (job_batch_is_meant(exchange)) {
        if (waits_for_none(exchange, &query, "many"))
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
        if (waits_for_none(exchange, &query, "those of a group"))
            sends_submit(exchange, &job);
        else
            job_fini(&job);
        return;
    }
    struct submitting *submitting = NEW(struct submitting);
    struct app_submission *submission = &submitting->submission;
    submitting->exchange = exchange;
    buffer_init(&submitting->location, SUBMISSION_LOCATION_MAX + 1);
    buffer_init(&submitting->placed, PLACED_MAX);
    app_submission_init(submission, app_of(exchange), on_submitted, submitting);
    submission->wait_ms = query.wait_ms;
    exchange_keep(exchange, submitting, free_submitting);
    if (app_submission_admit(submission, &exchange->caller, &job, body.size) &&
        idempotency_begin(exchange, job.topic, body, job.idempotency_key) &&
        (query.wait_ms == 0 || begin_to_linger(exchange, on_submit_left, submitting))) {
        trace_context_take(exchange, &trace, &job);
        submission->once = buffer_slice(&exchange->once);
        app_submission_send(submission, &job);
    }
    job_fini(&job);
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

/* A request that waits. */
struct reading {
    struct exchange *exchange;
    struct app_wait *wait; /* NULL: the wait has ended */
};

static void free_reading(void *arg)
{
    struct reading *reading = arg;
    if (reading->wait)
        app_wait_drop(reading->wait);
    free(reading);
}

static void on_read_left(void *arg)
{
    const struct reading *reading = arg;
    if (reading->wait)
        app_wait_leave(reading->wait);
}

static void on_waited(void *arg, const struct app_verdict *verdict)
{
    struct reading *reading = arg;
    struct exchange *exchange = reading->exchange;
    struct slice seen = buffer_slice(&exchange->seen);
    char tag[JOB_TAG_SIZE];
    struct etag etag;
    reading->wait = NULL;
    if (has_lost_right(exchange)) {
        exchange_refuse(exchange, 403, "The token has lost this right during the wait.");
        return;
    }
    if (verdict->end == STATUS_OK && seen.size) {
        job_tag_of(&verdict->job, tag);
        struct http_header header = etag_header(tag, &etag);
        if (!job_tags_match(seen, tag)) {
            exchange_answer_as(exchange, 304, SLICE(""), &header, 1, SLICE(""));
            return;
        }
    }
    on_read(exchange, verdict);
}

static void read_and_wait(struct exchange *exchange)
{
    struct wait_query query;
    if (!read_wait_query(exchange, &query) || !etag_read_none_match(exchange))
        return;
    struct reading *reading = NEW(struct reading);
    reading->exchange = exchange;
    exchange_keep(exchange, reading, free_reading);
    if (query.wait_ms > 0 && !begin_to_linger(exchange, on_read_left, reading))
        return;
    const struct app_wait_call call = {
        .id = exchange->key, .tags = buffer_slice(&exchange->seen), .wait_ms = query.wait_ms};
    if (query.wait_ms > 0)
        reading->wait = app_wait(app_of(exchange), &call, on_waited, reading);
    else
        app_read(app_of(exchange), exchange->key, on_waited, reading);
}

HANDLER(read_handle)
{
    if (query_names(exchange, SLICE("wait")))
        read_and_wait(exchange);
    else if (exchange->query.size)
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

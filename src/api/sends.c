#include <stdio.h>

#include "api/api_private.h"
#include "app/groups.h"
#include "base/memory.h"
#include "http/exchange.h"
#include "http/query.h"
#include "http/request_headers.h"
#include "job/group.h"

/* ---- answers ---- */

void sends_add_jobs(struct json_writer *json, struct slice id, const struct sent_job *jobs, size_t count)
{
    struct slice topic, job_id;
    slice_cut(id, '/', &topic, &job_id);
    json_add_array(json, "jobs");
    for (size_t i = 0; i < count; i++) {
        const struct sent_job *job = &jobs[i];
        char room[JOB_ID_MAX + 1];
        struct buffer its_id = buffer_of(room, sizeof room);
        buffer_append(&its_id, job_id);
        buffer_append_byte(&its_id, '~');
        buffer_append(&its_id, job->endpoint);
        json_put_object(json);
        json_add_text(json, "endpoint", job->endpoint);
        json_add_text(json, "jobId", buffer_slice(&its_id));
        if (job->has_ended)
            json_add_text(json, "state", SLICE("ended"));
        else
            view_add_place(json, job->state, job->at_ms);
        json_end_object(json);
    }
    json_end_array(json);
}

static void add_jobs(struct json_writer *json, const struct app_verdict *verdict)
{
    sends_add_jobs(json, verdict->job.id, verdict->sent, verdict->sent_count);
}

static void answer_members(struct exchange *exchange, unsigned status, const struct http_header *header,
                           struct slice members)
{
    struct buffer *body = exchange_scratch(exchange);
    buffer_append_byte(body, '{');
    buffer_append(body, members);
    buffer_append_byte(body, '}');
    exchange_answer(exchange, status, header, header != NULL, buffer_slice(body));
}

/* ---- POST ---- */

struct submission {
    struct app_send *send;
    struct trace_context trace;
};

static void free_submission(void *arg)
{
    struct submission *submission = arg;
    app_send_free(submission->send);
    free(submission);
}

static void write_placed(struct buffer *members, const struct app_verdict *verdict, enum sends_detail detail)
{
    struct json_writer json = json_writer_to(members);
    struct slice topic, job_id;
    slice_cut(verdict->job.id, '/', &topic, &job_id);
    json_add_text(&json, "jobId", job_id);
    json_add_text(&json, "topic", topic);
    size_t i = 0;
    while (i + 1 < verdict->sent_count &&
           (verdict->sent[i].has_ended || verdict->sent[i].state >= JOB_STATE_DEAD))
        i++;
    view_add_place(&json, verdict->end == STATUS_SAME ? verdict->sent[i].state : JOB_STATE_DELAYED,
                   verdict->sent[i].at_ms);
    json_add_text(&json, "group", verdict->group);
    if (detail == SENDS_WITH_JOBS)
        add_jobs(&json, verdict);
}

unsigned sends_write(struct buffer *members, const struct exchange *exchange, const struct app_send *send,
                     const struct app_verdict *verdict, enum sends_detail detail)
{
    const char *consequence =
        exchange->once.size || !app_send_is_id_new(send)
            ? "Repeating the same request is safe."
            : "The request has no jobId, so repeating it may schedule the jobs a second time.";
    switch (verdict->end) {
    case STATUS_OK:
    case STATUS_REPEATED:
        write_placed(members, verdict, detail);
        return 201;
    case STATUS_SAME:
        write_placed(members, verdict, detail);
        return 200;
    case STATUS_EXISTS:
        problem_write(members, "Another job has the id %.*s; no job was scheduled.",
                      SLICE_ARG(verdict->job.id));
        return 409;
    case STATUS_TOO_LARGE:
        problem_write(members,
                      "The jobs of all endpoints together are over 4194304 bytes; no job was scheduled.");
        return 413;
    case STATUS_UNREADABLE:
        problem_write(members, "The group's text in Redis cannot be read; PUT /groups replaces it.");
        return 409;
    case STATUS_LACKING:
        problem_write(members, "The group needs a later version of duepost, or an encryption key that this "
                               "process lacks: send the "
                               "request to a process that has it.");
        return 409;
    default:
        return problem_write_verdict(members, exchange, verdict, &(struct problem_words){"job", consequence});
    }
}

static void on_sent(void *arg, const struct app_verdict *verdict)
{
    struct exchange *exchange = arg;
    const struct submission *submission = exchange->state;
    struct buffer *members = exchange_members(exchange);
    unsigned status = sends_write(members, exchange, submission->send, verdict, SENDS_WITH_JOBS);
    if (verdict->was_there)
        status = 200;
    if (status < 400) {
        char room[SUBMISSION_LOCATION_MAX + 1];
        struct buffer location = buffer_of(room, sizeof room);
        submission_write_location(&location, exchange, verdict->job.id, verdict->group);
        struct http_header header = {SLICE("Location"), buffer_slice(&location)};
        answer_members(exchange, status, &header, buffer_slice(members));
    } else {
        problem_answer_members(exchange, status, buffer_slice(members), verdict);
    }
}

/* Creates a submission. Takes the job. */
static struct submission *submission_new(struct exchange *exchange, struct job *job)
{
    struct submission *submission = NEW(struct submission);
    submission->send = app_send_new(app_of(exchange), &exchange->caller, job);
    exchange_keep(exchange, submission, free_submission);
    return submission;
}

void sends_submit(struct exchange *exchange, struct job *job)
{
    struct submission *submission = submission_new(exchange, job);
    if (!app_send_admit(submission->send, on_sent, exchange) ||
        !idempotency_begin(exchange, job->topic, http_request_body(exchange->request), job->idempotency_key))
        return;
    trace_context_take(exchange, &submission->trace, app_send_job(submission->send));
    app_send_start(submission->send, buffer_slice(&exchange->once), on_sent, exchange);
}

/* ---- PUT ---- */

static void on_sends_replaced(void *arg, const struct app_verdict *verdict)
{
    struct exchange *exchange = arg;
    if (verdict->end == STATUS_STALE)
        exchange_refuse(exchange, 412,
                        "If-None-Match requires that no jobs were sent to a group under this jobId, but such "
                        "jobs exist; nothing changed.");
    else
        on_sent(exchange, verdict);
}

void sends_replace(struct exchange *exchange, struct job *job)
{
    struct submission *submission = submission_new(exchange, job);
    struct slice seen = buffer_slice(&exchange->seen);
    bool is_only_new = slice_equal(seen, SLICE("!*"));
    if (seen.size && !is_only_new) {
        exchange_refuse(exchange, 400,
                        "If-Match is for one job. With group, only If-None-Match: * is possible.");
        return;
    }
    if (!app_send_admit(submission->send, on_sent, exchange))
        return;
    trace_context_take(exchange, &submission->trace, app_send_job(submission->send));
    app_send_replace(submission->send, is_only_new, on_sends_replaced, exchange);
}

/* ---- GET, DELETE ---- */

struct sends_query {
    struct slice group;
    char text[QUERY_BYTES_MAX + 1]; /* the decoded query; the value points into it */
};

static const char *read_group(void *into, struct slice value)
{
    struct sends_query *query = into;
    query->group = value;
    return group_name_is_valid(value) ? NULL : "must be a group: 1 to 128 characters of A-Z a-z 0-9 . _ -";
}

/* Reads the query. Returns NULL after answering 400. */
static const struct sends_query *read_query(struct exchange *exchange)
{
    static const struct query_parameter parameters[] = {{"group", read_group, 0}};
    struct sends_query *query = NEW(struct sends_query);
    struct buffer text = buffer_of(query->text, sizeof query->text);
    struct query_reading reading = {.exchange = exchange, .parameters = parameters, .count = 1, .known = 1};
    exchange_keep(exchange, query, free);
    query_read(&reading, query, &text);
    if (reading.errors.count == 0 && query->group.size == 0)
        query_add_error(&reading, SLICE("group"), "must not be empty");
    return query_end(&reading) ? query : NULL;
}

static void on_seen(void *arg, const struct app_verdict *verdict)
{
    if (verdict->end == STATUS_OK) {
        struct buffer *members = exchange_members(arg);
        struct json_writer json = json_writer_to(members);
        struct slice topic, job_id;
        slice_cut(verdict->job.id, '/', &topic, &job_id);
        json_add_text(&json, "jobId", job_id);
        json_add_text(&json, "topic", topic);
        json_add_text(&json, "group", verdict->group);
        add_jobs(&json, verdict);
        answer_members(arg, 200, NULL, buffer_slice(members));
    } else {
        problem_answer_verdict(arg, verdict, &problem_of_read);
    }
}

void sends_read(struct exchange *exchange)
{
    const struct sends_query *query = read_query(exchange);
    if (query)
        app_sent(app_of(exchange), &exchange->caller, exchange->key, query->group, on_seen, exchange);
}

static void on_cancelled(void *arg, const struct app_verdict *verdict)
{
    static const struct problem_words words = {
        "job", "Repeat the request: the answer 404 then means that the jobs are gone."};
    struct exchange *exchange = arg;
    if (verdict->end != STATUS_OK) {
        problem_answer_verdict(exchange, verdict, &words);
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_text(&json, "state", SLICE("cancelled"));
    json_add_number(&json, "cancelled", (int64_t)verdict->counts.done);
    json_add_bool(&json, "attemptInFlight", verdict->was_leased);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

void sends_cancel(struct exchange *exchange)
{
    const struct sends_query *query = read_query(exchange);
    if (query && http_request_has_header(exchange->request, "If-Match"))
        exchange_refuse(exchange, 400, "If-Match is for one job; it cannot be combined with group.");
    else if (query)
        app_unsend(app_of(exchange), &exchange->caller, exchange->key, query->group, on_cancelled, exchange);
}

/* The steps of a batch, in order:
 *
 *   job_batch_begin   starts the batch, or lets it wait while OPEN_MAX batches are open
 *   cut_some          cuts the text into jobs, some in each turn; answers 400 if the text is malformed
 *   send_some         sends jobs to Redis, as long as the limits below allow
 *   on_submitted      receives the result (verdict) of one job
 *   answer            answers when all jobs have results */
#include <assert.h>

#include "api/api_private.h"
#include "app/groups.h"
#include "app/jobs.h"
#include "base/memory.h"
#include "base/system.h"
#include "http/access.h"
#include "http/exchange.h"
#include "http/request_headers.h"
#include "job/job_parse.h"
#include "job/text/job_errors.h"

enum {
    TURN_US = 1000,         /* time after which a turn of the event loop ends its work on batches */
    STEP_BYTES = 32 * 1024, /* after this many bytes of text, the clock is checked */
    PIECE_BYTES = 64,       /* bytes that each job counts in addition to its text */
    SENT_JOBS_MAX = 512,    /* maximum number of jobs being sent to Redis: 256 in a call, and 256 that are
                               collected for the next call */
    SENT_BYTES_MAX = 4 * 1024 * 1024, /* maximum size of the texts of the jobs being sent */
    GROUP_BYTES =
        SENT_BYTES_MAX / 8, /* size that a job with a group counts as, because it becomes up to 100 jobs */
    OPEN_MAX = 16,          /* maximum number of open batches; each further batch waits, and keeps its text */
    SAID_MAX = 16 * 1024 * 1024,   /* maximum size of the answer */
    SAID_PLENTY = 4 * 1024 * 1024, /* if the answer is larger than this, long errors are shortened */
    SAID_LONG = 1024, /* errors of one job that are longer than this are then replaced by one sentence */
};

struct job_batches {
    struct timer *timer;          /* runs when there is work */
    struct list cutting, sending; /* batches with text to cut, and batches with jobs to send */
    size_t open;
    size_t sent_jobs, sent_bytes;
};

struct batch_job {
    struct slice text;
    size_t said_at, said_bytes; /* position in said */
};

struct job_batch {
    struct list link;
    struct job_batches *batches;
    struct exchange *exchange;
    struct job_cutter cutter;
    struct batch_job *jobs;
    size_t count, capacity;
    size_t next;    /* index of the job to be sent next */
    size_t pending; /* number of jobs that were sent and have no result yet */
    bool is_open;
    struct trace_context trace; /* trace of the request; the jobs borrow it */
    struct buffer said;         /* results of the jobs, in the order in which they came */
};

/* A job that was sent and has no result yet. */
struct batch_item {
    struct app_submission submission;
    struct app_send *send; /* used instead of submission for a job with a group */
    struct job_batch *batch;
    struct buffer once; /* fingerprint and key of a job with an idempotencyKey */
    size_t index, bytes;
};

/* ---- answer ---- */

static void note_result(struct job_batch *batch, size_t index, unsigned status, struct slice members)
{
    struct buffer *said = &batch->said;
    struct batch_job *job = &batch->jobs[index];
    assert(!batch->exchange->site->members.failed); /* the memory for the result was reserved at the start */
    /* The errors of a job may be ten times as long as the job. */
    if (said->size > SAID_PLENTY && members.size > SAID_LONG)
        members = SLICE("\"detail\":\"The job has more errors than this answer has room for.\"");
    job->said_at = said->size;
    struct json_writer json = json_writer_to(said);
    json_put_object(&json);
    json_add_number(&json, "status", status);
    json_put_raw(&json, members);
    json_end_object(&json);
    job->said_bytes = said->size - job->said_at;
}

static void answer_if_ended(struct job_batch *batch)
{
    if (batch->next == batch->count && batch->pending == 0) {
        struct exchange *exchange = batch->exchange;
        struct buffer *body = exchange_scratch(exchange);
        buffer_reserve(body, batch->said.size + batch->count + PIECE_BYTES);
        struct json_writer json = json_writer_to(body);
        json_put_object(&json);
        json_add_array(&json, "results");
        for (size_t i = 0; i < batch->count; i++) {
            const struct batch_job *job = &batch->jobs[i];
            json_put_raw(&json, slice_from(batch->said.data + job->said_at, job->said_bytes));
        }
        json_end_array(&json);
        json_end_object(&json);
        if (batch->said.failed || body->failed)
            exchange_refuse(exchange, 503,
                            "There is no memory for the answer; some of the jobs may have been scheduled.");
        else
            exchange_answer(exchange, 207, NULL, 0, buffer_slice(body));
    }
}

/* ---- jobs of a batch ---- */

static bool has_room(const struct job_batches *batches)
{
    return batches->sent_jobs < SENT_JOBS_MAX && batches->sent_bytes < SENT_BYTES_MAX;
}

static void wake(struct job_batches *batches)
{
    timer_arm(batches->timer, 0);
}

static struct batch_item *new_item(struct job_batch *batch, size_t index, size_t bytes)
{
    struct batch_item *item = NEW(struct batch_item);
    item->batch = batch;
    buffer_init(&item->once, EXCHANGE_ONCE_MAX);
    item->index = index;
    item->bytes = bytes;
    batch->pending++;
    batch->batches->sent_jobs++;
    batch->batches->sent_bytes += bytes;
    return item;
}

/* Notes the result of an item, and frees the item. */
static void end_item(struct batch_item *item, unsigned status, struct slice members)
{
    struct job_batch *batch = item->batch;
    batch->batches->sent_jobs--;
    batch->batches->sent_bytes -= item->bytes;
    batch->pending--;
    note_result(batch, item->index, status, members);
    buffer_fini(&item->once);
    free(item);
    wake(batch->batches);
    answer_if_ended(batch);
}

static void on_submitted(void *arg, const struct app_verdict *verdict)
{
    struct batch_item *item = arg;
    struct buffer *members = exchange_members(item->batch->exchange);
    unsigned status = submission_write(members, item->batch->exchange, &item->submission, verdict);
    app_submission_fini(&item->submission);
    end_item(item, status, buffer_slice(members));
}

static void on_sent(void *arg, const struct app_verdict *verdict)
{
    struct batch_item *item = arg;
    struct buffer *members = exchange_members(item->batch->exchange);
    unsigned status = sends_write(members, item->batch->exchange, item->send, verdict, SENDS_WITHOUT_JOBS);
    app_send_free(item->send);
    end_item(item, status, buffer_slice(members));
}

/* Parses a job. If the job is invalid, notes the error as its result and returns false. */
static bool parse_job(struct job_batch *batch, size_t index, struct job *job)
{
    struct job_errors errors;
    enum status status =
        app_parse_job(app_of(batch->exchange), SLICE(""), batch->jobs[index].text, job, &errors);
    if (status != STATUS_OK) {
        struct buffer *members = exchange_members(batch->exchange);
        struct app_verdict verdict = {.end = status, .errors = &errors};
        unsigned http_status =
            problem_write_verdict(members, batch->exchange, &verdict, &(struct problem_words){"job", ""});
        note_result(batch, index, http_status, buffer_slice(members));
    }
    return status == STATUS_OK;
}

/* Returns the fingerprint and the idempotency key of a job, or an empty text. */
static struct slice once_of(struct batch_item *item, const struct job *job)
{
    if (job->idempotency_key.size)
        idempotency_write(&item->once, job->topic, item->batch->jobs[item->index].text, job->idempotency_key);
    return buffer_slice(&item->once);
}

/* Sends a job to its group. The callback may come before this call returns. */
static void send_to_group(struct job_batch *batch, size_t index, struct job *job)
{
    struct exchange *exchange = batch->exchange;
    struct batch_item *item = new_item(batch, index, GROUP_BYTES);
    item->send = app_send_new(app_of(exchange), &exchange->caller, job);
    if (!app_send_admit(item->send, on_sent, item))
        return;
    trace_context_take(exchange, &batch->trace, app_send_job(item->send));
    app_send_start(item->send, once_of(item, app_send_job(item->send)), on_sent, item);
}

/* Sends a job. The callback may come before this call returns. */
static void send_job(struct job_batch *batch, size_t index)
{
    struct exchange *exchange = batch->exchange;
    struct job job;
    if (!parse_job(batch, index, &job))
        return;
    if (job.group.size) {
        send_to_group(batch, index, &job);
        return;
    }
    struct batch_item *item = new_item(batch, index, batch->jobs[index].text.size);
    app_submission_init(&item->submission, app_of(exchange), on_submitted, item);
    if (app_submission_admit(&item->submission, &exchange->caller, &job, item->bytes)) {
        trace_context_take(exchange, &batch->trace, &job);
        item->submission.once = once_of(item, &job);
        app_submission_send(&item->submission, &job);
    }
    job_fini(&job);
}

static void send_some(struct job_batch *batch)
{
    size_t max_bytes = batch->exchange->site->options.max_body_bytes, bytes = 0;
    batch->pending++; /* so that the batch does not end before this loop has ended */
    while (bytes < STEP_BYTES && batch->next < batch->count && has_room(batch->batches)) {
        size_t index = batch->next++, job_bytes = batch->jobs[index].text.size;
        if (job_bytes > max_bytes) {
            struct buffer *members = exchange_members(batch->exchange);
            problem_write(members, "The job is over %zu bytes.", max_bytes);
            note_result(batch, index, 413, buffer_slice(members));
        } else {
            send_job(batch, index);
        }
        bytes += job_bytes + PIECE_BYTES;
    }
    batch->pending--;
    if (batch->next < batch->count)
        list_append(&batch->batches->sending, &batch->link);
    answer_if_ended(batch);
}

/* ---- text of a batch ---- */

static enum status add_job(struct job_batch *batch, struct slice text)
{
    if (batch->count == batch->capacity) {
        size_t capacity = batch->capacity ? 2 * batch->capacity : 128;
        struct batch_job *jobs = realloc(batch->jobs, capacity * sizeof *jobs);
        if (!jobs)
            return STATUS_NO_MEMORY;
        batch->jobs = jobs;
        batch->capacity = capacity;
    }
    batch->jobs[batch->count++] = (struct batch_job){.text = text};
    return STATUS_OK;
}

static void cut_some(struct job_batch *batch)
{
    struct job_errors errors;
    struct slice text;
    enum status status = STATUS_OK;
    for (size_t bytes = 0; bytes < STEP_BYTES && status == STATUS_OK; bytes += text.size + PIECE_BYTES) {
        status = job_cutter_next(&batch->cutter, &text, &errors);
        if (status == STATUS_OK && text.size)
            status = add_job(batch, text);
    }
    if (status == STATUS_INVALID || status == STATUS_NO_MEMORY) {
        problem_answer_unparsed(batch->exchange, status, "request", &errors);
    } else if (status == STATUS_NOT_FOUND) {
        access_charge(batch->exchange, batch->count);
        list_remove(&batch->link);
        list_append(&batch->batches->sending, &batch->link);
    }
}

/* ---- turns ---- */

/* Does one piece of work on the batches. Returns false if there is nothing to do until a job's result or a
 * new batch comes. */
static bool take_turn(struct job_batches *batches)
{
    if (has_room(batches) && !list_is_empty(&batches->sending)) {
        send_some(LIST_ENTRY(list_pop(&batches->sending), struct job_batch, link));
        return true;
    }
    if (list_is_empty(&batches->cutting))
        return false;
    struct job_batch *batch = LIST_ENTRY(batches->cutting.next, struct job_batch, link);
    if (!batch->is_open && batches->open == OPEN_MAX)
        return false;
    if (!batch->is_open) {
        batch->is_open = true;
        batch->batches->open++;
    }
    cut_some(batch);
    return true;
}

static void on_turn(void *arg)
{
    struct job_batches *batches = arg;
    int64_t end_us = clock_boot_us() + TURN_US;
    while (take_turn(batches)) {
        if (clock_boot_us() >= end_us) {
            timer_start(batches->timer, 0);
            return;
        }
    }
}

/* ---- life ---- */

struct job_batches *job_batches_new(struct loop *loop)
{
    struct job_batches *batches = NEW(struct job_batches);
    batches->timer = timer_new(loop, on_turn, batches);
    list_init(&batches->cutting);
    list_init(&batches->sending);
    return batches;
}

void job_batches_free(struct job_batches *batches)
{
    if (!batches)
        return;
    assert(batches->open == 0);
    timer_free(batches->timer);
    free(batches);
}

bool job_batch_is_meant(const struct exchange *exchange)
{
    struct json_cursor cursor;
    return exchange->is_other_media ||
           (json_open(http_request_body(exchange->request), &cursor) && cursor.close == ']');
}

static void job_batch_free(void *arg)
{
    struct job_batch *batch = arg;
    assert(batch->pending == 0);
    batch->batches->open -= batch->is_open;
    wake(batch->batches);
    list_remove(&batch->link);
    buffer_fini(&batch->said);
    free(batch->jobs);
    free(batch);
}

void job_batch_begin(struct exchange *exchange)
{
    struct job_batches *batches = api_of(exchange)->batches;
    if (http_request_has_header(exchange->request, "Idempotency-Key")) {
        struct job_errors errors;
        job_errors_clear(&errors);
        job_errors_add(
            &errors, "Idempotency-Key",
            "is for a request with one job; with many jobs, give each job an idempotencyKey instead");
        exchange_refuse_errors(exchange, "request", &errors);
        return;
    }
    struct job_batch *batch = NEW(struct job_batch);
    exchange_keep(exchange, batch, job_batch_free);
    batch->batches = batches;
    batch->exchange = exchange;
    job_cutter_init(&batch->cutter, http_request_body(exchange->request), exchange->is_other_media);
    buffer_init_fallible(&batch->said, SAID_MAX);
    list_append(&batches->cutting, &batch->link);
    wake(batches);
}

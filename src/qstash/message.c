#include "qstash/message.h"

#include <stdio.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/memory.h"
#include "job/fingerprint.h"
#include "job/json.h"
#include "qstash/answer.h"
#include "qstash/place.h"
#include "qstash/qstash.h"

enum {
    ONCE_SIZE = 2 * FINGERPRINT_SIZE + 64,
    RECORD_ROOM = 1024, /* bytes of a record beyond the texts that it has */
};

/* min(86400, e^(2.5 n)) seconds, which a retry expression replaces. */
static const struct retry_schedule waits = {5, {12000, 148000, 1808000, 22026000, 86400000}};

struct message {
    struct app_submission submission;
    const struct message_request *request;
    char id[MESSAGE_ID_MAX + 1];
    char once[ONCE_SIZE];
    message_sent_fn *fn;
    void *arg;
};

/* ---- the end ---- */

static struct slice id_of(struct slice key)
{
    struct slice topic, id;
    slice_cut(key, '/', &topic, &id);
    return id;
}

static void message_on_submitted(void *arg, const struct app_verdict *verdict)
{
    struct message *message = arg;
    char text[ANSWER_TEXT_SIZE];
    struct message_sent sent = {.status = 200};
    if (verdict->end == APP_DONE || verdict->end == APP_SAME) {
        sent.id = id_of(message->submission.id);
    } else if (verdict->end == APP_REPEATED) {
        sent.status = 202;
        sent.id = id_of(verdict->job.id);
    } else {
        sent.status = answer_of_verdict(verdict, text);
        sent.error = slice_of(text);
    }
    message->fn(message->arg, &sent);
}

struct message *message_new(struct app *app, message_sent_fn *fn, void *arg)
{
    struct message *message = NEW(struct message);
    app_submission_init(&message->submission, app, message_on_submitted, message);
    message->fn = fn;
    message->arg = arg;
    return message;
}

void message_free(struct message *message)
{
    app_submission_fini(&message->submission);
    free(message);
}

/* ---- deduplication ---- */

/* Appends what identifies the content of a message: destination, body, Content-Type and forwarded headers. */
static void append_content(struct buffer *text, const struct message_request *request)
{
    const struct settings *settings = request->settings;
    buffer_append(text, request->url);
    for (size_t i = 0; i < settings->header_count; i++)
        buffer_printf(text, "\n%.*s: %.*s", SLICE_ARG(settings->headers[i].name),
                      SLICE_ARG(settings->headers[i].value));
    buffer_append(text, SLICE("\n\n"));
    buffer_append(text, request->body);
}

/* Writes the key under which the first answer is kept for ten minutes. The requests with a key count as the
 * same, whatever else they ask for. Returns false if there is no memory. */
static bool write_once(struct message *message, const struct message_request *request)
{
    const struct settings *settings = request->settings;
    char hash[FINGERPRINT_SIZE];
    struct buffer text;
    bool has_id = settings->deduplication_id.size, is_whole;
    if (!has_id && !settings->is_content_based)
        return true;
    buffer_init_fallible(&text, request->body.size + JOB_URL_MAX + 2 * JOB_HEADER_BYTES_MAX);
    if (has_id)
        buffer_append(&text, settings->deduplication_id);
    else
        append_content(&text, request);
    fingerprint_make(buffer_slice(&text), hash);
    is_whole = !text.failed;
    buffer_fini(&text);
    snprintf(message->once, sizeof message->once, "same@600000 %s/%s-%s", QSTASH_TOPIC,
             has_id ? "id" : "content", hash);
    message->submission.once = slice_of(message->once);
    return is_whole;
}

/* ---- the job ---- */

static void set_times(struct job *job, const struct settings *settings)
{
    job->has_due_at = settings->has_not_before;
    job->due_at_ms = settings->not_before_ms;
    job->has_delay = settings->has_delay && !job->has_due_at;
    job->delay_ms = job->has_delay ? settings->delay_ms : 0;
    job->has_retry = true;
    job->has_schedule = settings->retry_delay.size == 0;
    job->retry = settings->retries;
    job->schedule = waits;
    job->retry_wait = settings->retry_delay;
    job->has_timeout = settings->has_timeout;
    job->timeout_ms = settings->has_timeout ? settings->timeout_ms : JOB_TIMEOUT_MS;
}

/* Returns whether the record may hold the body as it is: as an object or an array of JSON. Any other body is
 * kept as base64. */
static bool is_json(struct slice body)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault ignored;
    if (body.size < 2)
        return false;
    char first = body.data[0], last = body.data[body.size - 1];
    return ((first == '{' && last == '}') || (first == '[' && last == ']')) &&
           json_check(body, &limits, &ignored) == STATUS_OK;
}

static void set_body(struct job *job, struct slice body, struct buffer *base64)
{
    if (body.size == 0 || !job_method_allows_body(job->method))
        return;
    if (is_json(body)) {
        job->body = body;
        return;
    }
    base64_append(base64, body);
    job->body_base64 = buffer_slice(base64);
    job->has_body_base64 = true;
}

/* The texts of a job that are written for it. */
struct texts {
    struct buffer base64, data, callbacks;
};

static struct slice put_url(struct buffer *text, struct slice url)
{
    size_t start = text->size;
    if (url.size == 0)
        return SLICE("");
    buffer_append_json(text, url);
    return slice_from(text->data + start, text->size - start);
}

static void make_job(const struct message_request *request, struct slice topic, struct texts *texts,
                     struct job *job)
{
    const struct settings *settings = request->settings;
    *job = (struct job){.topic = topic,
                        .url = request->url,
                        .method = settings->method,
                        .labels = settings->labels,
                        .form = SLICE(QSTASH_FORM),
                        .trace_parent = request->trace_parent,
                        .trace_state = request->trace_state};
    set_times(job, settings);
    set_body(job, request->body, &texts->base64);
    form_data_write(&texts->data, &request->data, settings);
    job->form_data = buffer_slice(&texts->data);
    job->has_headers = settings->header_count > 0;
    job->header_count = settings->header_count;
    memcpy(job->headers, settings->headers, settings->header_count * sizeof *settings->headers);
    buffer_reserve(&texts->callbacks, texts->callbacks.max);
    job->on_attempt = put_url(&texts->callbacks, settings->callback.url);
    job->on_dead = put_url(&texts->callbacks, settings->failure_callback.url);
}

/* Returns a size that the record does not exceed. */
static size_t record_bytes(const struct job *job)
{
    size_t sum = RECORD_ROOM + job->url.size + job->body.size + job->body_base64.size + job->form_data.size +
                 job->on_attempt.size + job->on_dead.size;
    for (size_t i = 0; i < job->header_count; i++)
        sum += 2 * (job->headers[i].name.size + job->headers[i].value.size) + 6;
    return sum + job->labels.count * (2 * JOB_LABEL_MAX + 3);
}

/* ---- sending ---- */

static void message_refuse(struct message *message, unsigned status, const char *error)
{
    message->fn(message->arg, &(struct message_sent){.status = status, .error = slice_of(error)});
}

static void send_job(struct message *message, const struct message_request *request, struct job *job)
{
    job->job_id = message_id_make(job->topic, clock_wall_ms(), message->id);
    if (app_submission_admit(&message->submission, request->caller, job, record_bytes(job)))
        app_submission_send(&message->submission, job);
}

static void send_to(struct message *message, struct slice topic)
{
    const struct message_request *request = message->request;
    struct texts texts;
    struct job job;
    buffer_init_fallible(&texts.base64, JOB_RECORD_MAX);
    buffer_init(&texts.data, JOB_FORM_DATA_MAX);
    buffer_init(&texts.callbacks, 4 * JOB_URL_MAX);
    make_job(request, topic, &texts, &job);
    if (texts.data.failed)
        message_refuse(message, 400, "the settings of the callbacks are over 16 KiB");
    else if (texts.base64.failed || !write_once(message, request))
        message_refuse(message, 503, "there is no memory for the message");
    else
        send_job(message, request, &job);
    buffer_fini(&texts.base64);
    buffer_fini(&texts.data);
    buffer_fini(&texts.callbacks);
}

static void message_on_placed(void *arg, const struct app_verdict *verdict, struct slice topic)
{
    struct message *message = arg;
    if (verdict->end == APP_DONE)
        send_to(message, topic);
    else
        message_on_submitted(message, verdict);
}

void message_send(struct message *message, const struct message_request *request)
{
    message->request = request;
    place_find(message->submission.app, request->caller, request->data.queue, &request->settings->flow,
               message_on_placed, message);
}

#include "qstash/message.h"

#include <assert.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "job/delivery/digest.h"
#include "qstash/answer.h"
#include "qstash/place.h"

enum { ONCE_SIZE = 2 * FINGERPRINT_SIZE + 64 };

struct message {
    struct app_submission submission;
    struct message_request request; /* borrows the data of its pointers and slices */
    char id[MESSAGE_ID_MAX + 1];
    char once[ONCE_SIZE];
    message_sent_fn *fn;
    message_ready_fn *ready; /* NULL: message_send sends the message alone */
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
    if (verdict->end == STATUS_OK || verdict->end == STATUS_SAME) {
        sent.id = id_of(message->submission.id);
    } else if (verdict->end == STATUS_REPEATED) {
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

/* Appends the data that must be equal in two messages with the same content: destination, body, Content-Type
 * and forwarded headers. */
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

/* Writes the idempotency key under which the first answer is stored for ten minutes. A request with the same
 * key is a repeat, even if its content differs. Returns false if there is no memory. */
static bool write_once(struct message *message, const struct message_request *request)
{
    const struct settings *settings = request->settings;
    char hash[FINGERPRINT_SIZE];
    struct buffer text;
    bool has_id = settings->deduplication_id.size, is_whole;
    if (!has_id && !settings->is_content_based)
        return true;
    buffer_init_fallible(&text, request->body.size + JOB_URL_MAX + (size_t)2 * JOB_HEADER_BYTES_MAX);
    if (has_id)
        buffer_append(&text, settings->deduplication_id);
    if (has_id && request->data.group.size) /* each endpoint of a group needs a deduplication id of its own */
        buffer_printf(&text, "\n%.*s", SLICE_ARG(request->url));
    if (!has_id)
        append_content(&text, request);
    fingerprint_make(buffer_slice(&text), hash);
    is_whole = !text.failed;
    buffer_fini(&text);
    snprintf(message->once, sizeof message->once, "same@600000 %s/%s-%s", QSTASH_TOPIC,
             has_id ? "id" : "content", hash);
    message->submission.once = slice_of(message->once);
    return is_whole;
}

/* ---- sending ---- */

static void message_refuse(struct message *message, unsigned status, const char *error)
{
    message->fn(message->arg, &(struct message_sent){.status = status, .error = slice_of(error)});
}

static void send_job(struct message *message, const struct message_request *request, struct job *job)
{
    job->job_id = message_id_make(job->topic, clock_wall_ms(), message->id);
    if (!app_submission_admit(&message->submission, request->caller, job, message_job_bytes(job)))
        return;
    if (message->ready) {
        app_submission_write(&message->submission, job);
        message->ready(message->arg);
    } else {
        app_submission_send(&message->submission, job);
    }
}

static void send_to(struct message *message, struct slice topic)
{
    struct message_texts texts;
    struct job job;
    message_texts_init(&texts);
    const char *fault =
        message_job_make(&message->request, topic, app_now_ms(message->submission.app), &texts, &job);
    if (fault)
        message_refuse(message, 400, fault);
    else if (texts.base64.failed || !write_once(message, &message->request))
        message_refuse(message, 503, "there is no memory for the message");
    else
        send_job(message, &message->request, &job);
    message_texts_fini(&texts);
}

static void message_on_placed(void *arg, const struct app_verdict *verdict, struct slice topic)
{
    struct message *message = arg;
    if (verdict->end == STATUS_OK)
        send_to(message, topic);
    else
        message_on_submitted(message, verdict);
}

void message_send(struct message *message, const struct message_request *request)
{
    message->request = *request;
    place_find(message->submission.app, request->caller, request->data.queue, &request->settings->flow,
               message_on_placed, message);
}

void message_prepare(struct message *message, const struct message_request *request, message_ready_fn *ready)
{
    message->ready = ready;
    message_send(message, request);
}

void messages_send(struct message *const *messages, size_t count)
{
    struct app_submission *submissions[APP_SUBMISSIONS_MAX];
    assert(count <= APP_SUBMISSIONS_MAX);
    for (size_t i = 0; i < count; i++)
        submissions[i] = &messages[i]->submission;
    app_submissions_send(submissions, count);
}

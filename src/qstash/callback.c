#include "qstash/callback.h"

#include <assert.h>

#include "job/delivery/digest.h"
#include "job/text/json.h"
#include "qstash/answer_headers.h"
#include "qstash/message_id.h"
#include "qstash/message_job.h"
#include "qstash/message_view.h"
#include "qstash/run.h"

#define TOPIC QSTASH_TOPIC CALLBACK_SIBLING

enum { SOURCE_MAX = JOB_KEY_MAX + 64, INHERITED_MAX = 2 * JOB_FORM_DATA_MAX };

/* ---- the document ---- */

/* Returns the body of the first element of a run, in base64. */
static struct slice first_body(struct slice elements)
{
    struct json_cursor cursor;
    struct slice first, key, value;
    if (elements.size == 0 || !json_open(elements, &cursor) || !json_next_item(&cursor, &first) ||
        !json_open(first, &cursor))
        return SLICE("\"\"");
    while (json_next_member(&cursor, &key, &value))
        if (slice_equal(key, SLICE("\"body\"")))
            return value;
    return SLICE("\"\"");
}

/* Adds the payload of the run if the callback reports the run's failure, else the body of the message. */
static void add_source_body(struct json_writer *json, const struct callback_report *report,
                            const struct message_view *view, bool is_of_run)
{
    if (is_of_run)
        json_add_raw(json, "sourceBody", first_body(report->elements));
    else
        message_view_add_base64(json, "sourceBody", view->body);
}

static void add_source(struct json_writer *json, struct message_view *view,
                       const struct callback_report *report, bool is_of_run)
{
    const struct job *job = &view->job;
    view->data.redact = (struct settings_redact){.body = false}; /* only the API's answers are redacted */
    json_add_text(json, "sourceMessageId", job->job_id);
    json_add_text(json, "topicName", view->data.group);
    json_add_text(json, "endpointName", view->data.endpoint);
    json_add_text(json, "url", job->url);
    json_add_text(json, "method", slice_of(job_method_word(job->method)));
    if (job->header_count)
        message_view_add_headers(json, "sourceHeader", view);
    else
        json_add_raw(json, "sourceHeader", SLICE("{}"));
    add_source_body(json, report, view, is_of_run);
    json_add_number(json, "notBefore", job_due_ms(job, job->created_ms));
    json_add_number(json, "createdAt", job->created_ms);
    json_add_text(json, "scheduleId", view->data.schedule_id);
    json_add_text(json, "callerIP", view->data.caller_ip);
}

static void write_document(struct buffer *out, const struct callback_report *report, bool is_failure,
                           struct message_view *view)
{
    bool is_of_run = is_failure && view->data.run.id.size;
    const struct attempt_result *attempt = report->attempt;
    struct json_writer json = json_writer_to(out);
    json_put_object(&json);
    json_add_number(&json, "status", attempt && attempt->error == FAILURE_NONE ? attempt->status : 0);
    answer_headers_add(&json, "header", report->headers);
    message_view_add_base64(&json, "body", report->answer);
    json_add_number(&json, "retried", report->attempts > 0 ? report->attempts - 1 : 0);
    json_add_number(&json, "maxRetries", view->job.retry);
    if (is_failure) {
        json_put_name(&json, "dlqId");
        buffer_printf(json_put(&json), "\"" DLQ_ID_PREFIX "%.*s\"",
                      SLICE_ARG(slice_skip(view->job.job_id, strlen(MESSAGE_ID_PREFIX))));
    }
    add_source(&json, view, report, is_of_run);
    if (is_of_run)
        message_view_add_run(&json, view);
    json_end_object(&json);
}

/* ---- the message ---- */

/* Takes the settings of the callback from object. Ignores errors in these settings, because the message has
 * already succeeded or failed. inherits: settings of the run, for the callback that brings a call's answer to
 * the run; empty for other callbacks. */
static void take_settings(struct slice object, struct slice inherits, struct settings *settings,
                          struct buffer *text)
{
    struct json_cursor cursor;
    struct slice key, value;
    bool is_object = object.size && json_open(object, &cursor) && cursor.close == '}';
    while (is_object && json_next_member(&cursor, &key, &value))
        if (json_is_text(value))
            settings_take_short(settings, json_text(key, &settings->decoded),
                                json_text(value, &settings->decoded));
    settings->callback.url = settings->failure_callback.url = (struct slice){NULL, 0};
    run_apply_to_answer(inherits, settings, text);
    settings->has_not_before = false;
    if (!headers_find(settings->headers, settings->header_count, SLICE("Content-Type")))
        settings_take(settings, SLICE("Content-Type"), SLICE("application/json"));
}

static void write_key(struct slice id, struct slice nonce, bool is_failure, struct buffer *key)
{
    char room[SOURCE_MAX], hash[FINGERPRINT_SIZE];
    struct buffer source = buffer_of(room, sizeof room);
    buffer_printf(&source, "%.*s %.*s %d", SLICE_ARG(id), SLICE_ARG(nonce), is_failure);
    fingerprint_make(buffer_slice(&source), hash);
    buffer_append(key, SLICE(TOPIC "/" MESSAGE_ID_PREFIX "callbacks."));
    buffer_append(key, slice_of(hash));
}

void callback_write_failure_key(struct slice id, struct buffer *key)
{
    write_key(id, SLICE(""), true, key);
}

static void write_id(const struct callback_report *report, bool is_failure, bool is_of_run,
                     struct buffer *key)
{
    if (is_failure && is_of_run)
        callback_write_failure_key(report->id, key);
    else
        write_key(report->id, report->nonce, is_failure, key);
}

static bool write_message(const struct message_request *request, struct callback_job *callback)
{
    struct message_texts texts;
    struct job job;
    message_texts_init(&texts);
    const char *fault = message_job_make(request, SLICE(TOPIC), 0, &texts, &job);
    assert(!fault); /* only callbacks and times can be refused, and this message has neither */
    callback->delay_ms = job.delay_ms;
    job_write(&job, &callback->record);
    bool is_whole = !texts.base64.failed && !callback->record.failed;
    message_texts_fini(&texts);
    return is_whole;
}

/* Returns the data that makes the callback a message of the run: the run of the original message, and the
 * callback's kind. */
static struct form_data_run run_of_callback(const struct message_view *view, const struct settings *settings)
{
    const struct form_data_run *run = &view->data.run;
    struct form_data_run own = {.call_type = run_is_call(run) ? SLICE(RUN_ANSWER) : SLICE(RUN_FAILURE)};
    own.id = run->id;
    own.url = settings->run.url.size ? settings->run.url : run->url;
    own.made_ms = message_view_run_ms(view);
    return own;
}

bool callback_write(const struct callback_report *report, bool is_dead, struct slice url,
                    struct callback_job *callback)
{
    struct message_view view;
    struct settings settings;
    struct buffer document, text;
    message_view_of(report->job, &view);
    bool is_call = run_is_call(&view.data.run), is_failure = is_dead && !is_call;
    settings_init(&settings);
    buffer_reserve(&settings.decoded, settings.decoded.max);
    buffer_init_fallible(&document, JOB_RECORD_MAX);
    buffer_init(&text, INHERITED_MAX);
    buffer_reserve(&text, text.max); /* the buffer must not move later, because slices point into it */
    if (!is_call)
        settings.retries = view.job.retry;
    take_settings(is_failure ? view.data.failure_callback : view.data.callback, view.data.run.inherits,
                  &settings, &text);
    write_document(&document, report, is_failure, &view);
    write_id(report, is_failure, view.data.run.id.size > 0, &callback->id);
    struct message_request request = {
        .url = url,
        .body = buffer_slice(&document),
        .settings = &settings,
        .data = {.caller_ip = view.data.caller_ip, .run = run_of_callback(&view, &settings)},
        .trace_parent = view.job.trace_parent,
        .trace_state = view.job.trace_state};
    bool is_whole = !document.failed && !view.payload.failed && write_message(&request, callback);
    buffer_fini(&document);
    buffer_fini(&text);
    settings_fini(&settings);
    message_view_release(&view);
    return is_whole;
}

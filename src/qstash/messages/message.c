#include "qstash/messages/message.h"

#include <assert.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/encoding.h"
#include "base/memory.h"
#include "base/system.h"
#include "job/delivery/digest.h"
#include "job/text/json.h"
#include "qstash/qstash.h"
#include "qstash/qstash_private.h"
#include "qstash/topics/topics.h"

/* ---- ids ---- */

#define OWNER_MARK QSTASH_TOPIC "~"

struct slice message_id_make(struct slice topic, int64_t now_ms, char room[MESSAGE_ID_MAX + 1])
{
    char unique[JOB_ID_NEW_SIZE];
    uint8_t random[10];
    assert(slice_starts_with(topic, SLICE(OWNER_MARK)) && topic.size <= strlen(OWNER_MARK) + JOB_SIBLING_MAX);
    struct slice kind = slice_skip(topic, strlen(OWNER_MARK));
    bool is_plain = slice_equal(topic, SLICE(QSTASH_TOPIC_MESSAGES));
    random_fill(random, sizeof random);
    job_id_make(now_ms, random, unique);
    int size = snprintf(room, MESSAGE_ID_MAX + 1, "msg_%.*s%s%.*s", is_plain ? 0 : (int)kind.size, kind.data,
                        is_plain ? "" : ".", JOB_ID_NEW_SIZE, unique);
    return slice_from(room, (size_t)size);
}

struct slice message_id_key(struct slice message_id, char room[MESSAGE_KEY_SIZE])
{
    struct buffer key = buffer_of(room, MESSAGE_KEY_SIZE);
    struct slice topic, job_id, kind = SLICE("messages");
    size_t end = message_id.size;
    if (message_id.size > MESSAGE_ID_MAX || !slice_starts_with(message_id, SLICE("msg_")))
        return SLICE("");
    while (end > 4 && message_id.data[end - 1] != '.')
        end--;
    if (end > 4)
        kind = slice_from(message_id.data + 4, end - 1 - 4);
    buffer_append(&key, SLICE(OWNER_MARK));
    buffer_append(&key, kind);
    buffer_append_byte(&key, '/');
    buffer_append(&key, message_id);
    return !key.failed && job_key_parse(buffer_slice(&key), &topic, &job_id) ? buffer_slice(&key) : SLICE("");
}

/* ---- ids of dead letters ---- */

static struct slice with_prefix(struct slice id, struct slice from, struct slice to,
                                char room[MESSAGE_ID_MAX + 1])
{
    if (id.size > MESSAGE_ID_MAX || !slice_starts_with(id, from))
        return SLICE("");
    memcpy(room, to.data, to.size);
    memcpy(room + to.size, id.data + from.size, id.size - from.size);
    return slice_from(room, id.size);
}

struct slice dead_letter_id(struct slice message_id, char room[MESSAGE_ID_MAX + 1])
{
    return with_prefix(message_id, SLICE(MESSAGE_ID_PREFIX), SLICE(DLQ_ID_PREFIX), room);
}

struct slice dead_letter_message(struct slice dead_letter_id, char room[MESSAGE_ID_MAX + 1])
{
    return with_prefix(dead_letter_id, SLICE(DLQ_ID_PREFIX), SLICE(MESSAGE_ID_PREFIX), room);
}

/* ---- formData: writing ---- */

static void add_callback(struct json_writer *json, const char *name, const struct callback_settings *callback)
{
    if (callback->url.size == 0)
        return;
    json_add_object(json, name);
    for (size_t i = 0; i < callback->count; i++) {
        json_put_name_text(json, callback->pairs[i].name);
        json_put_text(json, callback->pairs[i].value);
    }
    json_end_object(json);
}

void message_data_write(struct buffer *out, const struct message_data *data,
                        const struct message_settings *settings)
{
    struct json_writer json = json_writer_to(out);
    json_put_object(&json);
    json_add_nonempty(&json, "group", data->group);
    json_add_nonempty(&json, "endpoint", data->endpoint);
    json_add_nonempty(&json, "queue", data->queue);
    json_add_nonempty(&json, "scheduleId", data->schedule_id);
    json_add_nonempty(&json, "callerIp", data->caller_ip);
    add_callback(&json, "callback", &settings->callback);
    add_callback(&json, "failureCallback", &settings->failure_callback);
    const struct flow_control *flow = &settings->flow;
    if (flow->key.size > 0) {
        json_add_text(&json, "flowKey", flow->key);
        json_add_nonzero(&json, "parallelism", flow->parallelism);
        json_add_nonzero(&json, "rate", flow->rate);
        json_add_nonzero(&json, "period", flow->period_s);
    }
    const struct redaction *redact = &settings->redact;
    if (redact->body)
        json_add_bool(&json, "redactBody", true);
    if (redact->headers)
        json_add_bool(&json, "redactHeaders", true);
    if (redact->count > 0)
        json_add_texts(&json, "redact", redact->names, redact->count);
    const struct message_run *run = &data->run;
    if (run->id.size > 0) {
        json_add_text(&json, "runId", run->id);
        json_add_nonempty(&json, "runUrl", run->url);
        json_add_nonempty(&json, "callType", run->call_type);
        json_add_nonzero(&json, "runMadeAt", run->made_ms);
        if (run->is_init)
            json_add_bool(&json, "isInit", true);
        if (run->is_without_sdk)
            json_add_bool(&json, "isWithoutSdk", true);
        if (run->inherits.size)
            json_add_raw(&json, "inherits", run->inherits);
    }
    json_end_object(&json);
}

/* ---- formData: reading ---- */

static struct slice text_of(struct slice value, struct buffer *text)
{
    return json_is_text(value) ? json_text(value, text) : SLICE("");
}

static void read_names(struct slice value, struct redaction *redact, struct buffer *text)
{
    struct json_cursor cursor;
    struct slice item;
    bool is_array = json_open(value, &cursor) && cursor.close == ']';
    while (is_array && redact->count < REDACTED_HEADERS_MAX && json_next_item(&cursor, &item))
        redact->names[redact->count++] = text_of(item, text);
}

static bool read_text(struct slice name, struct slice value, struct message_data *data, struct buffer *text)
{
    const struct {
        struct slice name;
        struct slice *field;
    } rows[] = {
        {SLICE("\"group\""), &data->group},
        {SLICE("\"endpoint\""), &data->endpoint},
        {SLICE("\"queue\""), &data->queue},
        {SLICE("\"scheduleId\""), &data->schedule_id},
        {SLICE("\"callerIp\""), &data->caller_ip},
        {SLICE("\"flowKey\""), &data->flow.key},
        {SLICE("\"runId\""), &data->run.id},
        {SLICE("\"runUrl\""), &data->run.url},
        {SLICE("\"callType\""), &data->run.call_type},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (slice_equal(name, rows[i].name)) {
            *rows[i].field = text_of(value, text);
            return true;
        }
    }
    return false;
}

static bool read_number(struct slice name, struct slice value, struct flow_control *flow)
{
    uint64_t number = 0;
    bool is_number = slice_to_number(value, INT32_MAX, &number);
    if (slice_equal(name, SLICE("\"parallelism\"")))
        flow->parallelism = (int64_t)number;
    else if (slice_equal(name, SLICE("\"rate\"")))
        flow->rate = (int64_t)number;
    else if (slice_equal(name, SLICE("\"period\"")))
        flow->period_s = (int64_t)number;
    else
        return false;
    return is_number;
}

static void read_member(struct slice name, struct slice value, struct message_data *data, struct buffer *text)
{
    uint64_t number;
    if (read_text(name, value, data, text) || read_number(name, value, &data->flow))
        return;
    if (slice_equal(name, SLICE("\"callback\"")))
        data->callback = value;
    else if (slice_equal(name, SLICE("\"failureCallback\"")))
        data->failure_callback = value;
    else if (slice_equal(name, SLICE("\"runMadeAt\"")))
        data->run.made_ms = slice_to_number(value, INT64_MAX, &number) ? (int64_t)number : 0;
    else if (slice_equal(name, SLICE("\"isInit\"")))
        data->run.is_init = slice_equal(value, SLICE("true"));
    else if (slice_equal(name, SLICE("\"isWithoutSdk\"")))
        data->run.is_without_sdk = slice_equal(value, SLICE("true"));
    else if (slice_equal(name, SLICE("\"inherits\"")))
        data->run.inherits = value;
    else if (slice_equal(name, SLICE("\"redactBody\"")))
        data->redact.body = slice_equal(value, SLICE("true"));
    else if (slice_equal(name, SLICE("\"redactHeaders\"")))
        data->redact.headers = slice_equal(value, SLICE("true"));
    else if (slice_equal(name, SLICE("\"redact\"")))
        read_names(value, &data->redact, text);
}

void message_data_read(struct slice object, struct message_data *data, struct buffer *text)
{
    struct json_cursor cursor;
    struct slice name, value;
    *data = (struct message_data){.group = {NULL, 0}};
    bool is_object = object.size && json_open(object, &cursor) && cursor.close == '}';
    if (is_object)
        buffer_reserve(text, text->max); /* the buffer must not move later, because slices point into it */
    while (is_object && json_next_member(&cursor, &name, &value))
        read_member(name, value, data, text);
}

bool message_run_is_call(const struct message_run *run)
{
    return run->id.size && slice_equal_nocase(run->call_type, SLICE(RUN_CALL));
}

bool message_run_has_job(const struct message_run *run)
{
    return run->id.size && !slice_equal_nocase(run->call_type, SLICE(RUN_FAILURE));
}

/* ---- the job ---- */

enum { RECORD_ROOM = 1024 }; /* size of a job's record without the job's texts */

/* The waits of a message without a retry expression: min(86400, e^(2.5 n)) seconds before retry n. */
static const struct retry_schedule waits = {5, {12000, 148000, 1808000, 22026000, 86400000}};

void message_texts_init(struct message_texts *texts)
{
    buffer_init_fallible(&texts->base64, JOB_RECORD_MAX);
    buffer_init(&texts->data, JOB_FORM_DATA_MAX);
    buffer_init(&texts->callbacks, (size_t)4 * JOB_URL_MAX);
}

void message_texts_fini(struct message_texts *texts)
{
    buffer_fini(&texts->base64);
    buffer_fini(&texts->data);
    buffer_fini(&texts->callbacks);
}

/* Returns whether the body is a JSON object or array, which is stored unchanged in the record. Any other body
 * is stored as base64. */
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

/* Sets the body. The body of a GET is stored, because answers show it, but it is not sent
 * (worker/attempt_request.c). */
static void set_body(struct job *job, struct slice body, struct buffer *base64)
{
    if (body.size == 0)
        return;
    if (is_json(body)) {
        job->body = body;
        return;
    }
    base64_append(base64, body);
    job->body_base64 = buffer_slice(base64);
    job->has_body_base64 = true;
}

static struct slice put_url(struct buffer *text, struct slice url)
{
    size_t start = text->size;
    if (url.size == 0)
        return SLICE("");
    buffer_append_json(text, url);
    return slice_from(text->data + start, text->size - start);
}

/* Sets the urls of the callbacks. A call of a run has no callback after each attempt, only one when it is
 * delivered or dead. */
static void set_callbacks(struct job *job, const struct message_request *request, struct buffer *text)
{
    const struct message_settings *settings = request->settings;
    bool is_call = message_run_is_call(&request->data.run);
    buffer_reserve(text, text->max);
    struct slice callback = put_url(text, settings->callback.url);
    job->on_attempt = is_call ? SLICE("") : callback;
    job->on_delivered = is_call ? callback : SLICE("");
    job->on_dead = is_call ? callback : put_url(text, settings->failure_callback.url);
}

const char *message_job_make(const struct message_request *request, struct slice topic, int64_t now_ms,
                             struct message_texts *texts, struct job *job)
{
    const struct message_settings *settings = request->settings;
    *job = (struct job){.topic = topic,
                        .url = request->url,
                        .method = settings->method,
                        .labels = settings->labels,
                        .form = SLICE(QSTASH_FORM),
                        .trace_parent = request->trace_parent,
                        .trace_state = request->trace_state};
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
    set_body(job, request->body, &texts->base64);
    message_data_write(&texts->data, &request->data, settings);
    job->form_data = buffer_slice(&texts->data);
    job->has_headers = settings->header_count > 0;
    job->header_count = settings->header_count;
    memcpy(job->headers, settings->headers, settings->header_count * sizeof *settings->headers);
    job->workflow = message_run_has_job(&request->data.run) ? request->data.run.id : SLICE("");
    set_callbacks(job, request, &texts->callbacks);
    if (texts->data.failed)
        return "the settings of the callbacks are over 16 KiB";
    if (job->has_due_at && job->due_at_ms > now_ms + JOB_DELAY_MAX_MS)
        return "invalid Upstash-Not-Before: it must be at most 10 years ahead";
    return NULL;
}

size_t message_job_bytes(const struct job *job)
{
    size_t sum = RECORD_ROOM + 2 * job->url.size + job->body.size + job->body_base64.size +
                 job->form_data.size + job->on_attempt.size + job->on_delivered.size + job->on_dead.size;
    for (size_t i = 0; i < job->header_count; i++)
        sum += 2 * (job->headers[i].name.size + job->headers[i].value.size) + 6;
    return sum + job->labels.count * (2 * JOB_LABEL_MAX + 3);
}

/* ---- sending ---- */

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

/* ---- sending: the end ---- */

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

/* ---- sending: deduplication ---- */

/* Writes the idempotency key under which the first answer is stored for ten minutes. A request with the same
 * key is a repeat, even if its content differs. Returns false if there is no memory. */
static bool write_once(struct message *message, const struct message_request *request)
{
    const struct message_settings *settings = request->settings;
    char hash[FINGERPRINT_SIZE];
    struct buffer text;
    bool has_id = settings->deduplication_id.size, is_whole;
    if (!has_id && !settings->is_content_based)
        return true;
    buffer_init_fallible(&text, request->body.size + JOB_URL_MAX + (size_t)2 * JOB_HEADER_BYTES_MAX);
    if (has_id) {
        buffer_append(&text, settings->deduplication_id);
        if (request->data.group.size) /* each endpoint of a group needs a deduplication id of its own */
            buffer_printf(&text, "\n%.*s", SLICE_ARG(request->url));
    } else { /* what must be equal: destination, body, Content-Type and forwarded headers */
        buffer_append(&text, request->url);
        for (size_t i = 0; i < settings->header_count; i++)
            buffer_printf(&text, "\n%.*s: %.*s", SLICE_ARG(settings->headers[i].name),
                          SLICE_ARG(settings->headers[i].value));
        buffer_append(&text, SLICE("\n\n"));
        buffer_append(&text, request->body);
    }
    fingerprint_make_secret(buffer_slice(&text), hash);
    is_whole = !text.failed;
    buffer_fini(&text);
    snprintf(message->once, sizeof message->once, "same@600000 %s/%s-%s", QSTASH_TOPIC,
             has_id ? "id" : "content", hash);
    message->submission.once = slice_of(message->once);
    return is_whole;
}

/* ---- sending: the steps ---- */

static void message_refuse(struct message *message, unsigned status, const char *error)
{
    message->fn(message->arg, &(struct message_sent){.status = status, .error = slice_of(error)});
}

static void send_to(struct message *message, struct slice topic)
{
    struct message_texts texts;
    struct job job;
    message_texts_init(&texts);
    const char *fault =
        message_job_make(&message->request, topic, app_now_ms(message->submission.app), &texts, &job);
    if (fault) {
        message_refuse(message, 400, fault);
    } else if (texts.base64.failed || !write_once(message, &message->request)) {
        message_refuse(message, 503, "there is no memory for the message");
    } else {
        job.job_id = message_id_make(job.topic, clock_wall_ms(), message->id);
        if (app_submission_admit(&message->submission, message->request.caller, &job,
                                 message_job_bytes(&job))) {
            if (message->ready) {
                app_submission_write(&message->submission, &job);
                message->ready(message->arg);
            } else {
                app_submission_send(&message->submission, &job);
            }
        }
    }
    message_texts_fini(&texts);
}

static void message_on_topic(void *arg, const struct app_verdict *verdict, struct slice topic)
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
    message_topic_find(message->submission.app, request->caller, request->data.queue,
                       &request->settings->flow, message_on_topic, message);
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

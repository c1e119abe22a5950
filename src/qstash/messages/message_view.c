#include "qstash/messages/message.h"

#include "base/encoding.h"
#include "base/utf8.h"
#include "job/attempt_line.h"
#include "job/text/json.h"
#include "qstash/qstash.h"

enum { NAME_BYTES_MAX = 256 };

/* Reads the job's member formData, and the job's body. */
static void view_read_rest(struct message_view *view)
{
    buffer_init(&view->text, JOB_FORM_DATA_MAX);
    buffer_init_fallible(&view->payload, JOB_RECORD_MAX);
    message_data_read(view->job.form_data, &view->data, &view->text);
    view->body = job_payload(&view->job, &view->payload);
}

bool message_view_read(struct slice id, struct slice record, struct message_view *view)
{
    *view = (struct message_view){.body = {NULL, 0}};
    if (job_read(id, record, &view->job) != STATUS_OK)
        return false;
    if (view->job.lacks.size || !slice_equal(view->job.form, SLICE(QSTASH_FORM))) {
        job_fini(&view->job);
        return false;
    }
    view_read_rest(view);
    return true;
}

void message_view_of(const struct job *job, struct message_view *view)
{
    *view = (struct message_view){.job = *job};
    view_read_rest(view);
}

void message_view_release(struct message_view *view)
{
    buffer_fini(&view->text);
    buffer_fini(&view->payload);
}

void message_view_fini(struct message_view *view)
{
    message_view_release(view);
    job_fini(&view->job);
}

/* ---- values ---- */

void message_view_add_base64(struct json_writer *json, const char *name, struct slice bytes)
{
    json_put_name(json, name);
    struct buffer *out = json_put(json);
    buffer_append_byte(out, '"');
    base64_append(out, bytes);
    buffer_append_byte(out, '"');
}

void message_view_add_bytes(struct json_writer *json, const char *name, const char *base64_name,
                            struct slice bytes)
{
    if (utf8_is_sound_text(bytes.data, bytes.size)) {
        json_add_text(json, name, bytes);
        return;
    }
    message_view_add_base64(json, base64_name, bytes);
}

void message_view_put_name(struct json_writer *json, struct slice name)
{
    char room[NAME_BYTES_MAX];
    bool is_start = true;
    if (name.size > sizeof room)
        name.size = sizeof room;
    for (size_t i = 0; i < name.size; i++) {
        char byte = name.data[i];
        bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
        room[i] = is_letter ? (char)(is_start ? byte & ~0x20 : byte | 0x20) : byte;
        is_start = byte == '-';
    }
    json_put_name_text(json, slice_from(room, name.size));
}

struct slice message_view_redacted(struct slice bytes, char room[REDACTED_SIZE])
{
    char digest[DIGEST_TEXT_SIZE];
    struct buffer text = buffer_of(room, REDACTED_SIZE);
    digest_make(bytes, digest);
    buffer_append(&text, SLICE("REDACTED:"));
    buffer_append(&text, slice_of(digest));
    return buffer_slice(&text);
}

static bool is_redacted(const struct redaction *redact, struct slice header)
{
    for (size_t i = 0; i < redact->count; i++)
        if (slice_equal_nocase(redact->names[i], header))
            return true;
    return redact->headers;
}

/* ---- headers ---- */

/* Writes the values of all headers with the same name as this header, which is the first of them. */
static void put_header_values(struct json_writer *json, const struct message_view *view, size_t first)
{
    const struct job_header *headers = view->job.headers;
    char room[REDACTED_SIZE];
    json_put_array(json);
    for (size_t i = first; i < view->job.header_count; i++) {
        if (!slice_equal_nocase(headers[i].name, headers[first].name))
            continue;
        bool is_hidden = is_redacted(&view->data.redact, headers[i].name);
        json_put_text(json, is_hidden ? message_view_redacted(headers[i].value, room) : headers[i].value);
    }
    json_end_array(json);
}

void message_view_add_headers(struct json_writer *json, const char *name, const struct message_view *view)
{
    const struct job_header *headers = view->job.headers;
    if (view->job.header_count == 0)
        return;
    json_add_object(json, name);
    for (size_t i = 0; i < view->job.header_count; i++) {
        if (headers_find(headers, i, headers[i].name))
            continue;
        message_view_put_name(json, headers[i].name);
        put_header_values(json, view, i);
    }
    json_end_object(json);
}

/* Adds the headers that the callback sends to its url. */
static void add_callback_headers(struct json_writer *json, const char *name, struct slice settings)
{
    char room[NAME_BYTES_MAX + 1];
    struct buffer scratch = buffer_of(room, sizeof room);
    struct json_cursor cursor;
    struct slice key, value;
    static const struct slice forward = SLICE_INIT("Forward-");
    if (settings.size == 0 || !json_open(settings, &cursor))
        return;
    json_add_object(json, name);
    while (json_next_member(&cursor, &key, &value)) {
        struct slice header = json_name(key, &scratch);
        if (header.size <= forward.size ||
            !slice_equal_nocase(slice_from(header.data, forward.size), forward))
            continue;
        message_view_put_name(json, slice_skip(header, forward.size));
        json_put_array(json);
        json_put_raw(json, value);
        json_end_array(json);
    }
    json_end_object(json);
}

/* ---- all members ---- */

struct slice message_view_callback(struct slice member, struct buffer *text)
{
    return json_is_text(member) ? json_text(member, text) : SLICE("");
}

void message_view_add_labels(struct json_writer *json, const struct job_labels *labels)
{
    if (labels->count == 0)
        return;
    json_add_text(json, "label", labels->items[0]);
    json_add_texts(json, "labels", labels->items, labels->count);
}

void message_view_add_content(struct json_writer *json, const struct message_view *view)
{
    char room[REDACTED_SIZE];
    json_add_text(json, "method", slice_of(job_method_word(view->job.method)));
    message_view_add_headers(json, "header", view);
    if (view->body.size && view->data.redact.body)
        json_add_text(json, "body", message_view_redacted(view->body, room));
    else if (view->body.size)
        message_view_add_bytes(json, "body", "bodyBase64", view->body);
}

void message_view_add_settings(struct json_writer *json, const struct message_view *view,
                               enum message_naming naming)
{
    static const char *const callback[] = {"callbackHeader", "callbackHeaders"};
    static const char *const failure[] = {"failureCallbackHeader", "failureCallbackHeaders"};
    struct buffer text;
    buffer_init(&text, (size_t)8 * JOB_URL_MAX);
    json_add_nonempty(json, "callback", message_view_callback(view->job.on_attempt, &text));
    add_callback_headers(json, callback[naming], view->data.callback);
    buffer_clear(&text);
    json_add_nonempty(json, "failureCallback", message_view_callback(view->job.on_dead, &text));
    add_callback_headers(json, failure[naming], view->data.failure_callback);
    buffer_fini(&text);
    json_add_nonempty(json, "queueName", view->data.queue);
    json_add_nonempty(json, "callerIP", view->data.caller_ip);
    message_view_add_labels(json, &view->job.labels);
    const struct flow_control *flow = &view->data.flow;
    if (flow->key.size > 0) {
        json_add_text(json, "flowControlKey", flow->key);
        json_add_nonzero(json, "parallelism", flow->parallelism);
        json_add_nonzero(json, "rate", flow->rate);
        json_add_number(json, "period", flow->period_s ? flow->period_s : 1);
    }
    json_add_nonempty(json, "retryDelayExpression", view->job.retry_wait);
}

int64_t message_view_run_ms(const struct message_view *view)
{
    return view->data.run.made_ms ? view->data.run.made_ms : view->job.created_ms;
}

bool message_view_is_of_run(const struct message_view *view)
{
    return message_run_has_job(&view->data.run) && !message_run_is_call(&view->data.run);
}

void message_view_add_run(struct json_writer *json, const struct message_view *view)
{
    json_add_text(json, "workflowRunId", view->data.run.id);
    json_add_number(json, "workflowCreatedAt", message_view_run_ms(view));
    json_add_text(json, "workflowUrl", view->data.run.url);
}

void message_view_add(struct json_writer *json, const struct message_view *view)
{
    const struct job *job = &view->job;
    json_add_text(json, "messageId", job->job_id);
    json_add_nonempty(json, "topicName", view->data.group);
    json_add_nonempty(json, "endpointName", view->data.endpoint);
    json_add_text(json, "url", job->url);
    message_view_add_content(json, view);
    json_add_number(json, "maxRetries", job->retry);
    json_add_number(json, "notBefore", job_due_ms(job, job->created_ms));
    json_add_number(json, "createdAt", job->created_ms);
    message_view_add_settings(json, view, MESSAGE_HEADER);
    json_add_nonempty(json, "scheduleId", view->data.schedule_id);
}

/* ---- the answer of a receiver ---- */

static bool take_line(struct slice *lines, struct slice *name, struct slice *value)
{
    struct slice line;
    if (lines->size == 0)
        return false;
    slice_cut(*lines, '\n', &line, lines);
    slice_cut(line, ':', name, value);
    *value = slice_trim(*value);
    return true;
}

/* rest: the lines after the current line. Returns whether the header wanted occurs in a line before the
 * current line. */
static bool has_before(struct slice lines, struct slice rest, struct slice wanted)
{
    struct slice name, value;
    size_t lines_behind = 0;
    for (struct slice at = rest; take_line(&at, &name, &value);)
        lines_behind++;
    size_t all = 0;
    for (struct slice at = lines; take_line(&at, &name, &value);)
        all++;
    for (size_t i = 0; i + lines_behind + 1 < all && take_line(&lines, &name, &value); i++)
        if (slice_equal_nocase(name, wanted))
            return true;
    return false;
}

static void put_values(struct json_writer *json, struct slice lines, struct slice wanted)
{
    struct slice name, value;
    json_put_array(json);
    while (take_line(&lines, &name, &value))
        if (slice_equal_nocase(name, wanted))
            json_put_text(json, value);
    json_end_array(json);
}

bool answer_headers_find(struct slice lines, struct slice wanted, struct slice *value)
{
    struct slice name;
    while (take_line(&lines, &name, value))
        if (slice_equal_nocase(name, wanted))
            return true;
    return false;
}

void answer_headers_add(struct json_writer *json, const char *member, struct slice lines)
{
    struct slice name, value, rest = lines;
    json_add_object(json, member);
    while (take_line(&rest, &name, &value)) {
        if (has_before(lines, rest, name))
            continue;
        message_view_put_name(json, name);
        put_values(json, lines, name);
    }
    json_end_object(json);
}

/* ---- a dead letter ---- */

bool dead_letter_is(const struct app_verdict *verdict)
{
    return verdict->end == STATUS_OK && verdict->job.state == JOB_STATE_DEAD && !verdict->job.is_of_history;
}

static struct slice keep_text(struct buffer *texts, struct slice text)
{
    size_t start = texts->size;
    buffer_append(texts, text);
    return slice_from(texts->data + start, texts->size - start);
}

void dead_letter_keep(struct dead_letter *letter, const struct app_verdict *verdict)
{
    const struct stored_job *job = &verdict->job;
    if (!dead_letter_is(verdict))
        return;
    size_t bytes = job->id.size + job->record.size + job->last_lines.size;
    buffer_init_fallible(&letter->texts, bytes + 1);
    buffer_reserve(&letter->texts, bytes); /* the buffer must not move later, because slices point into it */
    if (letter->texts.failed)
        return;
    letter->job = *job;
    letter->job.id = keep_text(&letter->texts, job->id);
    letter->job.record = keep_text(&letter->texts, job->record);
    letter->job.last_lines = keep_text(&letter->texts, job->last_lines);
    letter->is_there = message_view_read(letter->job.id, letter->job.record, &letter->view);
}

void dead_letter_fini(struct dead_letter *letter)
{
    if (letter->is_there)
        message_view_fini(&letter->view);
    buffer_fini(&letter->texts);
}

void dead_letter_add_answer(struct json_writer *json, const struct stored_job *job,
                            const struct message_view *view, const char *headers_name)
{
    struct attempt_line line, next;
    struct slice lines = job->last_lines;
    struct buffer text;
    bool has_line = false;
    while (attempt_line_take(&lines, &next)) {
        line = next;
        has_line = true;
    }
    /* A delivered job has no new record, so only the line has its last attempt. */
    const struct attempt_result *last = has_line ? &line.result : &view->job.last_attempt;
    json_add_number(json, "responseStatus", last->at_ms && last->error == FAILURE_NONE ? last->status : 0);
    if (view->job.answer_headers.size)
        answer_headers_add(json, headers_name, view->job.answer_headers);
    if (!has_line || line.answer.size == 0)
        return;
    buffer_init_fallible(&text, ATTEMPT_LINE_MAX);
    message_view_add_bytes(json, "responseBody", "responseBodyBase64", attempt_line_bytes(&line, &text));
    buffer_fini(&text);
}

void dead_letter_add(struct json_writer *json, const struct stored_job *job, const struct message_view *view)
{
    char room[MESSAGE_ID_MAX + 1];
    message_view_add(json, view);
    json_add_text(json, "dlqId", dead_letter_id(view->job.job_id, room));
    if (message_view_is_of_run(view))
        message_view_add_run(json, view);
    dead_letter_add_answer(json, job, view, "responseHeader");
}

/* ---- the settings of a message ---- */

/* Takes the settings of a callback, an object of texts. */
static void take_callback(struct callback_settings *callback, struct slice member, struct slice pairs,
                          struct buffer *text)
{
    struct json_cursor cursor;
    struct slice key, value;
    callback->url = message_view_callback(member, text);
    if (pairs.size == 0 || !json_open(pairs, &cursor))
        return;
    while (callback->count < CALLBACK_SETTINGS_MAX && json_next_member(&cursor, &key, &value))
        callback->pairs[callback->count++] =
            (struct callback_setting){json_text(key, text), json_text(value, text)};
}

void message_view_take_settings(const struct message_view *view, struct message_settings *settings,
                                struct buffer *text)
{
    const struct job *job = &view->job;
    settings->method = job->method;
    settings->header_count = job->header_count;
    memcpy(settings->headers, job->headers, job->header_count * sizeof *job->headers);
    settings->has_retries = true;
    settings->retries = job->retry;
    settings->retry_delay = job->retry_wait;
    settings->has_timeout = job->has_timeout;
    settings->timeout_ms = job->timeout_ms;
    settings->flow = view->data.flow;
    settings->labels = job->labels;
    settings->redact = view->data.redact;
    buffer_reserve(text, text->max); /* the buffer must not move later, because slices point into it */
    take_callback(&settings->callback, job->on_attempt, view->data.callback, text);
    take_callback(&settings->failure_callback, job->on_dead, view->data.failure_callback, text);
}

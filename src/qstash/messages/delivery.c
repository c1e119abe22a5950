#include "qstash/messages/message.h"

#include <assert.h>

#include "job/delivery/delivery_form.h"
#include "job/delivery/digest.h"
#include "job/delivery/signature.h"
#include "job/text/json.h"
#include "qstash/qstash.h"
#include "qstash/qstash_private.h"
#include "qstash/runs/runs.h"
#include "qstash/topics/topics.h"

#define TOPIC QSTASH_TOPIC CALLBACK_SIBLING

enum { SOURCE_MAX = JOB_KEY_MAX + 64, INHERITED_MAX = 2 * JOB_FORM_DATA_MAX };

/* ---- callbacks: the document ---- */

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

static void add_source(struct json_writer *json, struct message_view *view,
                       const struct callback_report *report, bool is_of_run)
{
    const struct job *job = &view->job;
    view->data.redact = (struct redaction){.body = false}; /* only the API's answers are redacted */
    json_add_text(json, "sourceMessageId", job->job_id);
    json_add_text(json, "topicName", view->data.group);
    json_add_text(json, "endpointName", view->data.endpoint);
    json_add_text(json, "url", job->url);
    json_add_text(json, "method", slice_of(job_method_word(job->method)));
    if (job->header_count)
        message_view_add_headers(json, "sourceHeader", view);
    else
        json_add_raw(json, "sourceHeader", SLICE("{}"));
    if (is_of_run)
        json_add_raw(json, "sourceBody", first_body(report->elements));
    else
        message_view_add_base64(json, "sourceBody", view->body);
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

/* ---- callbacks: the message ---- */

/* Takes the settings of the callback from object. Ignores errors in these settings, because the message has
 * already succeeded or failed. inherits: settings of the run, for the callback that brings a call's answer to
 * the run; empty for other callbacks. */
static void take_settings(struct slice object, struct slice inherits, struct message_settings *settings,
                          struct buffer *text)
{
    struct json_cursor cursor;
    struct slice key, value;
    bool is_object = object.size && json_open(object, &cursor) && cursor.close == '}';
    while (is_object && json_next_member(&cursor, &key, &value))
        if (json_is_text(value))
            message_settings_take_short(settings, json_text(key, &settings->decoded),
                                        json_text(value, &settings->decoded));
    settings->callback.url = settings->failure_callback.url = (struct slice){NULL, 0};
    run_apply_to_answer(inherits, settings, text);
    settings->has_not_before = false;
    if (!headers_find(settings->headers, settings->header_count, SLICE("Content-Type")))
        message_settings_take(settings, SLICE("Content-Type"), SLICE("application/json"));
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

static bool write_message(const struct message_request *request, struct callback_job *callback)
{
    struct message_texts texts;
    struct job job;
    message_texts_init(&texts);
    const char *fault = message_job_make(request, SLICE(TOPIC), 0, &texts, &job);
    assert(!fault); /* only callbacks and times can be refused, and this message has neither */
    callback->delay_ms = job.delay_ms;
    slice_cut(buffer_slice(&callback->id), '/', &job.topic, &job.job_id);
    job_write(&job, &callback->record);
    bool is_whole = !texts.base64.failed && !callback->record.failed;
    message_texts_fini(&texts);
    return is_whole;
}

/* Returns the data that makes the callback a message of the run: the run of the original message, and the
 * callback's kind. */
static struct message_run run_of_callback(const struct message_view *view,
                                          const struct message_settings *settings)
{
    const struct message_run *run = &view->data.run;
    struct message_run own = {.call_type = message_run_is_call(run) ? SLICE(RUN_ANSWER) : SLICE(RUN_FAILURE)};
    own.id = run->id;
    own.url = settings->run.url.size ? settings->run.url : run->url;
    own.made_ms = message_view_run_ms(view);
    return own;
}

bool callback_write(const struct callback_report *report, bool is_dead, struct slice url,
                    struct callback_job *callback)
{
    struct message_view view;
    struct message_settings settings;
    struct buffer document, text;
    message_view_of(report->job, &view);
    bool is_call = message_run_is_call(&view.data.run), is_failure = is_dead && !is_call;
    message_settings_init(&settings);
    buffer_reserve(&settings.decoded, settings.decoded.max);
    buffer_init_fallible(&document, JOB_RECORD_MAX);
    buffer_init(&text, INHERITED_MAX);
    buffer_reserve(&text, text.max); /* the buffer must not move later, because slices point into it */
    if (!is_call)
        settings.retries = view.job.retry;
    take_settings(is_failure ? view.data.failure_callback : view.data.callback, view.data.run.inherits,
                  &settings, &text);
    write_document(&document, report, is_failure, &view);
    if (is_failure && view.data.run.id.size)
        callback_write_failure_key(report->id, &callback->id);
    else
        write_key(report->id, report->nonce, is_failure, &callback->id);
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
    message_settings_fini(&settings);
    message_view_release(&view);
    return is_whole;
}

/* ---- the time at which a receiver wants the next attempt ---- */

enum { PARTS_MAX = 8 };

/* Takes a decimal number of at most 12 digits. Returns false if text does not begin with one. */
static bool take_number(struct slice *text, double *number)
{
    size_t digits = 0, i = 0;
    double scale = 1;
    bool has_point = false;
    *number = 0;
    for (; i < text->size && ((text->data[i] >= '0' && text->data[i] <= '9') || text->data[i] == '.'); i++) {
        if (text->data[i] == '.' && has_point)
            return false;
        has_point |= text->data[i] == '.';
        if (text->data[i] == '.')
            continue;
        *number = *number * 10 + (text->data[i] - '0');
        scale *= has_point ? 10 : 1;
        digits++;
    }
    *number /= scale;
    *text = slice_skip(*text, i);
    return digits > 0 && digits <= 12;
}

/* Takes a unit. Without a unit, the number is in seconds, and must be the end of the text. */
static bool take_unit(struct slice *text, double *unit_ms)
{
    static const struct {
        struct slice name;
        double ms;
    } units[] = {{SLICE_INIT("ns"), 1e-6},  {SLICE_INIT("us"), 1e-3}, {SLICE_INIT("ms"), 1},
                 {SLICE_INIT("h"), 3600e3}, {SLICE_INIT("m"), 60e3},  {SLICE_INIT("s"), 1e3}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (slice_starts_with(*text, units[i].name)) {
            *text = slice_skip(*text, units[i].name.size);
            *unit_ms = units[i].ms;
            return true;
        }
    }
    return false;
}

static bool read_parts(struct slice text, double *ms)
{
    *ms = 0;
    for (int part = 0; text.size && part < PARTS_MAX; part++) {
        double number, unit_ms = 1000;
        if (!take_number(&text, &number) || (!take_unit(&text, &unit_ms) && (text.size || part)))
            return false;
        *ms += number * unit_ms;
    }
    return text.size == 0;
}

bool retry_time_parse(struct slice text, int64_t now_ms, int64_t *wait_ms)
{
    double ms;
    int64_t at_ms;
    text = slice_trim(text);
    if (text.size == 0)
        return false;
    if (http_date_parse(text, &at_ms))
        ms = at_ms > now_ms ? (double)(at_ms - now_ms) : 0;
    else if (!read_parts(text, &ms))
        return false;
    *wait_ms = (int64_t)ms;
    return ms <= (double)RETRY_TIME_MAX_MS;
}

enum { LIFETIME_S = 300, CLAIMS_MAX = 8 * 1024 };

/* ---- deliveries: the request ---- */

static void add_text(struct header_lines *lines, struct slice name, struct slice value)
{
    if (value.size && header_value_is_valid(value))
        header_lines_add(lines, name, value);
}

/* Adds the signature, with the current key. A message that is delivered before keys exist has no
 * signature. */
static void form_sign(const struct form_attempt *attempt, struct header_lines *lines)
{
    struct buffer claims, token;
    struct jwt_keys keys;
    if (!attempt->settings || !jwt_keys_read(attempt->settings->form_keys, &keys))
        return;
    buffer_init(&claims, CLAIMS_MAX);
    buffer_init(&token, (size_t)2 * CLAIMS_MAX);
    struct json_writer json = json_writer_to(&claims);
    int64_t now_s = attempt->now_ms / 1000;
    json_put_object(&json);
    json_add_text(&json, "iss", SLICE("Upstash"));
    json_add_text(&json, "sub", attempt->url);
    json_add_number(&json, "exp", now_s + LIFETIME_S);
    json_add_number(&json, "nbf", now_s);
    json_add_number(&json, "iat", now_s);
    json_put_name(&json, "jti");
    buffer_printf(json_put(&json), "\"jwt_%.*s_%d\"", SLICE_ARG(attempt->job->job_id),
                  attempt->job->attempts);
    json_put_name(&json, "body");
    buffer_append_byte(json_put(&json), '"');
    jwt_append_digest(&claims, attempt->payload);
    buffer_append_byte(&claims, '"');
    json_end_object(&json);
    jwt_append(&token, keys.current, buffer_slice(&claims));
    header_lines_add(lines, SLICE("Upstash-Signature"), buffer_slice(&token));
    lines->text->failed |= claims.failed || token.failed;
    buffer_fini(&claims);
    buffer_fini(&token);
}

/* Adds the headers of a durable run. Calls do not get these headers, because their receivers do not belong to
 * the run. */
static void add_run(const struct form_attempt *attempt, const struct message_run *run,
                    struct header_lines *lines)
{
    int64_t made_ms = attempt->workflow_ms ? attempt->workflow_ms : run->made_ms;
    if (run->id.size == 0 || message_run_is_call(run))
        return;
    add_text(lines, SLICE("Upstash-Workflow-RunId"), run->id);
    header_lines_add_number(lines, SLICE("Upstash-Workflow-CreatedAt"), made_ms);
    add_text(lines, SLICE("Upstash-Workflow-Url"), run->url);
    header_lines_add(lines, SLICE("Upstash-Workflow-Init"), run->is_init ? SLICE("true") : SLICE("false"));
    if (run->is_without_sdk)
        header_lines_add(lines, SLICE("Upstash-Workflow-Unknown-Sdk"), SLICE("true"));
}

static void form_write_headers(const struct form_attempt *attempt, struct header_lines *lines)
{
    char room[JOB_FORM_DATA_MAX];
    struct buffer text = buffer_of(room, sizeof room);
    struct message_data data;
    message_data_read(attempt->job->form_data, &data, &text);
    if (!headers_find(attempt->headers, attempt->header_count, SLICE("User-Agent")))
        header_lines_add(lines, SLICE("User-Agent"), SLICE("Upstash-QStash"));
    header_lines_add(lines, SLICE("Upstash-Message-Id"), attempt->job->job_id);
    header_lines_add_number(lines, SLICE("Upstash-Retried"), attempt->job->attempts);
    form_sign(attempt, lines);
    add_text(lines, SLICE("Upstash-Topic-Name"), data.group);
    add_text(lines, SLICE("Upstash-Schedule-Id"), data.schedule_id);
    add_text(lines, SLICE("Upstash-Caller-Ip"), data.caller_ip);
    add_run(attempt, &data.run, lines);
}

/* ---- deliveries: the answer ---- */

/* Returns the value of a header of the answer, or an empty slice. */
static struct slice header_of(const struct form_answer *answer, struct slice name)
{
    struct slice line, own_name, value, rest = answer->headers;
    while (rest.size) {
        slice_cut(rest, '\n', &line, &rest);
        slice_cut(line, ':', &own_name, &value);
        if (slice_equal_nocase(own_name, name))
            return slice_trim(value);
    }
    return SLICE("");
}

/* Returns why a 2xx to the first message of a run is an error, in QStash's words, or an empty text.
 *
 * The SDK for durable runs sends its version in each answer. If POST /v2/trigger has created the run, the SDK
 * starts the run again before it answers. After that, this message does not belong to the run any more, so
 * its answer is not checked. If the message still belongs to the run, the SDK is too old to start the run
 * again. */
static struct slice error_of_beginning(const struct form_answer *answer)
{
    char room[JOB_FORM_DATA_MAX];
    struct buffer text = buffer_of(room, sizeof room);
    struct message_data data;
    if (!answer->job || answer->job->workflow.size == 0)
        return SLICE("");
    message_data_read(answer->job->form_data, &data, &text);
    if (!data.run.is_init)
        return SLICE("");
    if (header_of(answer, SLICE("Upstash-Workflow-Sdk-Version")).size == 0)
        return SLICE(
            "detected a non-workflow destination for trigger/invoke. make sure you are sending the request "
            "to the correct endpoint");
    return data.run.is_without_sdk
               ? SLICE("trigger rest api is only usable with sdk versions after v1.0.0 major version")
               : SLICE("");
}

static void form_judge(const struct form_answer *answer, struct form_judgement *judgement)
{
    static const struct slice names[] = {SLICE_INIT("Retry-After"), SLICE_INIT("X-RateLimit-Reset"),
                                         SLICE_INIT("X-RateLimit-Reset-Requests"),
                                         SLICE_INIT("X-RateLimit-Reset-Tokens")};
    const struct attempt_result *result = answer->result;
    if (attempt_result_is_success(result)) {
        judgement->detail = error_of_beginning(answer);
        if (judgement->detail.size)
            judgement->final = SLICE("not_a_workflow");
    }
    if (result->error != FAILURE_NONE || attempt_result_is_success(result))
        return;
    if (result->status == 489 &&
        slice_equal_nocase(header_of(answer, SLICE("Upstash-NonRetryable-Error")), SLICE("true")))
        judgement->final = SLICE("rejected");
    for (size_t i = 0; i < sizeof names / sizeof *names && !judgement->has_wait; i++)
        judgement->has_wait = retry_time_parse(header_of(answer, names[i]),
                                               result->at_ms + result->duration_ms, &judgement->wait_ms);
}

const struct delivery_form qstash_form = {
    .name = SLICE_INIT(QSTASH_FORM),
    .wants_headers = true,
    .write_headers = form_write_headers,
    .judge = form_judge,
    .write_callback = callback_write,
    .write_group_jobs = group_messages_write,
};

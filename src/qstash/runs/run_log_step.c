#include <stdio.h>

#include "base/encoding.h"
#include "job/attempt_line.h"
#include "job/text/json.h"
#include "qstash/messages/message.h"
#include "qstash/runs/run_log.h"
#include "qstash/runs/runs.h"

/* ---- reading ---- */

static void take_number(struct slice value, uint64_t *number)
{
    if (!slice_to_number(value, INT32_MAX, number))
        *number = 0;
}

/* Reads the id, the name and the type of a step. object: the JSON of the step, or the member "call" of a
 * call's element. */
static void read_step(struct slice object, struct run_log_step *step, struct buffer *text)
{
    struct json_cursor cursor;
    struct slice key, value;
    bool is_object = object.size && json_open(object, &cursor) && cursor.close == '}';
    while (is_object && json_next_member(&cursor, &key, &value)) {
        if (slice_equal(key, SLICE("\"stepId\"")))
            take_number(value, &step->id);
        else if (slice_equal(key, SLICE("\"targetStep\"")))
            take_number(value, &step->target);
        else if (slice_equal(key, SLICE("\"concurrent\"")))
            take_number(value, &step->concurrent);
        else if (slice_equal(key, SLICE("\"stepName\"")) && json_is_text(value))
            step->name = json_text(value, text);
        else if (slice_equal(key, SLICE("\"stepType\"")) && json_is_text(value))
            step->type = json_text(value, text);
    }
}

static struct slice decode_body(struct slice base64, struct buffer *text)
{
    size_t start = text->size;
    if (!base64_decode(base64, text))
        return SLICE("");
    return slice_from(text->data + start, text->size - start);
}

static bool is_object(struct slice text)
{
    static const struct json_limits limits = {JSON_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault fault;
    return text.size && text.data[0] == '{' && json_check(text, &limits, &fault) == STATUS_OK;
}

void run_log_step_read(const struct workflow_element *element, struct run_log_step *step, struct buffer *text)
{
    struct json_cursor cursor;
    struct slice key, value;
    *step = (struct run_log_step){.element = element};
    bool is_read = element->text.size && json_open(element->text, &cursor) && cursor.close == '}';
    while (is_read && json_next_member(&cursor, &key, &value)) {
        if (slice_equal(key, SLICE("\"messageId\"")) && json_is_text(value))
            step->message_id = json_text(value, text);
        else if (slice_equal(key, SLICE("\"body\"")) && json_is_text(value))
            step->body = decode_body(json_text(value, text), text);
        else if (slice_equal(key, SLICE("\"call\"")))
            step->call = value;
    }
    if (!element->text.size) { /* without a text, the element gives only the id of its message */
        struct slice topic;
        slice_cut(element->job, '/', &topic, &step->message_id);
    }
    if (element->is_call) {
        read_step(step->call, step, text);
    } else if (is_object(step->body)) {
        step->object = step->body;
        read_step(step->object, step, text);
    }
}

void run_log_step_read_wait(const struct workflow_open *open, struct run_log_step *step, struct buffer *text)
{
    struct waiter waiter;
    struct slice topic;
    *step = (struct run_log_step){.wait = open};
    slice_cut(open->job, '/', &topic, &step->message_id);
    if (!waiter_read(open->wait, &waiter, text))
        return;
    step->object = waiter.step;
    read_step(step->object, step, text);
}

/* ---- bodies ---- */

/* Cuts a text to at most a number of bytes, but never inside a character. */
static struct slice cut_text(struct slice text, size_t most)
{
    if (text.size <= most)
        return text;
    while (most > 0 && ((unsigned char)text.data[most] & 0xC0) == 0x80)
        most--;
    return slice_from(text.data, most);
}

void run_log_add_body(struct json_writer *json, const struct run_log *log, const char *name,
                      struct slice body)
{
    char room[REDACTED_SIZE], name64[64];
    if (log->view->data.redact.body && body.size) {
        json_add_text(json, name, message_view_redacted(body, room));
        return;
    }
    snprintf(name64, sizeof name64, "%sBase64", name);
    message_view_add_bytes(json, name, name64, cut_text(body, log->trim));
}

void run_log_add_answer_headers(struct json_writer *json, const char *name, struct slice lines)
{
    if (lines.size) {
        answer_headers_add(json, name, lines);
        return;
    }
    json_add_object(json, name);
    json_end_object(json);
}

static void put_error(struct json_writer *json, const struct attempt_line *line, struct slice headers,
                      size_t trim)
{
    const struct attempt_result *result = &line->result;
    struct buffer text;
    buffer_init_fallible(&text, ATTEMPT_LINE_MAX);
    struct slice answer = attempt_line_text(line, &text);
    json_put_object(json);
    json_add_text(json, "error",
                  result->detail.size             ? result->detail
                  : result->error != FAILURE_NONE ? slice_of(failure_word(result->error))
                  : attempt_result_is_success(result)
                      ? answer /* why a 2xx is an error, see delivery_form.h */
                      : SLICE(""));
    json_add_number(json, "status", result->error == FAILURE_NONE ? result->status : 0);
    json_add_text(json, "body", cut_text(answer, trim));
    run_log_add_answer_headers(json, "headers", headers);
    json_add_number(json, "time", result->at_ms);
    json_end_object(json);
    buffer_fini(&text);
}

void run_log_add_errors(struct json_writer *json, const struct run_log_message *message, size_t trim)
{
    struct attempt_line line;
    bool has_any = false;
    if (!message)
        return;
    struct slice lines = message->lines;
    while (attempt_line_take(&lines, &line)) {
        bool is_failure =
            message->state == JOB_STATE_DEAD && lines.size == 0; /* a 2xx may be one, see delivery_form.h */
        if (attempt_result_is_success(&line.result) && !is_failure)
            continue;
        if (!has_any)
            json_add_array(json, "errors");
        has_any = true;
        put_error(json, &line, lines.size ? SLICE("") : message->view->job.answer_headers, trim);
    }
    if (has_any)
        json_end_array(json);
}

/* ---- writing ---- */

/* Adds a value as a string: a string as it is, any other value as its JSON. */
static void add_value(struct json_writer *json, const struct run_log *log, const char *name,
                      struct slice value)
{
    struct buffer text;
    buffer_init_fallible(&text, value.size + 1);
    run_log_add_body(json, log, name, json_is_text(value) ? json_text(value, &text) : value);
    buffer_fini(&text);
}

/* Adds the members for the answer to a call. */
static void add_answer(struct json_writer *json, const struct run_log *log, struct slice out)
{
    struct json_cursor cursor;
    struct slice key, value;
    if (!is_object(out) || !json_open(out, &cursor))
        return;
    while (json_next_member(&cursor, &key, &value)) {
        if (slice_equal(key, SLICE("\"status\"")))
            json_add_raw(json, "callResponseStatus", value);
        else if (slice_equal(key, SLICE("\"body\"")))
            add_value(json, log, "callResponseBody", value);
        else if (slice_equal(key, SLICE("\"header\"")))
            json_add_raw(json, "callResponseHeaders", value);
    }
}

/* Adds the id of the run that this step has invoked. */
static void add_invoked(struct json_writer *json, struct slice out)
{
    struct json_cursor cursor;
    struct slice key, value;
    if (!is_object(out) || !json_open(out, &cursor))
        return;
    while (json_next_member(&cursor, &key, &value))
        if (slice_equal(key, SLICE("\"workflowRunId\"")))
            json_add_raw(json, "invokedWorkflowRunId", value);
}

/* Adds the result of a step. The result of a wait is the event's data, which is stored as base64. */
static void add_out(struct json_writer *json, const struct run_log *log, const struct run_log_step *step,
                    struct slice value)
{
    struct buffer text;
    bool is_event =
        slice_equal(step->type, SLICE("Wait")) || slice_equal(step->type, SLICE("WaitForWebhook"));
    buffer_init_fallible(&text, 2 * value.size + 1);
    buffer_reserve(&text, 2 * value.size);
    struct slice out = json_is_text(value) ? json_text(value, &text) : value;
    if (is_event && base64_is_valid(out))
        out = decode_body(out, &text);
    run_log_add_body(json, log, "out", out);
    if (slice_equal(step->type, SLICE("Call")))
        add_answer(json, log, out);
    else if (slice_equal(step->type, SLICE("Invoke")))
        add_invoked(json, out);
    buffer_fini(&text);
}

/* Adds the members that only some kinds of steps have. */
static void add_facts(struct json_writer *json, const struct run_log *log, const struct run_log_step *step)
{
    static const char *const names[] = {
        "sleepFor", "sleepUntil", "waitEventId",        "waitTimeout",
        "callUrl",  "callMethod", "invokedWorkflowUrl", "invokedWorkflowCreatedAt"};
    struct json_cursor cursor;
    struct slice key, value;
    if (!step->object.size || !json_open(step->object, &cursor))
        return;
    while (json_next_member(&cursor, &key, &value)) {
        struct slice name = slice_from(key.data + 1, key.size - 2);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (slice_equal(name, slice_of(names[i])))
                json_add_raw(json, names[i], value);
        if (slice_equal(name, SLICE("timeout")))
            json_add_raw(json, "waitTimeoutDuration", value);
        else if (slice_equal(name, SLICE("out")) && step->id)
            add_out(json, log, step, value);
    }
}

static void add_call(struct json_writer *json, const struct run_log *log, const struct run_log_step *call)
{
    struct json_cursor cursor;
    struct slice key, value;
    bool has_facts = call->call.size && json_open(call->call, &cursor);
    while (has_facts && json_next_member(&cursor, &key, &value)) {
        struct slice name = slice_from(key.data + 1, key.size - 2);
        if (slice_equal(name, SLICE("callUrl")))
            json_add_raw(json, "callUrl", value);
        else if (slice_equal(name, SLICE("callMethod")))
            json_add_raw(json, "callMethod", value);
        else if (slice_equal(name, SLICE("callHeaders")) && !log->view->data.redact.headers)
            json_add_raw(json, "callHeaders", value);
    }
    run_log_add_body(json, log, "callBody", call->body);
}

static void add_wait(struct json_writer *json, const struct run_log_step *step)
{
    struct waiter waiter;
    struct buffer text;
    buffer_init(&text, step->wait->wait.size + 1);
    buffer_reserve(&text, step->wait->wait.size);
    if (waiter_read(step->wait->wait, &waiter, &text)) {
        json_add_text(json, "waitEventId", waiter.event_id);
        json_add_text(json, "waitTimeoutDuration", waiter.timeout);
        json_add_number(json, "waitTimeoutDeadline", waiter.deadline_ms);
        json_add_bool(json, "waitTimeout", false);
    }
    buffer_fini(&text);
}

static void add_retries(struct json_writer *json, const struct run_log *log)
{
    json_add_number(json, "retries", log->settings->retries);
    if (log->settings->retry_delay.size)
        json_add_text(json, "retryDelay", log->settings->retry_delay);
}

void run_log_step_put(struct json_writer *json, const struct run_log *log, const struct run_log_shown *shown)
{
    const struct run_log_step *step = shown->step;
    bool is_call = step->element && step->element->is_call;
    json_put_object(json);
    json_add_number(json, "stepId", (int64_t)(step->id ? step->id : step->target));
    json_add_text(json, "stepName", step->name);
    json_add_text(json, "stepType", step->type);
    json_add_text(json, "callType", is_call ? SLICE(RUN_CALL) : SLICE("step"));
    json_add_text(json, "messageId", step->message_id);
    json_add_number(json, "concurrent", step->concurrent ? (int64_t)step->concurrent : 1);
    json_add_text(json, "state", slice_of(shown->state));
    if (step->element && step->element->at_ms)
        json_add_number(json, "createdAt", step->element->at_ms);
    add_retries(json, log);
    json_add_object(json, "headers");
    json_end_object(json);
    if (step->wait)
        add_wait(json, step);
    else
        add_facts(json, log, step);
    if (shown->call)
        add_call(json, log, shown->call);
    run_log_add_errors(json, shown->message, log->trim);
    json_end_object(json);
}

void run_log_step_put_first(struct json_writer *json, const struct run_log *log,
                            const struct run_log_step *step)
{
    json_put_object(json);
    json_add_number(json, "stepId", 0);
    json_add_text(json, "stepName", SLICE("init"));
    json_add_text(json, "stepType", SLICE("Initial"));
    json_add_text(json, "callType", SLICE("step"));
    json_add_text(json, "messageId", step->message_id);
    run_log_add_body(json, log, "out", step->body);
    json_add_number(json, "concurrent", 1);
    json_add_text(json, "state", SLICE("STEP_SUCCESS"));
    if (step->element->at_ms)
        json_add_number(json, "createdAt", step->element->at_ms);
    add_retries(json, log);
    message_view_add_headers(json, "headers", log->view);
    json_end_object(json);
}

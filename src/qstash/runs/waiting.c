#include "qstash/runs/runs.h"

#include "base/encoding.h"
#include "job/job.h"
#include "job/target/url.h"
#include "job/text/json.h"
#include "qstash/messages/message_settings.h"

/* ---- waiting for an event ---- */

enum { TIMEOUT_DEFAULT_MS = 7 * 86400000 };

/* ---- for an event: reading ---- */

/* A member of the request or of the stored text, and the place for its value. */
struct reading {
    const char *name;
    struct slice *value;
    bool is_object;  /* the value is an object, which is kept unchanged; else a string, which is decoded */
    int64_t *number; /* the place for a number; then value is not used */
};

/* Reads the members that readings contains, and skips all others. Returns NULL, or the name of a member that
 * has another type. */
static const char *read_members(struct slice object, const struct reading *readings, size_t count,
                                struct buffer *text)
{
    struct json_cursor cursor;
    struct slice key, value;
    bool is_object = json_open(object, &cursor) && cursor.close == '}';
    while (is_object && json_next_member(&cursor, &key, &value)) {
        struct slice name = key.size > 2 ? slice_from(key.data + 1, key.size - 2) : SLICE("");
        for (size_t i = 0; i < count; i++) {
            const struct reading *reading = &readings[i];
            uint64_t number;
            if (!slice_equal(name, slice_of(reading->name)) || slice_equal(value, SLICE("null")))
                continue;
            if (reading->number      ? !slice_to_number(value, INT64_MAX, &number)
                : reading->is_object ? value.data[0] != '{'
                                     : !json_is_text(value))
                return reading->name;
            if (reading->number)
                *reading->number = (int64_t)number;
            else
                *reading->value = reading->is_object ? value : json_text(value, text);
        }
    }
    return is_object ? NULL : "body";
}

static bool is_url(struct slice text)
{
    struct url url;
    const char *ignored;
    return url_parse(text, &url, &ignored) == STATUS_OK;
}

const char *waiter_read_request(struct slice body, struct waiter *waiter, int64_t *timeout_ms,
                                struct buffer *text)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault fault;
    *waiter = (struct waiter){.timeout_headers = SLICE("{}")};
    const struct reading readings[] = {
        {"url", &waiter->url, false, NULL},
        {"timeout", &waiter->timeout, false, NULL},
        {"timeoutUrl", &waiter->timeout_url, false, NULL},
        {"timeoutHeaders", &waiter->timeout_headers, true, NULL},
        {"step", &waiter->step, true, NULL},
    };
    if (body.size > WAITER_MAX / 2)
        return "the body must be at most 32 KiB";
    if (json_check(body, &limits, &fault) != STATUS_OK)
        return "the body must be a JSON object";
    if (read_members(body, readings, sizeof readings / sizeof *readings, text) || text->failed)
        return "the body must be an object with the strings url and timeout, and the objects timeoutHeaders "
               "and step";
    if (waiter->url.size == 0 || waiter->step.size == 0)
        return "the body must have url and step";
    if (waiter->timeout_url.size == 0)
        waiter->timeout_url = waiter->url;
    if (!is_url(waiter->url) || !is_url(waiter->timeout_url))
        return "url and timeoutUrl must be http or https urls";
    *timeout_ms = TIMEOUT_DEFAULT_MS;
    if (waiter->timeout.size &&
        !message_settings_read_duration(waiter->timeout, JOB_DELAY_MAX_MS, timeout_ms))
        return "timeout must be a duration such as 30s, 5m, 2h or 7d";
    return NULL;
}

bool waiter_read(struct slice object, struct waiter *waiter, struct buffer *decoded)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault ignored;
    int64_t deadline_s = 0;
    *waiter = (struct waiter){.timeout_headers = SLICE("{}"), .step = SLICE("{}")};
    const struct reading readings[] = {
        {"url", &waiter->url, false, NULL},
        {"deadline", NULL, false, &deadline_s},
        {"timeoutUrl", &waiter->timeout_url, false, NULL},
        {"timeoutHeaders", &waiter->timeout_headers, true, NULL},
        {"timeout", &waiter->timeout, false, NULL},
        {"event", &waiter->event_id, false, NULL},
        {"run", &waiter->run_id, false, NULL},
        {"createdAt", NULL, false, &waiter->created_ms},
        {"step", &waiter->step, true, NULL},
    };
    bool is_read = json_check(object, &limits, &ignored) == STATUS_OK &&
                   !read_members(object, readings, sizeof readings / sizeof *readings, decoded);
    waiter->deadline_ms = deadline_s * 1000;
    return is_read && !decoded->failed && waiter->run_id.size;
}

bool waiter_is_of_webhook(const struct waiter *waiter)
{
    struct json_cursor cursor;
    struct slice key, value;
    bool is_object = json_open(waiter->step, &cursor) && cursor.close == '}', is_it = false;
    while (is_object && json_next_member(&cursor, &key, &value))
        if (slice_equal(key, SLICE("\"stepType\"")))
            is_it = slice_equal(value, SLICE("\"WaitForWebhook\""));
    return is_it;
}

/* ---- for an event: writing ---- */

void waiter_write_webhook(struct slice event_id, struct buffer *name)
{
    buffer_append(name, SLICE("webhook\n"));
    buffer_append(name, event_id);
}

/* Returns a string member of an object, decoded; empty if the object has no such member. */
static struct slice text_of(struct slice object, const char *name, struct buffer *decoded)
{
    struct slice value = SLICE("");
    const struct reading reading = {name, &value, false, NULL};
    return read_members(object, &reading, 1, decoded) ? SLICE("") : value;
}

void waiter_write_created(struct slice step, struct buffer *name)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};
    static const struct slice word = SLICE_INIT("\"CreateWebhook\"");
    struct json_fault ignored;
    struct buffer decoded;
    if (step.size == 0 || step.size > WAITER_MAX || !memmem(step.data, step.size, word.data, word.size) ||
        json_check(step, &limits, &ignored) != STATUS_OK)
        return;
    buffer_init(&decoded, 3 * step.size + 1);
    buffer_reserve(&decoded,
                   3 * step.size); /* the buffer must not move later, because slices point into it */
    struct slice type = text_of(step, "stepType", &decoded), out = text_of(step, "out", &decoded);
    if (slice_equal(type, SLICE("CreateWebhook")) && json_check(out, &limits, &ignored) == STATUS_OK) {
        struct slice id = text_of(out, "eventId", &decoded);
        if (id.size)
            waiter_write_webhook(id, name);
    }
    buffer_fini(&decoded);
}

/* Writes the members that clients see. */
static void put_public(const struct waiter *waiter, struct json_writer *json)
{
    json_add_text(json, "url", waiter->url);
    json_add_number(json, "deadline", waiter->deadline_ms / 1000);
    json_put_name(json, "headers");
    json_put_raw(json, waiter->timeout_headers);
    json_add_text(json, "timeoutUrl", waiter->timeout_url);
    json_put_name(json, "timeoutHeaders");
    json_put_raw(json, waiter->timeout_headers);
}

void waiter_write(const struct waiter *waiter, struct buffer *text)
{
    struct json_writer json = json_writer_to(text);
    json_put_object(&json);
    put_public(waiter, &json);
    json_add_text(&json, "timeout", waiter->timeout);
    json_add_text(&json, "event", waiter->event_id);
    json_add_text(&json, "run", waiter->run_id);
    json_add_number(&json, "createdAt", waiter->created_ms);
    json_put_name(&json, "step");
    json_put_raw(&json, waiter->step);
    json_end_object(&json);
}

void waiter_put(const struct waiter *waiter, struct json_writer *json)
{
    json_put_object(json);
    put_public(waiter, json);
    json_end_object(json);
}

void waiter_write_step(const struct waiter *waiter, const struct slice *data, struct buffer *step)
{
    struct slice opening =
        slice_trim(slice_from(waiter->step.data, waiter->step.size - 1)); /* the step without its '}' */
    buffer_append(step, opening);
    struct json_writer json = opening.size > 1 ? json_writer_behind(step) : json_writer_to(step);
    json_add_text(&json, "waitEventId", waiter->event_id);
    if (waiter->timeout.size)
        json_add_text(&json, "timeout", waiter->timeout);
    if (data) {
        json_put_name(&json, "out");
        buffer_append_byte(json_put(&json), '"');
        base64_append(step, *data);
        buffer_append_byte(step, '"');
    }
    json_add_bool(&json, "waitTimeout", data == NULL);
    json_end_object(&json);
}

/* ---- for an invoked run ---- */

bool run_invoker_read(struct slice body, struct run_invoker *invoker, struct buffer *text)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault fault;
    struct json_cursor cursor;
    struct slice key, value;
    struct url url;
    const char *ignored;
    *invoker = (struct run_invoker){.headers = SLICE("{}")};
    bool is_object =
        json_check(body, &limits, &fault) == STATUS_OK && json_open(body, &cursor) && cursor.close == '}';
    while (is_object && json_next_member(&cursor, &key, &value)) {
        if (slice_equal(key, SLICE("\"headers\"")))
            invoker->headers = value;
        else if (slice_equal(key, SLICE("\"step\"")))
            invoker->step = value;
        else if (!json_is_text(value))
            continue;
        else if (slice_equal(key, SLICE("\"body\"")))
            invoker->payload = json_text(value, text);
        else if (slice_equal(key, SLICE("\"workflowRunId\"")))
            invoker->run_id = json_text(value, text);
        else if (slice_equal(key, SLICE("\"workflowUrl\"")))
            invoker->url = json_text(value, text);
    }
    return is_object && invoker->run_id.size && url_parse(invoker->url, &url, &ignored) == STATUS_OK &&
           invoker->step.size && invoker->step.data[0] == '{' && invoker->headers.data[0] == '{';
}

void run_invoker_write(const struct run_invoker *invoker, struct buffer *out)
{
    struct json_writer json = json_writer_to(out);
    json_put_object(&json);
    json_add_text(&json, "workflowRunId", invoker->run_id);
    json_add_text(&json, "workflowUrl", invoker->url);
    json_add_raw(&json, "headers", invoker->headers);
    json_add_raw(&json, "step", invoker->step);
    json_end_object(&json);
}

/* Writes the member "out" as a JSON text. */
static void write_outcome(const struct run_outcome *outcome, struct buffer *out)
{
    struct json_writer json = json_writer_to(out);
    json_put_object(&json);
    json_add_text(&json, "workflowRunId", outcome->run_id);
    if (outcome->has_body)
        json_add_text(&json, "body", outcome->body);
    json_add_bool(&json, "isCanceled", outcome->is_cancelled);
    json_add_bool(&json, "isFailed", outcome->is_failed);
    json_end_object(&json);
}

void run_invoker_write_step(const struct run_invoker *invoker, const struct run_outcome *outcome,
                            struct buffer *step)
{
    struct buffer text;
    bool is_empty = json_count_members(invoker->step) == 0;
    buffer_init_fallible(&text, JOB_RECORD_MAX);
    write_outcome(outcome, &text);
    buffer_append(step, slice_from(invoker->step.data, invoker->step.size - 1));
    buffer_append(step, is_empty ? SLICE("\"out\":") : SLICE(",\"out\":"));
    buffer_append_json(step, buffer_slice(&text));
    struct json_writer json = json_writer_behind(step);
    if (outcome->url.size)
        json_add_text(&json, "invokedWorkflowUrl", outcome->url);
    if (outcome->made_ms)
        json_add_number(&json, "invokedWorkflowCreatedAt", outcome->made_ms);
    buffer_append_byte(step, '}');
    step->failed |= text.failed;
    buffer_fini(&text);
}

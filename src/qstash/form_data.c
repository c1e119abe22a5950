#include "qstash/form_data.h"

#include "job/text/json.h"

/* ---- writing ---- */

static void add_text(struct json_writer *json, const char *name, struct slice text)
{
    if (text.size)
        json_add_text(json, name, text);
}

static void add_number(struct json_writer *json, const char *name, int64_t number)
{
    if (number)
        json_add_number(json, name, number);
}

static void add_callback(struct json_writer *json, const char *name, const struct settings_callback *callback)
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

static void add_flow(struct json_writer *json, const struct settings_flow *flow)
{
    if (flow->key.size == 0)
        return;
    json_add_text(json, "flowKey", flow->key);
    add_number(json, "parallelism", flow->parallelism);
    add_number(json, "rate", flow->rate);
    add_number(json, "period", flow->period_s);
}

static void add_redact(struct json_writer *json, const struct settings_redact *redact)
{
    if (redact->body)
        json_add_bool(json, "redactBody", true);
    if (redact->headers)
        json_add_bool(json, "redactHeaders", true);
    if (redact->count > 0)
        json_add_texts(json, "redact", redact->names, redact->count);
}

static void add_run(struct json_writer *json, const struct form_data_run *run)
{
    if (run->id.size == 0)
        return;
    json_add_text(json, "runId", run->id);
    add_text(json, "runUrl", run->url);
    add_text(json, "callType", run->call_type);
    add_number(json, "runMadeAt", run->made_ms);
    if (run->is_init)
        json_add_bool(json, "isInit", true);
    if (run->is_without_sdk)
        json_add_bool(json, "isWithoutSdk", true);
    if (run->inherits.size)
        json_add_raw(json, "inherits", run->inherits);
}

void form_data_write(struct buffer *out, const struct form_data *data, const struct settings *settings)
{
    struct json_writer json = json_writer_to(out);
    json_put_object(&json);
    add_text(&json, "group", data->group);
    add_text(&json, "endpoint", data->endpoint);
    add_text(&json, "queue", data->queue);
    add_text(&json, "scheduleId", data->schedule_id);
    add_text(&json, "callerIp", data->caller_ip);
    add_callback(&json, "callback", &settings->callback);
    add_callback(&json, "failureCallback", &settings->failure_callback);
    add_flow(&json, &settings->flow);
    add_redact(&json, &settings->redact);
    add_run(&json, &data->run);
    json_end_object(&json);
}

/* ---- reading ---- */

static struct slice text_of(struct slice value, struct buffer *text)
{
    return json_is_text(value) ? json_text(value, text) : SLICE("");
}

static void read_names(struct slice value, struct settings_redact *redact, struct buffer *text)
{
    struct json_cursor cursor;
    struct slice item;
    bool is_array = json_open(value, &cursor) && cursor.close == ']';
    while (is_array && redact->count < SETTINGS_REDACTED_MAX && json_next_item(&cursor, &item))
        redact->names[redact->count++] = text_of(item, text);
}

static bool read_text(struct slice name, struct slice value, struct form_data *data, struct buffer *text)
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

static bool read_number(struct slice name, struct slice value, struct settings_flow *flow)
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

static void read_time(struct slice value, int64_t *ms)
{
    uint64_t number = 0;
    slice_to_number(value, INT64_MAX, &number);
    *ms = (int64_t)number;
}

static void read_member(struct slice name, struct slice value, struct form_data *data, struct buffer *text)
{
    if (read_text(name, value, data, text) || read_number(name, value, &data->flow))
        return;
    if (slice_equal(name, SLICE("\"callback\"")))
        data->callback = value;
    else if (slice_equal(name, SLICE("\"failureCallback\"")))
        data->failure_callback = value;
    else if (slice_equal(name, SLICE("\"runMadeAt\"")))
        read_time(value, &data->run.made_ms);
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

void form_data_read(struct slice object, struct form_data *data, struct buffer *text)
{
    struct json_cursor cursor;
    struct slice name, value;
    *data = (struct form_data){.group = {NULL, 0}};
    bool is_object = object.size && json_open(object, &cursor) && cursor.close == '}';
    if (is_object)
        buffer_reserve(text, text->max); /* the buffer must not move later, because slices point into it */
    while (is_object && json_next_member(&cursor, &name, &value))
        read_member(name, value, data, text);
}

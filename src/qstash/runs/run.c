#include "qstash/runs/runs.h"

#include <stdio.h>

#include "base/encoding.h"
#include "base/system.h"
#include "job/job_id.h"
#include "job/text/json.h"
#include "qstash/messages/message.h"

#define VERSION_HEADER "Upstash-Workflow-Sdk-Version"

/* ---- writing ---- */

static void add_name(struct json_writer *json, const char *prefix, struct slice name)
{
    char room[512];
    struct buffer text = buffer_of(room, sizeof room);
    buffer_append(&text, slice_of(prefix));
    buffer_append(&text, name);
    json_put_name_text(json, buffer_slice(&text));
}

static bool is_content_type(struct slice name)
{
    return slice_equal_nocase(name, SLICE("Content-Type"));
}

static void add_flow(struct json_writer *json, const struct flow_control *flow)
{
    char text[128];
    int size = 0;
    if (flow->key.size == 0)
        return;
    json_add_text(json, "Upstash-Flow-Control-Key", flow->key);
    size = snprintf(text, sizeof text, "period=%lld", (long long)(flow->period_s ? flow->period_s : 1));
    if (flow->parallelism)
        size += snprintf(text + size, sizeof text - (size_t)size, ",parallelism=%lld",
                         (long long)flow->parallelism);
    if (flow->rate)
        snprintf(text + size, sizeof text - (size_t)size, ",rate=%lld", (long long)flow->rate);
    if (flow->parallelism || flow->rate)
        json_add_text(json, "Upstash-Flow-Control-Value", slice_of(text));
}

/* A text that consists of items, separated by commas. */
struct comma_list {
    struct buffer text;
    char room[JOB_LABELS_MAX * (JOB_LABEL_MAX + 1) + 4096];
};

static void list_begin(struct comma_list *list)
{
    list->text = buffer_of(list->room, sizeof list->room);
}

static void list_add(struct comma_list *list, const char *before, struct slice text, const char *behind)
{
    if (list->text.size)
        buffer_append_byte(&list->text, ',');
    buffer_append(&list->text, slice_of(before));
    buffer_append(&list->text, text);
    buffer_append(&list->text, slice_of(behind));
}

static void list_end(struct comma_list *list, struct json_writer *json, const char *name)
{
    if (list->text.size && !list->text.failed)
        json_add_text(json, name, buffer_slice(&list->text));
}

static void add_lists(struct json_writer *json, const struct message_settings *settings)
{
    struct comma_list list;
    list_begin(&list);
    for (size_t i = 0; i < settings->labels.count; i++)
        list_add(&list, "", settings->labels.items[i], "");
    list_end(&list, json, "Upstash-Label");
    list_begin(&list);
    if (settings->redact.body)
        list_add(&list, "", SLICE("body"), "");
    if (settings->redact.headers)
        list_add(&list, "", SLICE("header"), "");
    for (size_t i = 0; i < settings->redact.count; i++)
        list_add(&list, "header[", settings->redact.names[i], "]");
    list_end(&list, json, "Upstash-Redact-Fields");
}

void run_write(struct buffer *out, const struct message_settings *settings, struct slice caller_ip,
               struct slice invoker)
{
    struct json_writer json = json_writer_to(out);
    char retries[16];
    snprintf(retries, sizeof retries, "%d", settings->retries);
    json_put_object(&json);
    json_add_text(&json, "url", settings->run.url);
    if (settings->labels.count)
        json_add_texts(&json, "labels", settings->labels.items, settings->labels.count);
    json_add_text(&json, "callerIp", caller_ip);
    json_add_bool(&json, "knowsHooks", true);
    if (settings->run.starts)
        json_add_number(&json, "starts", settings->run.starts);
    if (invoker.size)
        json_add_raw(&json, "invoker", invoker);
    json_add_object(&json, "headers");
    json_add_text(&json, "Upstash-Retries", slice_of(retries));
    if (settings->retry_delay.size)
        json_add_text(&json, "Upstash-Retry-Delay", settings->retry_delay);
    add_flow(&json, &settings->flow);
    add_lists(&json, settings);
    const struct callback_settings *callback = &settings->failure_callback;
    if (callback->url.size > 0) {
        json_add_text(&json, "Upstash-Failure-Callback", callback->url);
        for (size_t i = 0; i < callback->count; i++) {
            add_name(&json, "Upstash-Failure-Callback-", callback->pairs[i].name);
            json_put_text(&json, callback->pairs[i].value);
        }
    }
    for (size_t i = 0; i < settings->header_count; i++) {
        const struct job_header *header = &settings->headers[i];
        if (headers_find(settings->headers, i, header->name))
            continue;
        add_name(&json, is_content_type(header->name) ? "" : "Upstash-Forward-", header->name);
        json_put_text(&json, header->value);
    }
    json_end_object(&json);
    json_end_object(&json);
}

/* ---- reading ---- */

static void read_member(struct run *run, struct slice key, struct slice value)
{
    uint64_t number;
    if (slice_equal(key, SLICE("\"url\"")) && json_is_text(value))
        run->url = json_text(value, &run->decoded);
    else if (slice_equal(key, SLICE("\"callerIp\"")) && json_is_text(value))
        run->caller_ip = json_text(value, &run->decoded);
    else if (slice_equal(key, SLICE("\"headers\"")))
        run->headers = value;
    else if (slice_equal(key, SLICE("\"invoker\"")))
        run->invoker = value;
    else if (slice_equal(key, SLICE("\"knowsHooks\"")))
        run->knows_hooks = slice_equal(value, SLICE("true"));
    else if (slice_equal(key, SLICE("\"starts\"")) && slice_to_number(value, INT32_MAX, &number))
        run->starts = (int64_t)number;
}

bool run_read(struct slice text, int64_t made_ms, struct run *run)
{
    struct json_cursor cursor;
    struct slice key, value;
    *run = (struct run){.made_ms = made_ms};
    buffer_init_fallible(&run->text, JOB_RECORD_MAX);
    buffer_init_fallible(&run->decoded, text.size + 1);
    buffer_append(&run->text, text);
    buffer_reserve(&run->decoded,
                   text.size); /* the buffer must not move later, because slices point into it */
    bool is_read = !run->text.failed && !run->decoded.failed && run->text.size &&
                   json_open(buffer_slice(&run->text), &cursor) && cursor.close == '}';
    while (is_read && json_next_member(&cursor, &key, &value))
        read_member(run, key, value);
    if (is_read && run->headers.size)
        return true;
    run_fini(run);
    return false;
}

void run_fini(struct run *run)
{
    buffer_fini(&run->text);
    buffer_fini(&run->decoded);
}

/* ---- settings of the run's later messages ---- */

typedef bool takes_fn(struct slice name);

static void take_headers(struct slice headers, takes_fn *takes, struct message_settings *settings,
                         struct buffer *text)
{
    struct json_cursor cursor;
    struct slice key, value;
    bool is_object = headers.size && json_open(headers, &cursor) && cursor.close == '}';
    while (is_object && json_next_member(&cursor, &key, &value)) {
        struct slice name = json_text(key, text);
        if (json_is_text(value) && takes(name))
            message_settings_take_default(settings, name, json_text(value, text));
    }
}

static bool takes_all(struct slice name)
{
    (void)name;
    return true;
}

static bool takes_for_answer(struct slice name)
{
    return !is_content_type(name) && !slice_equal_nocase(name, SLICE("Upstash-Forward-" VERSION_HEADER));
}

void run_apply(struct run *run, struct message_settings *settings)
{
    size_t kept = 0;
    for (size_t i = 0; i < settings->header_count; i++)
        if (!is_content_type(settings->headers[i].name))
            settings->headers[kept++] = settings->headers[i];
    settings->header_count = kept;
    take_headers(run->headers, takes_all, settings, &run->decoded);
    message_settings_take_default(settings, SLICE("Content-Type"), SLICE("application/json"));
}

void run_keep(struct run *run, struct message_settings *settings)
{
    take_headers(run->headers, takes_all, settings, &run->decoded);
}

void run_apply_to_answer(struct slice headers, struct message_settings *settings, struct buffer *text)
{
    take_headers(headers, takes_for_answer, settings, text);
}

/* ---- messages ---- */

struct slice run_id_make(int64_t now_ms, char room[RUN_ID_NEW_SIZE])
{
    uint8_t random[10];
    char unique[JOB_ID_NEW_SIZE];
    random_fill(random, sizeof random);
    job_id_make(now_ms, random, unique);
    snprintf(room, RUN_ID_NEW_SIZE, RUN_ID_PREFIX "%.*s", JOB_ID_NEW_SIZE, unique);
    return slice_of(room);
}

bool run_is_id(struct slice id)
{
    return id.size > 0 && id.size <= RUN_ID_MAX && !memchr(id.data, '/', id.size);
}

struct slice run_key(struct slice id, char room[RUN_KEY_SIZE])
{
    struct buffer text = buffer_of(room, RUN_KEY_SIZE);
    buffer_append(&text, SLICE(QSTASH_TOPIC "/"));
    buffer_append(&text, id);
    return buffer_slice(&text);
}

static void add_call(struct json_writer *json, const struct message_settings *settings, struct slice url)
{
    json_add_object(json, "call");
    /* the step that has made the call: the headers of the call's callback name it */
    const struct callback_settings *callback = &settings->callback;
    static const struct {
        struct slice header;
        const char *name;
        bool is_number;
    } rows[] = {
        {SLICE_INIT("Forward-Upstash-Workflow-StepId"), "stepId", true},
        {SLICE_INIT("Forward-Upstash-Workflow-StepName"), "stepName", false},
        {SLICE_INIT("Forward-Upstash-Workflow-StepType"), "stepType", false},
        {SLICE_INIT("Forward-Upstash-Workflow-Concurrent"), "concurrent", true},
    };
    for (size_t i = 0; i < callback->count; i++) {
        for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
            uint64_t number;
            struct slice value = callback->pairs[i].value;
            if (!slice_equal_nocase(callback->pairs[i].name, rows[row].header))
                continue;
            if (!rows[row].is_number)
                json_add_text(json, rows[row].name, value);
            else if (slice_to_number(value, INT32_MAX, &number))
                json_add_number(json, rows[row].name, (int64_t)number);
        }
    }
    json_add_text(json, "callUrl", url);
    json_add_text(json, "callMethod", slice_of(job_method_word(settings->method)));
    json_add_object(json, "callHeaders");
    for (size_t i = 0; i < settings->header_count; i++) {
        if (headers_find(settings->headers, i, settings->headers[i].name))
            continue;
        json_put_name_text(json, settings->headers[i].name);
        json_put_array(json);
        json_put_text(json, settings->headers[i].value);
        json_end_array(json);
    }
    json_end_object(json);
    json_end_object(json);
}

void run_write_element(struct buffer *out, struct slice message_id, struct slice body,
                       const struct message_settings *call, struct slice url)
{
    struct json_writer json = json_writer_to(out);
    json_put_object(&json);
    json_add_text(&json, "messageId", message_id);
    json_put_name(&json, "body");
    buffer_append_byte(json_put(&json), '"');
    base64_append(out, body);
    buffer_append_byte(out, '"');
    json_add_text(&json, "callType", call ? SLICE(RUN_CALL) : SLICE("step"));
    if (call)
        add_call(&json, call, url);
    json_end_object(&json);
}

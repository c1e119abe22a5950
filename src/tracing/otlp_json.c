#include "tracing/otlp_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/json_writer.h"
#include "job/text/json.h"

enum {
    STATUS_ERROR = 2, /* the status code of OTLP for errors */
    NUMBER_SIZE = 24,
    HOST_SIZE = 256,
    GIVEN_MAX = 64, /* attributes */
};

/* ---- attributes ---- */

static void put_attribute(struct json_writer *json, const char *name, struct slice text)
{
    json_put_object(json);
    json_add_text(json, "key", slice_of(name));
    json_add_object(json, "value");
    json_add_text(json, "stringValue", text);
    json_end_object(json);
    json_end_object(json);
}

static void put_text(struct json_writer *json, const char *name, const char *text)
{
    if (text[0])
        put_attribute(json, name, slice_of(text));
}

/* Writes an integer of 64 bits as a string, as the JSON of Protocol Buffers requires. */
static void put_integer(struct json_writer *json, const char *name, int64_t number)
{
    char text[NUMBER_SIZE];
    snprintf(text, sizeof text, "%" PRId64, number);
    json_put_object(json);
    json_add_text(json, "key", slice_of(name));
    json_add_object(json, "value");
    json_add_text(json, "intValue", slice_of(text));
    json_end_object(json);
    json_end_object(json);
}

static void put_number(struct json_writer *json, const char *name, int64_t number)
{
    if (number)
        put_integer(json, name, number);
}

static void add_attributes(struct json_writer *json, const struct span *span)
{
    json_add_array(json, "attributes");
    put_text(json, "http.request.method", span->method);
    put_text(json, "http.route", span->route);
    put_text(json, span->kind == SPAN_CLIENT ? "url.full" : "url.path", span->url);
    put_text(json, "server.address", span->host);
    put_number(json, "server.port", span->port);
    put_number(json, "http.response.status_code", span->status);
    put_text(json, "error.type", span->error);
    put_number(json, "http.request.resend_count", span->attempt ? span->attempt - 1 : 0);
    put_text(json, "duepost.topic", span->topic);
    put_text(json, "duepost.job.id", span->job_id);
    put_number(json, "duepost.jobs", (int64_t)span->jobs);
    put_number(json, "duepost.attempt", span->attempt);
    put_text(json, "duepost.outcome", span->outcome);
    if (span->kind == SPAN_CLIENT)
        put_integer(json, "duepost.late_ms", span->late_ms);
    json_end_array(json);
}

/* ---- spans ---- */

static void add_time(struct json_writer *json, const char *name, int64_t us)
{
    char text[NUMBER_SIZE + 3];
    snprintf(text, sizeof text, "%" PRId64 "000", us);
    json_add_text(json, name, slice_of(text));
}

static void add_status(struct json_writer *json, const struct span *span)
{
    json_add_object(json, "status");
    if (span->message[0])
        json_add_text(json, "message", slice_of(span->message));
    if (span->is_error)
        json_add_number(json, "code", STATUS_ERROR);
    json_end_object(json);
}

/* Adds the name of the span: the method, and the route if there is one. */
static void add_name(struct json_writer *json, const struct span *span)
{
    char name[SPAN_METHOD_SIZE + SPAN_ROUTE_SIZE];
    snprintf(name, sizeof name, "%s%s%s", span->method, span->route[0] ? " " : "", span->route);
    json_add_text(json, "name", slice_of(name));
}

void otlp_json_begin(struct buffer *text, struct slice resource)
{
    buffer_append(text, SLICE("{\"resourceSpans\":[{\"resource\":{\"attributes\":["));
    buffer_append(text, resource);
    buffer_append(text,
                  SLICE("]},\"scopeSpans\":[{\"scope\":{\"name\":\"duepost\",\"version\":\"" DUEPOST_VERSION
                        "\"},\"spans\":["));
}

void otlp_json_add(struct buffer *text, const struct span *span, bool is_first)
{
    struct json_writer json = is_first ? json_writer_to(text) : json_writer_behind(text);
    json_put_object(&json);
    json_add_text(&json, "traceId", trace_parent_trace_id(slice_from(span->context, TRACE_PARENT_BYTES)));
    json_add_text(&json, "spanId", trace_parent_span_id(slice_from(span->context, TRACE_PARENT_BYTES)));
    if (span->has_parent)
        json_add_text(&json, "parentSpanId",
                      trace_parent_span_id(slice_from(span->parent, TRACE_PARENT_BYTES)));
    if (span->state[0])
        json_add_text(&json, "traceState", slice_of(span->state));
    add_name(&json, span);
    json_add_number(&json, "kind", span->kind);
    add_time(&json, "startTimeUnixNano", span->start_us);
    add_time(&json, "endTimeUnixNano", span->end_us);
    add_attributes(&json, span);
    add_status(&json, span);
    json_end_object(&json);
}

void otlp_json_end(struct buffer *text)
{
    buffer_append(text, SLICE("]}]}]}"));
}

/* ---- the resource ---- */

struct given_attribute {
    struct slice name, value;
};

static enum status read_given(struct slice text, struct given_attribute given[GIVEN_MAX], size_t *count,
                              struct problem *problem)
{
    struct slice item;
    for (*count = 0; text.size; ++*count) {
        slice_cut(text, ',', &item, &text);
        if (*count == GIVEN_MAX) {
            problem_set(problem, "must have at most %d attributes", GIVEN_MAX);
            return STATUS_INVALID;
        }
        struct given_attribute *attribute = &given[*count];
        if (!slice_cut(slice_trim(item), '=', &attribute->name, &attribute->value) || !attribute->name.size) {
            problem_set(problem, "must be NAME=VALUE,..., such as service.name=shop, not '%.*s'",
                        SLICE_ARG(item));
            return STATUS_INVALID;
        }
    }
    return STATUS_OK;
}

static bool is_given(const struct given_attribute *given, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (slice_equal(given[i].name, slice_of(name)))
            return true;
    return false;
}

static void put_own(struct json_writer *json, const struct given_attribute *given, size_t count,
                    const char *name, const char *value)
{
    if (!is_given(given, count, name))
        put_text(json, name, value);
}

enum status otlp_resource_write(struct buffer *text, struct slice given_text, struct problem *problem)
{
    struct json_writer json = json_writer_to(text);
    struct given_attribute given[GIVEN_MAX];
    char host[HOST_SIZE] = "", name[NUMBER_SIZE + HOST_SIZE];
    size_t count;
    if (read_given(given_text, given, &count, problem) != STATUS_OK)
        return STATUS_INVALID;
    gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "%s:%ld", host, (long)getpid());
    put_own(&json, given, count, "service.name", "duepost");
    put_own(&json, given, count, "service.version", DUEPOST_VERSION);
    put_own(&json, given, count, "service.instance.id", name);
    put_own(&json, given, count, "host.name", host);
    if (!is_given(given, count, "process.pid"))
        put_integer(&json, "process.pid", getpid());
    for (size_t i = 0; i < count; i++) {
        json_put_object(&json);
        json_add_text(&json, "key", given[i].name);
        json_add_object(&json, "value");
        json_add_text(&json, "stringValue", given[i].value);
        json_end_object(&json);
        json_end_object(&json);
    }
    return STATUS_OK;
}

/* ---- answers ---- */

static struct slice find_member(struct slice object, struct slice name)
{
    struct json_cursor cursor;
    struct slice key, value;
    if (!json_open(object, &cursor) || cursor.close != '}')
        return SLICE("");
    while (json_next_member(&cursor, &key, &value))
        if (key.size == name.size + 2 && slice_equal(slice_from(key.data + 1, name.size), name))
            return value;
    return SLICE("");
}

size_t otlp_rejected(struct slice answer)
{
    uint64_t count;
    struct slice value = find_member(find_member(answer, SLICE("partialSuccess")), SLICE("rejectedSpans"));
    if (value.size >= 2 && value.data[0] == '"') /* 64 bits as a string */
        value = slice_from(value.data + 1, value.size - 2);
    return slice_to_number(value, SIZE_MAX / 2, &count) ? (size_t)count : 0;
}

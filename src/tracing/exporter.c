#include "tracing/exporter.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/json_writer.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/system.h"
#include "io/http/client.h"
#include "job/text/json.h"

enum {
    STATUS_ERROR = 2, /* the status code of OTLP for errors */
    NUMBER_SIZE = 24,
    HOST_SIZE = 256,
    GIVEN_MAX = 64, /* attributes */
};

/* ---- spans in JSON: attributes ---- */

static void put_attribute(struct json_writer *json, struct slice name, struct slice text)
{
    json_put_object(json);
    json_add_text(json, "key", name);
    json_add_object(json, "value");
    json_add_text(json, "stringValue", text);
    json_end_object(json);
    json_end_object(json);
}

static void put_text(struct json_writer *json, const char *name, const char *text)
{
    if (text[0])
        put_attribute(json, slice_of(name), slice_of(text));
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
    /* Adds the name of the span: the method, and the route if there is one. */
    char name[SPAN_METHOD_SIZE + SPAN_ROUTE_SIZE];
    snprintf(name, sizeof name, "%s%s%s", span->method, span->route[0] ? " " : "", span->route);
    json_add_text(&json, "name", slice_of(name));
    json_add_number(&json, "kind", span->kind);
    add_time(&json, "startTimeUnixNano", span->start_us);
    add_time(&json, "endTimeUnixNano", span->end_us);
    add_attributes(&json, span);
    json_add_object(&json, "status");
    if (span->message[0])
        json_add_text(&json, "message", slice_of(span->message));
    if (span->is_error)
        json_add_number(&json, "code", STATUS_ERROR);
    json_end_object(&json);
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
    for (size_t i = 0; i < count; i++)
        put_attribute(&json, given[i].name, given[i].value);
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

/* ---- the exporter ---- */

enum {
    BATCH_MAX = 512,             /* maximum number of spans in a batch */
    BODY_MAX = 16 * 1024 * 1024, /* maximum size of a batch; all texts may be the longest */
    TIMEOUT_MS = 10 * 1000,
    STATUS_MANY = 429,
};
#define INTERVAL_US INT64_C(1000000) /* time between batches that are not full */
#define WAIT_MIN_US INT64_C(1000000) /* first wait before a batch is sent again */
#define WAIT_MAX_US INT64_C(30000000)
#define GIVE_UP_US  INT64_C(60000000) /* a batch is dropped after this time */
#define LINGER_US   INT64_C(2000000)  /* when the server stops: maximum time to send the last batches */

struct exporter {
    struct tracer *tracer;
    char *url;
    char *ca_file;
    char *resource;
    char *headers[EXPORTER_HEADERS_MAX];
    size_t header_count;
    atomic_bool is_woken; /* the thread was already woken, and will read the spans soon */
    pthread_t thread;
    struct loop *loop;

    /* Only the thread uses these members. */
    struct http_client *client;
    struct http_call *call;
    struct timer *timer, *end;
    struct span span;
    struct buffer body; /* body of the batch that is being sent */
    size_t batch;       /* number of spans in this batch; 0: no batch is being sent */
    int64_t began_us, wait_us;
    bool was_reported; /* the log already says that the collector is unavailable */
    bool is_stopping;
};

static void exporter_send(struct exporter *);

/* ---- many spans wait ---- */

static void on_woken(void *arg)
{
    struct exporter *exporter = arg;
    atomic_store(&exporter->is_woken, false);
    if (!exporter->batch)
        exporter_send(exporter);
}

/* Wakes the thread. Called by other threads. */
static void exporter_wake(void *arg)
{
    struct exporter *exporter = arg;
    if (!atomic_exchange(&exporter->is_woken, true))
        loop_post(exporter->loop, on_woken, exporter);
}

/* ---- the end of a batch ---- */

static void exporter_end_batch(struct exporter *exporter, size_t rejected)
{
    rejected = rejected < exporter->batch ? rejected : exporter->batch;
    tracer_note_sent(exporter->tracer, exporter->batch - rejected, rejected);
    exporter->batch = 0;
    exporter->wait_us = 0;
    buffer_clear(&exporter->body);
}

static void report_trouble(struct exporter *exporter, const struct http_outcome *http)
{
    if (exporter->was_reported)
        return;
    exporter->was_reported = true;
    if (http->error == FAILURE_NONE)
        log_warning("spans_not_taken", LOG_NUMBER("status", http->status),
                    LOG_TEXT("do", "check --otlp-url and the log of the collector"));
    else
        log_warning("spans_not_sent", LOG_TEXT("error", failure_word(http->error)),
                    LOG_SLICE("error_detail", http->detail),
                    LOG_TEXT("do", "check --otlp-url and the collector; spans are dropped meanwhile"));
}

/* Returns whether the batch may be sent again, by the rules of OTLP. */
static bool is_temporary(const struct http_outcome *http)
{
    return http->error != FAILURE_NONE || http->status == STATUS_MANY || http->status == 502 ||
           http->status == 503 || http->status == 504;
}

static void send_later(struct exporter *exporter, int64_t asked_us)
{
    exporter->wait_us = exporter->wait_us ? 2 * exporter->wait_us : WAIT_MIN_US;
    if (exporter->wait_us > WAIT_MAX_US)
        exporter->wait_us = WAIT_MAX_US;
    timer_start(exporter->timer,
                asked_us > exporter->wait_us && asked_us < WAIT_MAX_US ? asked_us : exporter->wait_us);
}

static void exporter_on_sent(void *arg, const struct http_outcome *http)
{
    struct exporter *exporter = arg;
    bool is_taken = http->error == FAILURE_NONE && http->status / 100 == 2;
    exporter->call = NULL;
    if (!is_taken)
        report_trouble(exporter, http);
    else if (exporter->was_reported)
        log_info("spans_taken_again", LOG_NUMBER("status", http->status));
    if (is_taken)
        exporter->was_reported = false;
    bool is_again = !is_taken && is_temporary(http) && !exporter->is_stopping &&
                    clock_boot_us() - exporter->began_us < GIVE_UP_US;
    if (is_again) {
        send_later(exporter, http->retry_after_ms * 1000);
        return;
    }
    exporter_end_batch(exporter, is_taken ? otlp_rejected(http->answer) : exporter->batch);
    if (exporter->is_stopping || tracer_waiting(exporter->tracer) >= BATCH_MAX)
        exporter_send(exporter);
    else
        timer_start(exporter->timer, INTERVAL_US);
}

/* ---- sending ---- */

static bool exporter_may_connect(void *arg, const struct sockaddr *address)
{
    (void)arg;
    (void)address;
    return true; /* every address is allowed, because the operator has chosen the collector */
}

static bool exporter_may_send(void *arg)
{
    (void)arg;
    return true;
}

/* Sends the current batch again, or a new batch. If there are no spans, waits; if the exporter is also
 * stopping, ends the loop. */
static void exporter_send(struct exporter *exporter)
{
    struct slice headers[EXPORTER_HEADERS_MAX + 1] = {SLICE_INIT("Content-Type: application/json")};
    if (!exporter->batch && tracer_waiting(exporter->tracer) == 0) {
        if (exporter->is_stopping)
            loop_stop(exporter->loop);
        else
            timer_start(exporter->timer, INTERVAL_US);
        return;
    }
    if (!exporter->batch) {
        otlp_json_begin(&exporter->body, slice_of(exporter->resource));
        while (exporter->batch < BATCH_MAX && tracer_take(exporter->tracer, &exporter->span))
            otlp_json_add(&exporter->body, &exporter->span, exporter->batch++ == 0);
        otlp_json_end(&exporter->body);
        assert(!exporter->body.failed);
        exporter->began_us = clock_boot_us();
    }
    for (size_t i = 0; i < exporter->header_count; i++)
        headers[i + 1] = slice_of(exporter->headers[i]);
    struct http_call_request request = {
        .url = slice_of(exporter->url),
        .headers = headers,
        .header_count = exporter->header_count + 1,
        .body = buffer_slice(&exporter->body),
        .timeout_ms = TIMEOUT_MS,
        .may_connect = exporter_may_connect,
        .may_send = exporter_may_send,
        .on_done = exporter_on_sent,
        .arg = exporter,
    };
    timer_stop(exporter->timer);
    exporter->call = http_call(exporter->client, &request);
}

static void exporter_on_timer(void *arg)
{
    struct exporter *exporter = arg;
    if (!exporter->call)
        exporter_send(exporter);
}

/* ---- start and stop ---- */

static void *exporter_run(void *arg)
{
    struct exporter *exporter = arg;
    struct http_client_options client = {.ca_file = exporter->ca_file, .max_idle = 1};
    exporter->client = http_client_new(exporter->loop, &client);
    timer_start(exporter->timer, INTERVAL_US);
    loop_run(exporter->loop);
    if (exporter->call)
        http_call_abort(exporter->call);
    http_client_free(exporter->client);
    return NULL;
}

static void on_stop(void *arg)
{
    struct exporter *exporter = arg;
    exporter->is_stopping = true;
    timer_start(exporter->end, LINGER_US);
    if (!exporter->call)
        exporter_send(exporter);
}

static void on_end(void *arg)
{
    struct exporter *exporter = arg;
    loop_stop(exporter->loop);
}

struct exporter *exporter_start(const struct exporter_options *options)
{
    struct exporter *exporter = NEW(struct exporter);
    assert(options->header_count <= EXPORTER_HEADERS_MAX);
    exporter->url = slice_dup(slice_of(options->url));
    exporter->ca_file = options->ca_file ? slice_dup(slice_of(options->ca_file)) : NULL;
    exporter->resource = slice_dup(options->resource);
    for (size_t i = 0; i < options->header_count; i++)
        exporter->headers[exporter->header_count++] = slice_dup(options->headers[i]);
    exporter->tracer = tracer_new(options->one_in, BATCH_MAX, exporter_wake, exporter);
    buffer_init(&exporter->body, BODY_MAX);
    exporter->loop = loop_new();
    exporter->timer = timer_new(exporter->loop, exporter_on_timer, exporter);
    exporter->end = timer_new(exporter->loop, on_end, exporter);
    if (pthread_create(&exporter->thread, NULL, exporter_run, exporter) != 0)
        abort();
    return exporter;
}

struct tracer *exporter_tracer(struct exporter *exporter)
{
    return exporter ? exporter->tracer : NULL;
}

void exporter_stop(struct exporter *exporter)
{
    if (!exporter)
        return;
    loop_post(exporter->loop, on_stop, exporter);
    pthread_join(exporter->thread, NULL);
    size_t lost = exporter->batch + tracer_waiting(exporter->tracer);
    if (lost)
        log_warning("spans_dropped", LOG_NUMBER("spans", lost), LOG_TEXT("why", "the process ends"));
    timer_free(exporter->timer);
    timer_free(exporter->end);
    loop_free(exporter->loop);
    buffer_fini(&exporter->body);
    tracer_free(exporter->tracer);
    /* Frees the headers, which may have a secret. */
    for (size_t i = 0; i < exporter->header_count; i++) {
        explicit_bzero(exporter->headers[i], strlen(exporter->headers[i]));
        free(exporter->headers[i]);
    }
    free(exporter->url);
    free(exporter->ca_file);
    free(exporter->resource);
    free(exporter);
}

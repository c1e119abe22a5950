#include "http/exchange.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/system.h"
#include "base/memory.h"
#include "tracing/tracer.h"

enum { DETAIL_MAX = 768, SEEN_MAX = 4096 };

const struct http_header exchange_retry_after = {SLICE_INIT("Retry-After"), SLICE_INIT("1")};

static_assert((int)APP_FROM_SIZE >= (int)HTTP_FROM_SIZE, "an address fits");

static bool has_left(const void *peer)
{
    return http_request_has_left(peer);
}

static void write_from(const void *peer, char text[APP_FROM_SIZE])
{
    http_request_from(peer, text);
}

/* ---- answers that wait for the audit log ---- */

enum { HELD_HEADERS_MAX = 8 };

/* A copy of an answer. */
struct held_answer {
    struct http_answer answer;
    struct http_header headers[HELD_HEADERS_MAX];
    struct buffer text;
};

static void held_free(struct held_answer *held)
{
    if (!held)
        return;
    buffer_fini(&held->text);
    free(held);
}

static struct slice held_copy(struct held_answer *held, struct slice text)
{
    size_t at = held->text.size;
    buffer_append(&held->text, text);
    return slice_from(held->text.data + at, text.size);
}

static struct held_answer *held_new(const struct http_answer *answer)
{
    struct held_answer *held = NEW(struct held_answer);
    size_t bytes = answer->body.size + answer->content_type.size;
    assert(answer->header_count <= HELD_HEADERS_MAX);
    for (size_t i = 0; i < answer->header_count; i++)
        bytes += answer->headers[i].name.size + answer->headers[i].value.size;
    buffer_init(&held->text, bytes + 1);
    buffer_reserve(&held->text, bytes); /* the slices point into it */
    held->answer = *answer;
    held->answer.body = held_copy(held, answer->body);
    held->answer.content_type = held_copy(held, answer->content_type);
    for (size_t i = 0; i < answer->header_count; i++)
        held->headers[i] = (struct http_header){held_copy(held, answer->headers[i].name),
                                                held_copy(held, answer->headers[i].value)};
    held->answer.headers = held->headers;
    return held;
}

struct exchange *exchange_new(struct site *site, struct http_request *request)
{
    struct exchange *exchange = NEW(struct exchange);
    exchange->site = site;
    exchange->dialect = site->dialects[0].dialect;
    exchange->self = site->dialects[0].self;
    exchange->request = request;
    exchange->began_us = clock_boot_us();
    buffer_init(&exchange->path, ROUTE_PATH_MAX);
    buffer_init(&exchange->seen, SEEN_MAX);
    buffer_init(&exchange->once, EXCHANGE_ONCE_MAX);
    list_init(&exchange->key_link);
    exchange->caller =
        (struct app_caller){.name = "-", .write_from = write_from, .has_left = has_left, .peer = request};
    exchange->caller.notes = &exchange->notes;
    app_notes_init(&exchange->notes, site->options.app);
    http_request_set_context(request, exchange);
    return exchange;
}

bool exchange_is_guest(const struct exchange *exchange)
{
    return exchange->site->options.tokens && exchange->method->takes_lease_token && !exchange->token &&
           !http_request_has_header(exchange->request, "Authorization");
}

void exchange_keep(struct exchange *exchange, void *state, void (*free_state)(void *))
{
    exchange->state = state;
    exchange->free_state = free_state;
}

void exchange_free(struct exchange *exchange)
{
    http_request_set_context(exchange->request, NULL);
    if (exchange->free_state)
        exchange->free_state(exchange->state);
    app_notes_fini(&exchange->notes);
    if (exchange->held && exchange->held->answer.on_end)
        exchange->held->answer.on_end(exchange->held->answer.arg, false);
    held_free(exchange->held);
    free(exchange->span);
    token_table_release(exchange->tokens);
    exchange->site->large_count -= exchange->is_large;
    buffer_fini(&exchange->path);
    buffer_fini(&exchange->seen);
    buffer_fini(&exchange->once);
    list_remove(&exchange->key_link);
    free(exchange);
}

struct buffer *exchange_scratch(struct exchange *exchange)
{
    buffer_clear(&exchange->site->scratch);
    return &exchange->site->scratch;
}

struct buffer *exchange_members(struct exchange *exchange)
{
    buffer_clear(&exchange->site->members);
    return &exchange->site->members;
}

/* ---- traces ---- */

enum {
    HEAD_MAX = 64 * 1024, /* in bytes; no header section is longer */
    STATUS_FAULT = 500,   /* statuses from here on mark the span as an error of the server */
};

/* The span of a request. The first job of a request creates it, so requests without jobs have none. */
struct exchange_span {
    bool is_recorded;
    struct span span;
};

static void copy_text(char *to, size_t size, struct slice from)
{
    snprintf(to, size, "%.*s", SLICE_ARG(from));
}

/* Reads the trace of the client's request. Without a valid trace, the job gets none. */
static void read_trace(const struct http_request *request, struct trace_context *context, struct job *job)
{
    struct buffer state = buffer_of(context->state, sizeof context->state);
    struct buffer joined;
    if (!http_request_has_header(request, "traceparent") ||
        !trace_parent_read(http_request_header(request, "traceparent"), context->parent))
        return;
    buffer_init(&joined, HEAD_MAX);
    http_request_join_header(request, "tracestate", &joined);
    trace_state_read(buffer_slice(&joined), &state);
    buffer_fini(&joined);
    job->trace_parent = slice_from(context->parent, sizeof context->parent);
    job->trace_state = buffer_slice(&state);
}

static struct exchange_span *begin_span(struct tracer *tracer, const struct job *job)
{
    struct exchange_span *made = NEW(struct exchange_span);
    struct span *span = &made->span;
    made->is_recorded = tracer_begin(tracer, job->trace_parent, span->context);
    span->kind = SPAN_SERVER;
    span->has_parent = job->trace_parent.size > 0;
    if (span->has_parent)
        memcpy(span->parent, job->trace_parent.data, sizeof span->parent);
    copy_text(span->state, sizeof span->state, job->trace_state);
    return made;
}

static void add_job(struct span *span, const struct job *job)
{
    if (span->jobs++ == 0) {
        copy_text(span->topic, sizeof span->topic, job->topic);
        copy_text(span->job_id, sizeof span->job_id, job->job_id);
    } else {
        span->job_id[0] =
            '\0'; /* with several jobs, the span has no jobId, because an attribute has only one value */
        if (!slice_equal(slice_of(span->topic), job->topic))
            span->topic[0] = '\0';
    }
}

void trace_context_take(struct exchange *exchange, struct trace_context *context, struct job *job)
{
    struct tracer *tracer = exchange->site->options.tracer;
    read_trace(exchange->request, context, job);
    if (!tracer)
        return;
    if (!exchange->span)
        exchange->span = begin_span(tracer, job);
    add_job(&exchange->span->span, job);
    memcpy(context->parent, exchange->span->span.context, sizeof context->parent);
    job->trace_parent = slice_from(context->parent, sizeof context->parent);
}

/* Ends the span when the request is answered, and records it if the trace is sampled. */
static void end_span(const struct exchange *exchange, const char *label, unsigned status)
{
    struct span *span = &exchange->span->span;
    struct slice method, route, path, query;
    if (!exchange->span->is_recorded)
        return;
    slice_cut(slice_of(label), ' ', &method, &route);
    slice_cut(http_request_target(exchange->request), '?', &path, &query);
    copy_text(span->method, sizeof span->method, method);
    copy_text(span->route, sizeof span->route, route);
    copy_text(span->url, sizeof span->url, path);
    span->end_us = clock_wall_us();
    span->start_us = span->end_us - (clock_boot_us() - exchange->began_us);
    span->status = (int)status;
    span->is_error = status >= STATUS_FAULT;
    if (span->is_error)
        snprintf(span->error, sizeof span->error, "%u", status);
    tracer_record(exchange->site->options.tracer, span);
}

/* ---- answers ---- */

static void give_answer(struct exchange *, const struct http_answer *);

/* Returns whether the process has room for an answer of this size. Without room, only the answers to reads
 * are replaced by 503, because a read can be repeated. A change has already happened when its answer is
 * written, and a health probe must always get its answer. */
static bool has_room(const struct exchange *exchange, size_t bytes)
{
    bool is_read = exchange->method && !exchange->is_probe && strcmp(exchange->method->name, "GET") == 0;
    return !is_read || http_request_take_room(exchange->request, bytes);
}

/* The lines of the audit log are written: gives the answer, unless one of the lines may be lost. */
static void on_noted(void *arg)
{
    struct exchange *exchange = arg;
    struct held_answer *held = exchange->held;
    exchange->held = NULL;
    if (exchange->notes.is_lost && held->answer.status < STATUS_FAULT) {
        if (held->answer.on_end)
            held->answer.on_end(held->answer.arg, false);
        exchange_refuse(exchange, 503,
                        "The request was carried out, but Redis has not confirmed its line of the audit log. "
                        "Repeating the request is safe if it was safe before.");
    } else {
        give_answer(exchange, &held->answer);
    }
    held_free(held);
}

static void give_answer(struct exchange *exchange, const struct http_answer *answer)
{
    if (app_notes_are_pending(&exchange->notes)) {
        exchange->held = held_new(answer);
        exchange->notes.on_end = on_noted;
        exchange->notes.arg = exchange;
        return;
    }
    struct http_request *request = exchange->request;
    const char *label = exchange->method ? exchange->method->label : METRICS_ROUTE_OTHER;
    if (!has_room(exchange, answer->body.size)) {
        exchange_refuse_over_limit(exchange);
        return;
    }
    metrics_request(exchange->site->options.metrics, label, answer->status,
                    clock_boot_us() - exchange->began_us);
    if (exchange->span)
        end_span(exchange, label, answer->status);
    exchange_free(exchange);
    http_answer(request, answer);
}

/* Returns whether there was memory for the whole answer. Returns false after answering 503. */
static bool is_whole(struct exchange *exchange)
{
    struct site *site = exchange->site;
    if (!site->scratch.failed && !site->members.failed)
        return true;
    buffer_clear(&site->scratch);
    buffer_clear(&site->members);
    exchange_refuse(exchange, 503,
                    "There is not enough memory for the answer. If the request changes something, the change "
                    "may have been made.");
    return false;
}

void exchange_answer_as(struct exchange *exchange, unsigned status, struct slice content_type,
                        const struct http_header *headers, size_t count, struct slice body)
{
    struct http_answer answer = {
        .status = status,
        .content_type = content_type,
        .headers = headers,
        .header_count = count,
        .body = body,
    };
    if (is_whole(exchange))
        give_answer(exchange, &answer);
}

void exchange_answer(struct exchange *exchange, unsigned status, const struct http_header *headers,
                     size_t count, struct slice body)
{
    struct slice type = status < 400 ? SLICE("application/json") : exchange->dialect->error_type;
    exchange_answer_as(exchange, status, type, headers, count, body);
}

void exchange_answer_watched(struct exchange *exchange, struct slice body,
                             void (*on_end)(void *arg, bool was_sent), void *arg)
{
    struct http_answer answer = {
        .status = 200,
        .content_type = SLICE("application/json"),
        .body = body,
        .on_end = on_end,
        .arg = arg,
    };
    bool is_complete = !exchange->site->scratch.failed && !exchange->site->members.failed;
    if (is_complete && http_request_take_room(exchange->request, body.size)) {
        give_answer(exchange, &answer);
        return;
    }
    on_end(arg, false);
    if (is_whole(exchange))
        exchange_refuse_over_limit(exchange);
}

static void on_stream_end(void *arg, bool was_sent)
{
    (void)was_sent;
    exchange_free(arg);
}

void exchange_answer_stream(struct exchange *exchange, struct slice content_type, struct slice body)
{
    struct http_header header = {SLICE("Cache-Control"), SLICE("no-store")};
    struct http_answer answer = {
        .status = 200,
        .content_type = content_type,
        .headers = &header,
        .header_count = 1,
        .body = body,
        .on_end = on_stream_end,
        .arg = exchange,
    };
    metrics_request(exchange->site->options.metrics, exchange->method->label, answer.status,
                    clock_boot_us() - exchange->began_us);
    http_stream_begin(exchange->request, &answer);
}

void exchange_answer_text(struct exchange *exchange, struct slice content_type, struct slice body)
{
    exchange_answer_as(exchange, 200, content_type, NULL, 0, body);
}

/* ---- errors ---- */

static void write_refusal(struct exchange *exchange, const struct exchange_error *error,
                          const struct http_header *header)
{
    struct buffer *body = exchange_scratch(exchange);
    exchange->dialect->write_error(body, error);
    exchange_answer(exchange, error->status, header, header != NULL, buffer_slice(body));
}

static void __attribute__((format(printf, 4, 0)))
refuse_with(struct exchange *exchange, unsigned status, const struct http_header *header, const char *format,
            va_list values)
{
    char detail[DETAIL_MAX];
    vsnprintf(detail, sizeof detail, format, values);
    struct exchange_error error = {.status = status, .detail = slice_of(detail)};
    write_refusal(exchange, &error, header);
}

void exchange_refuse(struct exchange *exchange, unsigned status, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    refuse_with(exchange, status, status == 503 || status == 429 ? &exchange_retry_after : NULL, format,
                values);
    va_end(values);
}

void exchange_refuse_with(struct exchange *exchange, unsigned status, const struct http_header *header,
                          const char *format, ...)
{
    va_list values;
    va_start(values, format);
    refuse_with(exchange, status, header, format, values);
    va_end(values);
}

void exchange_refuse_errors(struct exchange *exchange, const char *what, const struct job_errors *errors)
{
    struct exchange_error error = {.status = 400, .what = what, .errors = errors};
    write_refusal(exchange, &error, NULL);
}

void exchange_proceed(struct exchange *exchange)
{
    http_request_proceed(exchange->request);
}

void exchange_refuse_over_limit(struct exchange *exchange)
{
    exchange_refuse(exchange, 503, "There is no room for more connections or requests; nothing changed.");
}

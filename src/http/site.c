#include "http/site.h"

#include <assert.h>
#include <stdio.h>

#include "base/memory.h"
#include "http/access.h"
#include "http/exchange.h"
#include "http/query.h"
#include "io/http/limits.h"

enum {
    SCRATCH_ALWAYS = 4 * 1024, /* enough for an answer that says that memory is lacking */
    SCRATCH_MAX = 64 * 1024 * 1024,
    MEMBERS_MAX = 256 * 1024,
    ALLOW_MAX = 128,
    PROBLEM_MAX = 1024,
    LARGE_MAX = 16, /* maximum number of requests with a body over max_body_bytes at a time: together 256 MiB
                       in a reactor */
};

/* ---- the head ---- */

static bool is_media_type(struct slice type, struct slice wanted)
{
    struct slice media, parameter;
    slice_cut(type, ';', &media, &parameter);
    return slice_equal_nocase(slice_trim(media), wanted);
}

/* Returns whether a parameter says that a text is UTF-8: by its name, by another name that many clients use,
 * or because ASCII is a part of UTF-8. */
static bool is_utf8(struct slice parameter)
{
    static const struct slice charsets[] = {SLICE_INIT("utf-8"), SLICE_INIT("utf8"), SLICE_INIT("us-ascii")};
    struct slice name, charset;
    if (!slice_cut(parameter, '=', &name, &charset) || !slice_equal_nocase(name, SLICE("charset")))
        return false;
    if (charset.size >= 2 && charset.data[0] == '"' && slice_ends_with(charset, SLICE("\"")))
        charset = slice_from(charset.data + 1, charset.size - 2);
    for (size_t i = 0; i < sizeof charsets / sizeof *charsets; i++)
        if (slice_equal_nocase(charset, charsets[i]))
            return true;
    return false;
}

/* Returns whether the Content-Type is the wanted one, with or without a charset that is UTF-8. Empty
 * parameters are ignored (RFC 9110, section 5.6.6). */
static bool is_media(struct slice type, struct slice wanted)
{
    struct slice parameters, parameter;
    if (!is_media_type(type, wanted))
        return false;
    slice_cut(type, ';', &parameter, &parameters);
    while (parameters.size) {
        slice_cut(parameters, ';', &parameter, &parameters);
        parameter = slice_trim(parameter);
        if (parameter.size && !is_utf8(parameter))
            return false;
    }
    return true;
}

/* Returns whether the body is sent as it is. */
static bool is_unencoded(const struct http_request *request)
{
    return !http_request_has_header(request, "Content-Encoding") ||
           slice_equal_nocase(http_request_header(request, "Content-Encoding"), SLICE("identity"));
}

/* Returns whether the body of the request must be JSON. */
static bool needs_json(const struct exchange *exchange)
{
    const struct http_request *request = exchange->request;
    struct slice length = http_request_header(request, "Content-Length");
    bool has_body = http_request_has_header(request, "Transfer-Encoding") ||
                    (length.size > 0 && !slice_equal(length, SLICE("0")));
    return exchange->method->body == BODY_JSON || (exchange->method->body == BODY_JSON_OR_NONE && has_body);
}

static void refuse_media(struct exchange *exchange, struct slice type, const char *other)
{
    if (is_media_type(type, SLICE("application/json")) || (other && is_media_type(type, slice_of(other))))
        exchange_refuse(
            exchange, 415,
            "Content-Type has a parameter that is not charset=utf-8: send UTF-8, without a parameter.");
    else if (type.size)
        exchange_refuse(exchange, 415, "Content-Type must be application/json%s%s, not %.*s.",
                        other ? " or " : "", other ? other : "", (int)(type.size < 64 ? type.size : 64),
                        type.data);
    else
        exchange_refuse(exchange, 415, "Content-Type is missing; it must be application/json%s%s.",
                        other ? " or " : "", other ? other : "");
}

static bool check_media(struct exchange *exchange)
{
    const struct http_request *request = exchange->request;
    const char *other = exchange->method->or_media;
    struct slice type = http_request_header(request, "Content-Type");
    exchange->is_other_media = other && is_media(type, slice_of(other));
    if (!is_unencoded(request))
        exchange_refuse(exchange, 415,
                        "Content-Encoding is not supported: send the body without an encoding.");
    else if (needs_json(exchange) && !exchange->is_other_media && !is_media(type, SLICE("application/json")))
        refuse_media(exchange, type, other);
    else
        return true;
    return false;
}

/* Finds the route in the first dialect that has the path. */
static const struct route *find_route(struct exchange *exchange)
{
    struct site *site = exchange->site;
    struct slice target = http_request_target(exchange->request);
    const struct route *route = NULL;
    struct route_names names;
    for (size_t i = 0; i < site->dialect_count && !route; i++) {
        route = route_find(site->dialects[i].dialect, target, &exchange->path, &names, &exchange->query);
        if (route) {
            exchange->dialect = site->dialects[i].dialect;
            exchange->self = site->dialects[i].self;
            exchange->topic = names.topic.size ? names.topic : exchange->dialect->topic;
            exchange->job_id = names.job_id;
            exchange->key = names.key;
            exchange->rest = names.rest;
        }
    }
    return route;
}

/* Returns the dialect that writes the 404 for an unknown path. */
static const struct dialect *dialect_of(const struct exchange *exchange)
{
    const struct site *site = exchange->site;
    struct slice target = http_request_target(exchange->request);
    for (size_t i = 0; i < site->dialect_count; i++) {
        const struct dialect *dialect = site->dialects[i].dialect;
        if (dialect->root.size && slice_starts_with(target, dialect->root))
            return dialect;
    }
    return site->dialects[0].dialect;
}

/* Answers 404, and names the path that the client may have meant. The answer needs no token, because the
 * paths of the API are public. */
static void refuse_path(struct exchange *exchange, bool for_probes)
{
    char meant[ROUTE_SUGGESTION_SIZE];
    exchange->dialect = dialect_of(exchange);
    route_suggest(exchange->dialect, http_request_target(exchange->request), meant);
    if (meant[0] && !for_probes)
        exchange_refuse(exchange, 404, "There is nothing at this path; did you mean %s?", meant);
    else
        exchange_refuse(exchange, 404, "There is nothing at this path.");
}

static void refuse_method(struct exchange *exchange, const struct route *route)
{
    struct buffer allow;
    buffer_init(&allow, ALLOW_MAX);
    route_allow(route, &allow);
    struct http_header header = {SLICE("Allow"), buffer_slice(&allow)};
    exchange_refuse_with(exchange, 405, &header, "Method not allowed; allowed: %s.", buffer_text(&allow));
    buffer_fini(&allow);
}

static void refuse_guest(struct exchange *exchange)
{
    exchange_refuse_with(exchange, 429, &exchange_retry_after,
                         "Too many requests without a token; nothing changed.");
}

/* Lets the method decide about a request without a token before its body is read. */
static void hold_guest(struct exchange *exchange)
{
    struct http_request *request = exchange->request;
    if (http_request_set_guest(request)) {
        http_request_hold(request);
        exchange->method->admit_guest(exchange);
    } else {
        refuse_guest(exchange);
    }
}

static void take_head(struct exchange *exchange, bool for_probes)
{
    struct http_request *request = exchange->request;
    const struct route *route = find_route(exchange);
    if (!route || (for_probes && !route->is_probe)) {
        refuse_path(exchange, for_probes);
        return;
    }
    exchange->method = route_method(route, http_request_method(request));
    if (!exchange->method) {
        refuse_method(exchange, route);
        return;
    }
    exchange->is_probe = route->is_probe;
    if (!route->is_probe && http_request_is_over_limit(request)) {
        exchange_refuse_over_limit(exchange);
        return;
    }
    if (!access_admit(exchange))
        return;
    if (exchange->method->body != BODY_NONE && !check_media(exchange))
        return;
    if (exchange->method->is_large)
        http_request_allow(request, exchange->method->large_bytes);
    if (route->is_probe)
        exchange->query = (struct slice){NULL, 0};
    if (exchange->method->admit_guest)
        hold_guest(exchange);
    else if (exchange_is_guest(exchange) && !http_request_set_guest(request))
        refuse_guest(exchange);
}

static void on_head(void *arg, struct http_request *request)
{
    take_head(exchange_new(arg, request), false);
}

static void on_head_of_probe(void *arg, struct http_request *request)
{
    take_head(exchange_new(arg, request), true);
}

static void on_head_of_inner(void *arg, struct http_request *request)
{
    struct exchange *exchange = exchange_new(arg, request);
    exchange->is_inner = true;
    take_head(exchange, false);
}

/* ---- the rest ---- */

static void on_request(void *arg, struct http_request *request)
{
    (void)arg;
    struct exchange *exchange = http_request_context(request);
    if (!exchange->is_probe && http_request_is_over_limit(request)) {
        exchange_refuse_over_limit(exchange);
        return;
    }
    if (!exchange->method->takes_query && !query_is_empty(exchange))
        return;
    if (access_admit_job(exchange))
        exchange->method->handle(exchange);
}

/* Returns whether the body of a request may exceed max_body_bytes. This option limits one job; a request with
 * many jobs may be larger. */
static bool on_large(void *arg, struct http_request *request)
{
    struct site *site = arg;
    struct exchange *exchange = http_request_context(request);
    if (!exchange->method->is_large(exchange))
        return false;
    exchange->is_crowded = site->large_count == LARGE_MAX;
    exchange->is_large = !exchange->is_crowded;
    site->large_count += exchange->is_large;
    return exchange->is_large;
}

static void on_too_large(void *arg, struct http_request *request)
{
    struct site *site = arg;
    struct exchange *exchange = http_request_context(request);
    size_t max_bytes = site->options.max_body_bytes;
    if (exchange->is_crowded)
        exchange_refuse(
            exchange, 503,
            "Too many requests with bodies over %zu bytes are being processed; nothing changed. Try again.",
            max_bytes);
    else if (exchange->method->is_large)
        exchange_refuse(exchange, 413,
                        "The body is over %zu bytes. With many jobs, at most %zu bytes are accepted.",
                        max_bytes, exchange->method->large_bytes);
    else
        exchange_refuse(exchange, 413, "The body is over %zu bytes.", max_bytes);
}

static void on_over_limit(void *arg, struct http_request *request)
{
    (void)arg;
    exchange_refuse_over_limit(http_request_context(request));
}

/* Answers a request whose head is refused before an exchange exists. */
static void on_malformed(void *arg, struct http_request *request, const char *detail)
{
    struct site *site = arg;
    const struct dialect *dialect = site->dialects[0].dialect;
    struct exchange_error error = {.status = 400, .detail = slice_of(detail)};
    struct buffer body;
    metrics_request(site->options.metrics, METRICS_ROUTE_OTHER, 400, 0);
    buffer_init(&body, PROBLEM_MAX);
    dialect->write_error(&body, &error);
    http_answer(request, &(struct http_answer){.status = 400,
                                               .content_type = dialect->error_type,
                                               .body = buffer_slice(&body)});
    buffer_fini(&body);
}

/* Answers a connection whose head is so long that no request exists. */
static struct slice write_long_head(void *arg, unsigned status, struct buffer *body)
{
    struct site *site = arg;
    const struct dialect *dialect = site->dialects[0].dialect;
    struct exchange_error error = {
        .status = status,
        .detail = status == 414   ? SLICE("The request line is over 64 KiB.")
                  : status == 431 ? SLICE("The header section is over 14 KiB, or has more than 128 headers.")
                                  : SLICE("The memory for long request lines is used up."),
    };
    metrics_request(site->options.metrics, METRICS_ROUTE_OTHER, status, 0);
    dialect->write_error(body, &error);
    return dialect->error_type;
}

static void on_gone(void *arg, struct http_request *request)
{
    (void)arg;
    struct exchange *exchange = http_request_context(request);
    if (exchange)
        exchange_free(exchange);
}

/* ---- */

/* Reserves always_bytes of the buffer now, so that an error can be written later even without free memory. */
static void init_answers(struct buffer *buffer, size_t max_bytes, size_t always_bytes)
{
    buffer_init(buffer, max_bytes);
    buffer_reserve(buffer, always_bytes);
    buffer->may_fail = true;
}

struct site *site_new(const struct site_options *options)
{
    struct site *site = NEW(struct site);
    site->options = *options;
    site->listen_host = slice_dup(options->listen_host);
    site->options.listen_host = slice_of(site->listen_host);
    init_answers(&site->scratch, SCRATCH_MAX, SCRATCH_ALWAYS);
    init_answers(&site->members, MEMBERS_MAX, MEMBERS_MAX);
    for (size_t i = 0; i < SITE_KEY_BUCKETS; i++)
        list_init(&site->keys[i]);
    return site;
}

void site_add(struct site *site, const struct dialect *dialect, void *self)
{
    assert(site->dialect_count < SITE_DIALECTS_MAX);
    route_check_table(dialect);
    site->dialects[site->dialect_count].dialect = dialect;
    site->dialects[site->dialect_count++].self = self;
}

void site_reload(struct site *site, const struct site_options *options)
{
    site->options.tokens = options->tokens;
    site->options.hosts = options->hosts;
}

void site_free(struct site *site)
{
    if (!site)
        return;
    buffer_fini(&site->scratch);
    buffer_fini(&site->members);
    free(site->listen_host);
    free(site);
}

void site_attach(struct site *site, struct http_server_options *server)
{
    struct http_handler *handler = &server->handler;
    handler->max_body_bytes = site->options.max_body_bytes;
    handler->on_head = on_head;
    handler->on_over_limit = on_over_limit;
    handler->on_request = on_request;
    handler->on_large = on_large;
    handler->on_too_large = on_too_large;
    handler->on_malformed = on_malformed;
    handler->write_long_head = write_long_head;
    handler->on_gone = on_gone;
    handler->arg = site;
}

void site_attach_inner(struct site *site, struct http_server_options *server)
{
    assert(site->options.inner_token.size);
    site_attach(site, server);
    server->handler.on_head = on_head_of_inner;
}

void site_attach_probes(struct site *site, struct http_server_options *server)
{
    site_attach(site, server);
    server->handler.max_body_bytes = HTTP_BODY_FREE_BYTES;
    server->handler.on_head = on_head_of_probe;
}

#include "api/api.h"

#include <stdio.h>

#include "api/access.h"
#include "api/exchange.h"
#include "api/job_batch.h"
#include "api/problem.h"
#include "api/query.h"
#include "api/route.h"
#include "api/tally.h"
#include "base/clock.h"
#include "base/memory.h"

enum {
    SCRATCH_ALWAYS = 4 * 1024, /* enough to say that there is no memory */
    SCRATCH_MAX = 64 * 1024 * 1024,
    MEMBERS_MAX = 256 * 1024,
    ALLOW_MAX = 128,
    ONCE_MAX = 512,
    SEEN_MAX = 4096,
    LARGE_MAX = 16, /* requests over max_body_bytes at once: together 256 MiB a reactor */
};

/* This media type, maybe with "charset=utf-8". */
static bool is_media(struct slice type, struct slice wanted)
{
    struct slice media, parameter;
    slice_cut(type, ';', &media, &parameter);
    if (!slice_equal_nocase(slice_trim(media), wanted))
        return false;
    parameter = slice_trim(parameter);
    return parameter.size == 0 || slice_equal_nocase(parameter, SLICE("charset=utf-8")) ||
           slice_equal_nocase(parameter, SLICE("charset=\"utf-8\""));
}

static bool check_media(struct exchange *exchange)
{
    static const char *const others[] = {
        [BODY_PATCH] = "application/merge-patch+json", [BODY_JOBS] = "application/x-ndjson"};
    const struct http_request *request = exchange->request;
    enum body_kind kind = exchange->method->body;
    struct slice type = http_request_header(request, "Content-Type");
    const char *other = others[kind];
    bool is_other = other && is_media(type, slice_of(other));
    exchange->has_lines = is_other && kind == BODY_JOBS;
    if (http_request_has_header(request, "Content-Encoding"))
        problem_answer(exchange, 415, "Content-Encoding is not supported: send the JSON as it is.");
    else if (!is_other && !is_media(type, SLICE("application/json")))
        problem_answer(exchange, 415, "Content-Type must be application/json%s%s.", other ? " or " : "",
                       other ? other : "");
    else
        return true;
    return false;
}

static struct exchange *exchange_new(struct api *api, struct http_request *request)
{
    struct exchange *exchange = NEW(struct exchange);
    exchange->api = api;
    exchange->request = request;
    exchange->route = METRICS_ROUTE_OTHER;
    exchange->began_us = clock_boot_us();
    buffer_init(&exchange->path, EXCHANGE_PATH_MAX);
    buffer_init(&exchange->seen, SEEN_MAX);
    buffer_init(&exchange->once, ONCE_MAX);
    list_init(&exchange->key_link);
    http_request_set_context(request, exchange);
    return exchange;
}

static void take_head(struct exchange *exchange, bool for_probes)
{
    struct http_request *request = exchange->request;
    const struct route *route = route_find(exchange, http_request_target(request));
    if (!route || (for_probes && !route->is_probe)) {
        problem_answer(exchange, 404, "There is nothing at this path.");
        return;
    }
    exchange->method = route_method(route, http_request_method(request));
    if (!exchange->method) {
        struct buffer allow;
        buffer_init(&allow, ALLOW_MAX);
        route_allow(route, &allow);
        struct http_header header = {SLICE("Allow"), buffer_slice(&allow)};
        problem_answer_with(exchange, 405, &header, "This path knows %s.", buffer_text(&allow));
        buffer_fini(&allow);
        return;
    }
    exchange->route = exchange->method->route;
    exchange->is_probe = route->is_probe;
    if (!route->is_probe && http_request_is_surplus(request)) {
        problem_answer_surplus(exchange);
        return;
    }
    if (!access_admit(exchange))
        return;
    if (exchange->method->body != BODY_NONE && !check_media(exchange))
        return;
    if (exchange->method->body == BODY_JOBS)
        http_request_allow(request, JOB_BATCH_BYTES_MAX);
    if (route->is_probe)
        exchange->query = (struct slice){NULL, 0};
}

static void on_head(void *arg, struct http_request *request)
{
    take_head(exchange_new(arg, request), false);
}

static void on_head_of_probe(void *arg, struct http_request *request)
{
    take_head(exchange_new(arg, request), true);
}

static void on_request(void *arg, struct http_request *request)
{
    (void)arg;
    struct exchange *exchange = http_request_context(request);
    if (!exchange->is_probe && http_request_is_surplus(request)) {
        problem_answer_surplus(exchange);
        return;
    }
    if (!exchange->method->takes_query && !query_is_empty(exchange))
        return;
    if (access_admit_job(exchange))
        exchange->method->handle(exchange);
}

/* max_body_bytes bounds each job; many may have more together. */
static bool on_large(void *arg, struct http_request *request)
{
    struct api *api = arg;
    struct exchange *exchange = http_request_context(request);
    if (!job_batch_is_meant(exchange))
        return false;
    exchange->is_crowded = api->large_count == LARGE_MAX;
    exchange->is_large = !exchange->is_crowded;
    api->large_count += exchange->is_large;
    return exchange->is_large;
}

static void on_too_large(void *arg, struct http_request *request)
{
    struct api *api = arg;
    struct exchange *exchange = http_request_context(request);
    size_t max_bytes = api->options.max_body_bytes;
    if (exchange->is_crowded)
        problem_answer(exchange, 503, "Too many requests over %zu bytes at once; nothing changed.",
                       max_bytes);
    else if (exchange->method->body == BODY_JOBS)
        problem_answer(exchange, 413, "The body is over %zu bytes, or over %d with many jobs.", max_bytes,
                       JOB_BATCH_BYTES_MAX);
    else
        problem_answer(exchange, 413, "The body is over %zu bytes.", max_bytes);
}

static void on_surplus(void *arg, struct http_request *request)
{
    (void)arg;
    problem_answer_surplus(http_request_context(request));
}

static void on_malformed(void *arg, struct http_request *request, const char *detail)
{
    struct api *api = arg;
    metrics_request(api->options.metrics, METRICS_ROUTE_OTHER, 400, 0);
    problem_answer_request(request, 400, detail);
}

static void on_gone(void *arg, struct http_request *request)
{
    (void)arg;
    struct exchange *exchange = http_request_context(request);
    if (exchange)
        exchange_free(exchange);
}

/* What is there from the start cannot fail when memory is short: then, too, something has to be said. */
static void init_answers(struct buffer *buffer, size_t max_bytes, size_t always_bytes)
{
    buffer_init(buffer, max_bytes);
    buffer_reserve(buffer, always_bytes);
    buffer->may_fail = true;
}

struct api *api_new(const struct api_options *options)
{
    struct api *api = NEW(struct api);
    route_check_table();
    api->options = *options;
    api->listen_host = slice_dup(options->listen_host);
    api->options.listen_host = slice_of(api->listen_host);
    init_answers(&api->scratch, SCRATCH_MAX, SCRATCH_ALWAYS);
    init_answers(&api->members, MEMBERS_MAX, MEMBERS_MAX);
    api->batches = job_batches_new(options->loop);
    api->tally = tally_new(options->loop, options->tally);
    for (size_t i = 0; i < API_KEY_BUCKETS; i++)
        list_init(&api->keys[i]);
    return api;
}

void api_reload(struct api *api, const struct api_options *options)
{
    api->options.is_breaker_on = options->is_breaker_on;
    api->options.tokens = options->tokens;
    api->options.hosts = options->hosts;
    api->options.targets = options->targets;
    api->options.schedule = options->schedule;
    api->options.max_jobs = options->max_jobs;
}

void api_drain(struct api *api)
{
    api->is_draining = true;
}

void api_free(struct api *api)
{
    if (!api)
        return;
    buffer_fini(&api->scratch);
    buffer_fini(&api->members);
    job_batches_free(api->batches);
    tally_free(api->tally);
    free(api->listen_host);
    free(api);
}

void api_attach(struct api *api, struct http_server_options *server)
{
    server->max_body_bytes = api->options.max_body_bytes;
    server->on_head = on_head;
    server->on_surplus = on_surplus;
    server->on_request = on_request;
    server->on_large = on_large;
    server->on_too_large = on_too_large;
    server->on_malformed = on_malformed;
    server->on_gone = on_gone;
    server->arg = api;
}

void api_attach_probes(struct api *api, struct http_server_options *server)
{
    api_attach(api, server);
    server->max_body_bytes = HTTP_BODY_FREE_BYTES;
    server->on_head = on_head_of_probe;
}

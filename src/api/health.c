/* health.c - GET /healthz, /readyz, /metrics, /path-check/, /access and /tokens */
#include "api/api_private.h"
#include "app/overview.h"
#include "app/token_uses.h"
#include "base/json_writer.h"
#include "http/request_headers.h"
#include "job/delivery/identity.h"
#include "job/token.h"

/* ---- health and metrics ---- */

HANDLER(health_handle)
{
    exchange_answer(exchange, 200, NULL, 0, SLICE("{\"healthy\":true}"));
}

/* Receivers keep the keys for five minutes, half of what a rotation waits (identity.h). */
HANDLER(jwks_handle)
{
    static const struct http_header headers[] = {
        {SLICE_INIT("Cache-Control"), SLICE_INIT("public, max-age=300")},
    };
    struct buffer *body = exchange_scratch(exchange);
    identity_keys_publish(app_of(exchange)->identity, body);
    exchange_answer_as(exchange, 200, SLICE("application/jwk-set+json"), headers, 1, buffer_slice(body));
}

/* Sets health to unready if the process is starting or stopping, even if this reactor is ready. */
static void check_process(const struct api *api, struct app_health *health)
{
    const atomic_size_t *awaited = api->awaited;
    if (health->is_ready && awaited && atomic_load(awaited) > 0) {
        problem_set(&health->why, "duepost is starting");
        health->is_ready = false;
    }
    if (api->is_draining) {
        problem_set(&health->why, "duepost is stopping");
        health->is_ready = false;
    }
}

HANDLER(ready_handle)
{
    struct buffer *body = exchange_scratch(exchange);
    struct app_health health;
    app_health(app_of(exchange), &health);
    check_process(api_of(exchange), &health);
    if (health.is_ready)
        buffer_append_byte(body, '{');
    else
        problem_write_head(body, 503, slice_of(health.why.text));
    struct json_writer json = health.is_ready ? json_writer_to(body) : json_writer_behind(body);
    json_add_bool(&json, "ready", health.is_ready);
    if (health.is_redis_known) {
        json_add_object(&json, "redis");
        json_add_text(&json, "version", slice_of(health.version));
        if (health.role[0])
            json_add_text(&json, "role", slice_of(health.role));
        if (health.eviction[0])
            json_add_text(&json, "evictionPolicy", slice_of(health.eviction));
        json_end_object(&json);
    }
    json_add_object(&json, "durability");
    json_add_text(&json, "configured", slice_of(health.durability));
    if (health.is_redis_known)
        json_add_text(&json, "inForce", slice_of(health.in_force));
    if (health.is_trusted)
        json_add_text(&json, "note", SLICE("trusted, not checked"));
    json_end_object(&json);
    json_end_object(&json);
    exchange_answer(exchange, health.is_ready ? 200 : 503, &exchange_retry_after, !health.is_ready,
                    buffer_slice(body));
}

/* Answers with the part of the path that follows /path-check/, as it arrived. A client behind a proxy
 * compares it with the path that it sent (docs/proxy.md). */
HANDLER(path_handle)
{
    static const struct http_header no_sniffing = {SLICE("X-Content-Type-Options"), SLICE("nosniff")};
    struct json_writer json = json_writer_to(exchange_scratch(exchange));
    json_put_object(&json);
    json_add_text(&json, "path", exchange->rest);
    json_end_object(&json);
    exchange_answer(exchange, 200, &no_sniffing, 1, buffer_slice(json.out));
}

static void on_exposed(void *arg, struct slice text)
{
    exchange_answer_text(arg, SLICE("text/plain; version=0.0.4; charset=utf-8"), text);
}

static void on_exposed_openly(void *arg, struct slice text)
{
    exchange_answer_text(arg, SLICE("application/openmetrics-text; version=1.0.0; charset=utf-8"), text);
}

/* Returns whether the client prefers the format OpenMetrics to the older text format. Prometheus accepts
 * both, and gives each a weight. */
static bool wants_openmetrics(struct exchange *exchange)
{
    static const char *const versions[] = {"1.0.0", "0.0.1", NULL}; /* version 0.0.1 was a draft */
    int weight = accept_weight(exchange, SLICE("application/openmetrics-text"), versions);
    return weight > 0 && weight >= accept_weight(exchange, SLICE("text/plain"), NULL);
}

HANDLER(metrics_handle)
{
    if (wants_openmetrics(exchange))
        app_expose(app_of(exchange), exchange_scratch(exchange), METRICS_FORMAT_OPENMETRICS,
                   on_exposed_openly, exchange);
    else
        app_expose(app_of(exchange), exchange_scratch(exchange), METRICS_FORMAT_TEXT, on_exposed, exchange);
}

/* ---- tokens ---- */

enum { SCOPES_ALL = SCOPE_SCHEDULE | SCOPE_READ | SCOPE_CANCEL | SCOPE_ADMIN | SCOPE_LEASE };

/* Adds the words of a list such as "orders-*,mail" as an array. */
static void add_words(struct json_writer *json, const char *name, struct slice list, char separator)
{
    json_add_array(json, name);
    while (list.size) {
        struct slice word;
        slice_cut(list, separator, &word, &list);
        json_put_text(json, word);
    }
    json_end_array(json);
}

static void add_scopes(struct json_writer *json, unsigned scopes)
{
    char text[TOKEN_SCOPES_SIZE];
    token_scopes_text(scopes, text);
    add_words(json, "scopes", slice_of(text), ',');
}

/* Adds the rights of a token. A token without a list of topics has a right to all topics and all groups. */
static void add_rights(struct json_writer *json, const struct token *token)
{
    json_add_text(json, "name", slice_of(token->name));
    add_scopes(json, token->scopes);
    if (token->topics)
        add_words(json, "topics", slice_of(token->topics), ',');
    if (token->groups || token->topics)
        add_words(json, "groups", slice_of(token->groups), ',');
    if (token->rate.period_ns)
        json_add_number(json, "jobsPerHour",
                        token->rate.step_ns ? INT64_C(3600000000000) / token->rate.step_ns : 0);
}

HANDLER(access_handle)
{
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_bool(&json, "tokens", exchange->token != NULL);
    if (exchange->token)
        add_rights(&json, exchange->token);
    else
        add_scopes(&json, SCOPES_ALL);
    if (app_of(exchange)->clock)
        json_add_text(&json, "clock", SLICE("manual"));
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

static void on_token_uses(void *arg, const int64_t *times_ms)
{
    struct exchange *exchange = arg;
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    size_t count = exchange->tokens ? token_table_count(exchange->tokens) : 0;
    json_put_object(&json);
    json_add_array(&json, "tokens");
    for (size_t i = 0; i < count; i++) {
        json_put_object(&json);
        add_rights(&json, token_table_at(exchange->tokens, i));
        if (times_ms[i])
            json_add_time(&json, "lastUsedAt", times_ms[i]);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

HANDLER(tokens_handle)
{
    if (exchange->tokens)
        app_token_uses(app_of(exchange), exchange->tokens, on_token_uses, exchange);
    else
        on_token_uses(exchange, NULL);
}

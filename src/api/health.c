/* health.c - GET /healthz and GET /readyz */
#include "api/handlers.h"
#include "api/problem.h"

void health_handle(struct exchange *exchange)
{
    exchange_answer(exchange, 200, NULL, 0, SLICE("{\"healthy\":true}"));
}

static void write_redis(struct buffer *body, const struct store_facts *facts)
{
    buffer_append(body, SLICE(",\"redis\":{\"version\":"));
    buffer_append_json(body, slice_of(facts->version));
    buffer_append(body, SLICE(",\"role\":"));
    buffer_append_json(body, slice_of(facts->role));
    buffer_append(body, SLICE(",\"evictionPolicy\":"));
    buffer_append_json(body, slice_of(facts->eviction));
    buffer_append_byte(body, '}');
}

void ready_handle(struct exchange *exchange)
{
    const struct api_options *options = &api_of(exchange)->options;
    const struct store_facts *facts = store_facts(options->store);
    struct buffer *body = exchange_scratch(exchange);
    struct problem why;
    bool is_ready = store_is_ready(options->store, &why);
    if (is_ready && options->awaited && atomic_load(options->awaited) > 0) {
        problem_set(&why, "duepost is starting");
        is_ready = false;
    }
    if (api_of(exchange)->is_draining) {
        problem_set(&why, "duepost is stopping");
        is_ready = false;
    }
    if (is_ready) {
        buffer_append(body, SLICE("{\"ready\":true"));
    } else {
        problem_write_head(body, 503, slice_of(why.text));
        buffer_append(body, SLICE(",\"ready\":false"));
    }
    if (facts->is_known)
        write_redis(body, facts);
    char word[DURABILITY_TEXT_MAX];
    store_durability_configured(options->store, word);
    buffer_printf(body, ",\"durability\":{\"configured\":\"%s\"", word);
    if (facts->is_known) {
        store_facts_durability(facts, word);
        buffer_printf(body, ",\"inForce\":\"%s\"", word);
    }
    buffer_append(body, SLICE("}}"));
    exchange_answer(exchange, is_ready ? 200 : 503, &exchange_retry_after, !is_ready, buffer_slice(body));
}

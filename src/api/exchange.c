#include "api/exchange.h"

#include "api/job_batch.h"
#include "api/problem.h"
#include "api/route.h"
#include "base/clock.h"
#include "base/memory.h"

struct buffer *exchange_scratch(struct exchange *exchange)
{
    buffer_clear(&exchange->api->scratch);
    return &exchange->api->scratch;
}

struct buffer *api_members(struct api *api)
{
    buffer_clear(&api->members);
    return &api->members;
}

/* Whoever only reads may be told to come again; who has changed something gets his answer, and so does a
 * probe. */
static bool has_room(const struct exchange *exchange, size_t bytes)
{
    bool is_read = exchange->method && !exchange->is_probe && strcmp(exchange->method->name, "GET") == 0;
    return !is_read || http_request_take_room(exchange->request, bytes);
}

static void give(struct exchange *exchange, const struct http_answer *answer)
{
    struct http_request *request = exchange->request;
    if (!has_room(exchange, answer->body.size)) {
        problem_answer_surplus(exchange);
        return;
    }
    metrics_request(exchange->api->options.metrics, exchange->route, answer->status,
                    clock_boot_us() - exchange->began_us);
    exchange_free(exchange);
    http_answer(request, answer);
}

/* An answer that lacks its end is none. */
static bool is_whole(struct exchange *exchange)
{
    struct api *api = exchange->api;
    if (!api->scratch.failed && !api->members.failed)
        return true;
    buffer_clear(&api->scratch);
    buffer_clear(&api->members);
    problem_answer(exchange, 503,
                   "There is no memory for the answer; what was asked for may have been done.");
    return false;
}

void exchange_answer_json(struct exchange *exchange, unsigned status, const struct http_header *headers,
                          size_t count, struct slice body)
{
    struct http_answer answer = {
        .status = status,
        .content_type = status < 400 ? SLICE("application/json") : SLICE("application/problem+json"),
        .headers = headers,
        .header_count = count,
        .body = body,
    };
    if (is_whole(exchange))
        give(exchange, &answer);
}

void exchange_answer_text(struct exchange *exchange, struct slice content_type, struct slice body)
{
    struct http_answer answer = {.status = 200, .content_type = content_type, .body = body};
    if (is_whole(exchange))
        give(exchange, &answer);
}

void exchange_free(struct exchange *exchange)
{
    http_request_set_context(exchange->request, NULL);
    token_table_release(exchange->tokens);
    buffer_fini(&exchange->path);
    submission_fini(&exchange->submission);
    job_batch_free(exchange->batch);
    exchange->api->large_count -= exchange->is_large;
    buffer_fini(&exchange->seen);
    buffer_fini(&exchange->once);
    list_remove(&exchange->key_link);
    free(exchange->parameters);
    free(exchange);
}

#include "api/exchange.h"

#include "base/memory.h"

struct buffer *exchange_scratch(struct exchange *exchange)
{
    buffer_clear(&exchange->api->scratch);
    return &exchange->api->scratch;
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
    struct http_request *request = exchange->request;
    exchange_free(exchange);
    http_answer(request, &answer);
}

void exchange_free(struct exchange *exchange)
{
    http_request_set_context(exchange->request, NULL);
    buffer_fini(&exchange->path);
    buffer_fini(&exchange->record);
    free(exchange);
}

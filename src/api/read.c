/* read.c - GET /jobs/<topic>/<jobId> and GET /jobs */
#include "api/cursor.h"
#include "api/handlers.h"
#include "api/problem.h"
#include "api/query.h"
#include "api/view.h"

static const char nothing_changed[] = "Nothing was to be changed; ask again.";

static void on_read(void *arg, enum status status, const struct store_job *job)
{
    struct exchange *exchange = arg;
    if (status != STATUS_OK) {
        problem_answer_status(exchange, status, nothing_changed);
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    view_write(body, job, exchange->api->options.schedule);
    exchange_answer_json(exchange, 200, NULL, 0, buffer_slice(body));
}

void read_handle(struct exchange *exchange)
{
    store_read(exchange->api->options.store, exchange->key, on_read, exchange);
}

static void on_list(void *arg, enum status status, const struct store_job *jobs, size_t count,
                    struct store_cursor next)
{
    struct exchange *exchange = arg;
    if (status != STATUS_OK) {
        problem_answer_status(exchange, status, nothing_changed);
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    buffer_append(body, SLICE("{\"jobs\":["));
    for (size_t i = 0; i < count; i++) {
        if (i)
            buffer_append_byte(body, ',');
        view_write(body, &jobs[i], exchange->api->options.schedule);
    }
    buffer_append_byte(body, ']');
    if (next.id.size || next.shard) {
        buffer_append(body, SLICE(",\"cursor\":\""));
        cursor_write(body, &next);
        buffer_append_byte(body, '"');
    }
    buffer_append_byte(body, '}');
    exchange_answer_json(exchange, 200, NULL, 0, buffer_slice(body));
}

void list_handle(struct exchange *exchange)
{
    if (!query_read_list(exchange))
        return;
    struct store_list list = {
        .state = exchange->list.state,
        .topic = exchange->list.topic,
        .max = exchange->list.limit,
        .from = exchange->list.cursor,
    };
    store_list(exchange->api->options.store, &list, on_list, exchange);
}

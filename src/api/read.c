/* read.c - GET /jobs/<topic>/<jobId>, GET /jobs and GET /jobs/count */
#include "http/etag.h"
#include "api/handlers.h"
#include "api/problem.h"
#include "api/query.h"
#include "api/view.h"

static void on_read(void *arg, enum status status, const struct store_job *job)
{
    struct exchange *exchange = arg;
    if (status != STATUS_OK) {
        problem_answer_status(exchange, status, PROBLEM_READ_ONLY);
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    struct etag etag;
    struct http_header header = view_etag(job, &etag);
    view_write(body, job, api_of(exchange)->options.schedule);
    exchange_answer(exchange, 200, &header, 1, buffer_slice(body));
}

void read_handle(struct exchange *exchange)
{
    store_read_kept(api_of(exchange)->options.store, exchange->key, on_read, exchange);
}

static void on_list(void *arg, enum status status, const struct store_job *jobs, size_t count,
                    struct store_cursor next)
{
    struct exchange *exchange = arg;
    if (status != STATUS_OK) {
        problem_answer_status(exchange, status, PROBLEM_READ_ONLY);
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    buffer_append(body, SLICE("{\"jobs\":["));
    for (size_t i = 0; i < count; i++) {
        if (i)
            buffer_append_byte(body, ',');
        view_write(body, &jobs[i], api_of(exchange)->options.schedule);
    }
    buffer_append_byte(body, ']');
    view_write_cursor(body, &next, 0);
    buffer_append_byte(body, '}');
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

void list_handle(struct exchange *exchange)
{
    if (query_read_list(exchange))
        store_list(api_of(exchange)->options.store, &list_query(exchange)->jobs, on_list, exchange);
}

static void on_count(void *arg, enum status status, int64_t count, struct store_cursor next)
{
    struct exchange *exchange = arg;
    if (status != STATUS_OK) {
        problem_answer_status(exchange, status, PROBLEM_READ_ONLY);
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    buffer_printf(body, "{\"count\":%lld", (long long)count);
    view_write_cursor(body, &next, 0);
    buffer_append_byte(body, '}');
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

void count_handle(struct exchange *exchange)
{
    if (query_read_list(exchange))
        store_count(api_of(exchange)->options.store, &list_query(exchange)->jobs, on_count, exchange);
}

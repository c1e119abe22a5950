/* receivers.c - GET /receivers and POST /receivers/<host:port>/close */
#include "api/audit.h"
#include "api/cursor.h"
#include "api/handlers.h"
#include "api/problem.h"
#include "api/query.h"
#include "api/view.h"
#include "base/timestamp.h"
#include "job/receiver.h"

/* Its cause is a status or a word. */
static void write_failure(struct buffer *body, const struct store_receiver *receiver)
{
    char text[TIMESTAMP_SIZE];
    uint64_t status;
    bool is_status = slice_to_number(receiver->cause, 999, &status);
    timestamp_format(receiver->failed_ms, text);
    buffer_printf(body, ",\"lastFailure\":{\"at\":\"%s\",\"%s\":", text, is_status ? "status" : "error");
    if (is_status)
        buffer_append(body, receiver->cause);
    else
        buffer_append_json(body, receiver->cause);
    buffer_append_byte(body, '}');
}

static void write_receiver(struct buffer *body, const struct store_receiver *receiver)
{
    buffer_append(body, SLICE("{\"receiver\":"));
    buffer_append_json(body, receiver_host_of(receiver->name));
    struct slice path = receiver_path_of(receiver->name);
    if (path.size) {
        buffer_append(body, SLICE(",\"path\":"));
        buffer_append_json(body, path);
    }
    buffer_printf(body, ",\"state\":\"%s\",\"failures\":%lld",
                  receiver->opened_ms == 0 ? "closed"
                  : receiver->probe        ? "probing"
                                           : "open",
                  (long long)receiver->failures);
    if (receiver->opened_ms > 0) {
        view_write_time(body, "openSince", receiver->opened_ms);
        view_write_time(body, "probeAt", receiver->probe_ms);
    }
    if (receiver->limit > 0)
        buffer_printf(body, ",\"maxInFlight\":%lld", (long long)receiver->limit);
    if (receiver->failed_ms > 0)
        write_failure(body, receiver);
    view_write_time(body, "reportedAt", receiver->reported_ms);
    buffer_append_byte(body, '}');
}

static void on_receivers(void *arg, enum status status, const struct store_receiver *receivers, size_t count,
                         struct store_receiver_cursor next)
{
    struct exchange *exchange = arg;
    if (status != STATUS_OK) {
        problem_answer_status(exchange, status, "Nothing was to be changed; ask again.");
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    buffer_append(body, SLICE("{\"receivers\":["));
    for (size_t i = 0; i < count; i++) {
        if (i)
            buffer_append_byte(body, ',');
        write_receiver(body, &receivers[i]);
    }
    buffer_append_byte(body, ']');
    if (next.version || next.shard) {
        buffer_append(body, SLICE(",\"cursor\":\""));
        cursor_write_receiver(body, &next);
        buffer_append_byte(body, '"');
    }
    buffer_append_byte(body, '}');
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

void receivers_handle(struct exchange *exchange)
{
    if (query_read_receivers(exchange))
        store_receivers(api_of(exchange)->options.store, &list_query(exchange)->receivers, on_receivers,
                        exchange);
}

static void on_closed(void *arg, enum status status, const struct store_receiver *receiver)
{
    struct exchange *exchange = arg;
    audit_receiver(exchange, "receiver_closed", status);
    if (status == STATUS_NOT_FOUND) {
        exchange_refuse(exchange, 404, "Nothing is known of this receiver: it is well, or was never used.");
        return;
    }
    if (status != STATUS_OK) {
        problem_answer_status(exchange, status, "Repeating the request is safe.");
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    write_receiver(body, receiver);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

void receiver_close_handle(struct exchange *exchange)
{
    if (!problem_answer_unready(exchange))
        store_close_receiver(api_of(exchange)->options.store, exchange->key, on_closed, exchange);
}

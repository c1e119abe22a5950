/* receivers.c - GET /receivers and POST /receivers/<host:port>/close */
#include "app/receivers.h"

#include "api/page.h"
#include "api/problem.h"
#include "api/query.h"
#include "job/target/receiver.h"

/* Adds the receiver's last failure. Its cause is an HTTP status or a word, such as connect. */
static void add_failure(struct json_writer *json, const struct receiver_record *receiver)
{
    uint64_t status;
    json_add_object(json, "lastFailure");
    json_add_time(json, "at", receiver->failed_ms);
    if (slice_to_number(receiver->cause, 999, &status))
        json_add_raw(json, "status", receiver->cause);
    else
        json_add_text(json, "error", receiver->cause);
    json_end_object(json);
}

static struct slice state_of(const struct receiver_record *receiver)
{
    if (receiver->opened_ms == 0)
        return SLICE("closed");
    return receiver->probe ? SLICE("probing") : SLICE("open");
}

static void put_receiver(struct json_writer *json, const struct receiver_record *receiver)
{
    struct slice path = receiver_path_of(receiver->name);
    json_put_object(json);
    json_add_text(json, "receiver", receiver_host_of(receiver->name));
    if (path.size)
        json_add_text(json, "path", path);
    json_add_text(json, "state", state_of(receiver));
    json_add_number(json, "failures", receiver->failures);
    if (receiver->opened_ms > 0) {
        json_add_time(json, "openSince", receiver->opened_ms);
        json_add_time(json, "probeAt", receiver->probe_ms);
    }
    if (receiver->limit > 0)
        json_add_number(json, "maxInFlight", receiver->limit);
    if (receiver->failed_ms > 0)
        add_failure(json, receiver);
    json_add_time(json, "reportedAt", receiver->reported_ms);
    json_end_object(json);
}

static void on_receiver_of_page(void *arg, const struct receiver_record *receiver)
{
    struct page *page = arg;
    put_receiver(&page->json, receiver);
}

HANDLER(receivers_handle)
{
    if (!query_read_receivers(exchange))
        return;
    const struct list_query *query = list_query(exchange);
    app_receivers(app_of(exchange), query->bulk.list.max, query->receiver, on_receiver_of_page, page_end,
                  page_new(exchange, "receivers"));
}

static void on_receiver(void *arg, const struct receiver_record *receiver)
{
    struct json_writer json = json_writer_to(exchange_scratch(arg));
    put_receiver(&json, receiver);
}

static void on_closed(void *arg, const struct app_verdict *verdict)
{
    static const struct problem_words words = {"request", "Repeating the request is safe."};
    struct exchange *exchange = arg;
    if (verdict->end == STATUS_OK)
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(&exchange->site->scratch));
    else if (verdict->end == STATUS_NOT_FOUND)
        exchange_refuse(
            exchange, 404,
            "This receiver is not in the list of GET /receivers: it is not impaired, or was never "
            "used.");
    else
        problem_answer_verdict(exchange, verdict, &words);
}

HANDLER(receiver_close_handle)
{
    app_receiver_close(app_of(exchange), &exchange->caller, exchange->key, on_receiver, on_closed, exchange);
}

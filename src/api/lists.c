/* lists.c - /jobs: GET and DELETE; GET /jobs/count; POST /jobs/redrive, /jobs/run and /jobs/reschedule */
#include "api/page.h"
#include "api/problem.h"
#include "api/query.h"
#include "api/view.h"
#include "app/history_redrive.h"

static void on_job(void *arg, const struct stored_job *job)
{
    struct page *page = arg;
    view_put_job(&page->json, job, app_of(page->exchange)->schedule);
}

HANDLER(list_handle)
{
    if (query_read_list(exchange))
        app_list(app_of(exchange), &list_query(exchange)->bulk.list, on_job, page_end,
                 page_new(exchange, "jobs"));
}

static void on_count(void *arg, const struct app_verdict *verdict)
{
    struct exchange *exchange = arg;
    if (verdict->end != STATUS_OK) {
        problem_answer_verdict(exchange, verdict, &problem_of_read);
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_number(&json, "count", verdict->page.count);
    if (verdict->outcome_count)
        view_add_outcomes(&json, verdict->outcomes);
    page_add_end(&json, &verdict->page);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

HANDLER(count_handle)
{
    if (query_read_list(exchange))
        app_count(app_of(exchange), &list_query(exchange)->bulk.list, on_count, exchange);
}

/* ---- bulk actions ---- */

static void refuse_bulk(struct exchange *exchange, const struct app_verdict *verdict)
{
    static const struct problem_words words = {"request", "Repeating the request is safe."};
    const struct app_bulk_counts *counts = &verdict->counts;
    if (verdict->end == STATUS_UNKNOWN && counts->matched > 0)
        exchange_refuse(
            exchange, 503,
            "%zu of the %zu matching jobs are done, %zu were skipped; the outcome of %zu is unknown. "
            "Repeating the request is safe.",
            counts->done, counts->matched, counts->skipped, counts->unknown);
    else
        problem_answer_verdict(exchange, verdict, &words);
}

static void on_bulk(void *arg, const struct app_verdict *verdict)
{
    struct exchange *exchange = arg;
    if (verdict->end != STATUS_OK) {
        refuse_bulk(exchange, verdict);
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_number(&json, "matched", (int64_t)verdict->counts.matched);
    json_add_number(&json, "done", (int64_t)verdict->counts.done);
    json_add_number(&json, "skipped", (int64_t)verdict->counts.skipped);
    page_add_end(&json, &verdict->page);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

static void bulk_act(struct exchange *exchange, enum app_action action)
{
    if (!query_read_bulk(exchange, action))
        return;
    const struct app_bulk *bulk = &list_query(exchange)->bulk;
    if (bulk->list.is_of_history)
        app_redrive_history(app_of(exchange), &exchange->caller, bulk, on_bulk, exchange);
    else
        app_bulk(app_of(exchange), &exchange->caller, bulk, on_bulk, exchange);
}

HANDLER(cancel_many_handle)
{
    bulk_act(exchange, APP_CANCEL);
}

HANDLER(redrive_handle)
{
    bulk_act(exchange, APP_REDRIVE);
}

HANDLER(run_many_handle)
{
    bulk_act(exchange, APP_RUN);
}

HANDLER(reschedule_handle)
{
    bulk_act(exchange, APP_RESCHEDULE);
}

/* bulk.c - DELETE /jobs and POST /jobs/redrive: what one page of a filter finds is cancelled, or run again.
 */
#include "api/audit.h"
#include "api/handlers.h"
#include "api/problem.h"
#include "api/query.h"
#include "api/view.h"
#include "base/memory.h"
#include "job/job_id.h"

enum { CURSOR_TEXT_MAX = 512 };

struct bulk {
    struct exchange *exchange;
    bool is_redrive;
    struct bulk_item *items;
    struct buffer ids;    /* the items' ids point into it */
    struct buffer cursor; /* the end of the answer */
    size_t matched, done, failed, pending;
    int64_t last_due_ms; /* of those that were run; 0: none was */
};

struct bulk_item {
    struct bulk *bulk;
    struct slice id;
};

static void bulk_free(struct bulk *bulk)
{
    buffer_fini(&bulk->ids);
    buffer_fini(&bulk->cursor);
    free(bulk->items);
    free(bulk);
}

/* Where the next page goes on; one of a redrive at a rate tells from which time, too. */
static void write_cursor(const struct bulk *bulk, struct buffer *body)
{
    const struct exchange_query *query = bulk->exchange->parameters;
    struct slice cursor = buffer_slice(&bulk->cursor);
    int64_t begin_ms = query->begin_ms;
    if (cursor.size == 0)
        return;
    if (bulk->last_due_ms)
        begin_ms = bulk->last_due_ms + (query->step_us + 999) / 1000;
    buffer_append(body, SLICE(VIEW_CURSOR_OPENING));
    if (query->step_us && begin_ms)
        buffer_printf(body, "%lld!", (long long)begin_ms);
    buffer_append(body, slice_skip(cursor, strlen(VIEW_CURSOR_OPENING)));
}

static void bulk_end(struct bulk *bulk)
{
    struct exchange *exchange = bulk->exchange;
    if (bulk->matched > 0)
        audit_jobs(exchange, bulk->is_redrive ? "jobs_redriven" : "jobs_cancelled", bulk->done, bulk->failed);
    if (bulk->failed > 0) {
        problem_answer(exchange, 503,
                       "%zu of %zu jobs are done; of %zu the outcome is unknown. Repeating is safe.",
                       bulk->done, bulk->matched, bulk->failed);
    } else {
        struct buffer *body = exchange_scratch(exchange);
        buffer_printf(body, "{\"matched\":%zu,\"done\":%zu", bulk->matched, bulk->done);
        write_cursor(bulk, body);
        buffer_append_byte(body, '}');
        exchange_answer_json(exchange, 200, NULL, 0, buffer_slice(body));
    }
    bulk_free(bulk);
}

/* A job that is gone or leased meanwhile, or has expired, is matched and not done. */
static void end_one(const struct bulk_item *item, enum status status)
{
    struct bulk *bulk = item->bulk;
    bool is_skipped = status == STATUS_NOT_FOUND || status == STATUS_LEASED || status == STATUS_EXPIRED;
    bulk->done += status == STATUS_OK;
    bulk->failed += status != STATUS_OK && !is_skipped;
    audit_one_of_many(bulk->exchange, bulk->is_redrive ? "job_redriven" : "job_cancelled", item->id, status);
    if (--bulk->pending == 0)
        bulk_end(bulk);
}

static void on_cancelled(void *arg, enum status status, bool was_leased)
{
    const struct bulk_item *item = arg;
    struct slice topic, job_id;
    (void)was_leased;
    if (status == STATUS_OK && job_key_parse(item->id, &topic, &job_id))
        metrics_ended(item->bulk->exchange->api->options.metrics, topic, METRICS_END_CANCELLED);
    end_one(item, status);
}

static void on_run(void *arg, enum status status, int64_t due_ms)
{
    const struct bulk_item *item = arg;
    if (status == STATUS_OK && due_ms > item->bulk->last_due_ms)
        item->bulk->last_due_ms = due_ms;
    end_one(item, status);
}

/* When the job with this number in the page is due. */
static struct store_when when_of(const struct exchange_query *query, size_t number)
{
    int64_t after_ms = (int64_t)number * query->step_us / 1000;
    return (struct store_when){query->begin_ms != 0, query->begin_ms + after_ms};
}

static void act(struct bulk_item *item)
{
    struct bulk *bulk = item->bulk;
    struct store *store = bulk->exchange->api->options.store;
    if (bulk->is_redrive)
        store_run(store, item->id, when_of(bulk->exchange->parameters, (size_t)(item - bulk->items)), on_run,
                  item);
    else
        store_cancel(store, item->id, SLICE(""), on_cancelled, item);
}

/* The calls borrow the ids until their callbacks. */
static bool keep_ids(struct bulk *bulk, const struct slice *ids, size_t count)
{
    bulk->items = calloc(count + 1, sizeof *bulk->items);
    buffer_reserve(&bulk->ids, bulk->ids.max);
    if (!bulk->items || bulk->ids.failed)
        return false;
    for (size_t i = 0; i < count; i++) {
        bulk->items[i] = (struct bulk_item){bulk, {bulk->ids.data + bulk->ids.size, ids[i].size}};
        buffer_append(&bulk->ids, ids[i]);
    }
    return true;
}

static void on_ids(void *arg, enum status status, const struct slice *ids, size_t count,
                   struct store_cursor next)
{
    struct bulk *bulk = arg;
    if (status != STATUS_OK) {
        problem_answer_status(bulk->exchange, status, "Repeating the request is safe.");
        bulk_free(bulk);
        return;
    }
    view_write_cursor(&bulk->cursor, &next);
    if (!keep_ids(bulk, ids, count)) {
        problem_answer(bulk->exchange, 503, "There is no memory for so many; nothing changed.");
        bulk_free(bulk);
        return;
    }
    bulk->matched = bulk->pending = count;
    for (size_t i = 0; i < count; i++)
        act(&bulk->items[i]);
    if (count == 0)
        bulk_end(bulk);
}

static void begin(struct exchange *exchange, bool is_redrive)
{
    exchange->key = exchange->parameters->jobs.topic; /* empty: of all */
    if (problem_answer_unready(exchange))
        return;
    struct bulk *bulk = NEW(struct bulk);
    bulk->exchange = exchange;
    bulk->is_redrive = is_redrive;
    buffer_init_fallible(&bulk->ids, (size_t)STORE_LIST_MAX * JOB_KEY_MAX);
    buffer_init(&bulk->cursor, CURSOR_TEXT_MAX);
    store_ids(exchange->api->options.store, &exchange->parameters->jobs, on_ids, bulk);
}

void cancel_many_handle(struct exchange *exchange)
{
    if (query_read_list(exchange))
        begin(exchange, false);
}

void redrive_handle(struct exchange *exchange)
{
    if (query_read_redrive(exchange))
        begin(exchange, true);
}

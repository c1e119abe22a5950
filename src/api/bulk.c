/* bulk.c - DELETE /jobs and POST /jobs/redrive: what one page of a filter finds is cancelled, or run again.
 *
 * 1. see   a page of the filter: ids, and a tag for each that names the job as it is
 * 2. act   on each job; the store changes it only if the tag is still the job's
 * 3. end   when each has its outcome: the numbers of all, and where the next page begins
 *
 * A job that changed between 1 and 2, say because its owner has replaced it, is skipped. */
#include "api/audit.h"
#include "api/handlers.h"
#include "api/problem.h"
#include "api/query.h"
#include "api/view.h"
#include "base/memory.h"
#include "job/job_id.h"

enum { CURSOR_TEXT_MAX = 2048 };

struct bulk {
    struct exchange *exchange;
    bool is_redrive;
    struct bulk_item *items;
    struct buffer names;  /* ids and tags; the items' slices point into it */
    struct buffer cursor; /* the end of the answer */
    struct bulk_counts counts;
    size_t pending;
    int64_t begin_ms; /* of a redrive at a rate: when the page's first job is due; 0: at once */
};

struct bulk_item {
    struct bulk *bulk;
    struct slice id, tag;
};

static void bulk_free(struct bulk *bulk)
{
    buffer_fini(&bulk->names);
    buffer_fini(&bulk->cursor);
    free(bulk->items);
    free(bulk);
}

/* ---- end ---- */

static void bulk_end(struct bulk *bulk)
{
    struct exchange *exchange = bulk->exchange;
    const struct bulk_counts *counts = &bulk->counts;
    if (counts->matched > 0 && !list_query(exchange)->is_dry_run)
        audit_bulk(exchange, bulk->is_redrive ? "jobs_redriven" : "jobs_cancelled", counts);
    if (counts->unknown > 0) {
        exchange_refuse(
            exchange, 503,
            "%zu of %zu jobs are done, %zu were skipped; of %zu the outcome is unknown. Repeating is safe.",
            counts->done, counts->matched, counts->skipped, counts->unknown);
    } else {
        struct buffer *body = exchange_scratch(exchange);
        buffer_printf(body, "{\"matched\":%zu,\"done\":%zu,\"skipped\":%zu", counts->matched, counts->done,
                      counts->skipped);
        buffer_append(body, buffer_slice(&bulk->cursor));
        buffer_append_byte(body, '}');
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
    }
    bulk_free(bulk);
}

/* Skipped: the job has changed, is gone or leased, would expire at once, or cannot be written anew. */
static bool is_skipped(enum status status)
{
    return status == STATUS_STALE || status == STATUS_NOT_FOUND || status == STATUS_LEASED ||
           status == STATUS_EXISTS || status == STATUS_EXPIRED || status == STATUS_UNREADABLE ||
           status == STATUS_LACKING;
}

static void end_one(const struct bulk_item *item, enum status status)
{
    struct bulk *bulk = item->bulk;
    if (status == STATUS_OK)
        bulk->counts.done++;
    else if (is_skipped(status))
        bulk->counts.skipped++;
    else
        bulk->counts.unknown++;
    audit_one_of_many(bulk->exchange, bulk->is_redrive ? "job_redriven" : "job_cancelled", item->id, status);
    if (--bulk->pending == 0)
        bulk_end(bulk);
}

/* ---- act ---- */

static void on_cancelled(void *arg, enum status status, bool was_leased)
{
    const struct bulk_item *item = arg;
    struct slice topic, job_id;
    (void)was_leased;
    if (status == STATUS_OK && job_key_parse(item->id, &topic, &job_id))
        metrics_ended(api_of(item->bulk->exchange)->options.metrics, topic, METRICS_END_CANCELLED);
    end_one(item, status);
}

static void on_run(void *arg, enum status status, int64_t due_ms)
{
    (void)due_ms;
    end_one(arg, status);
}

/* From the first job of the page to the one with this number. */
static int64_t spread_ms(const struct list_query *query, size_t number)
{
    return ((int64_t)number * query->step_us + 999) / 1000;
}

static void act(struct bulk_item *item)
{
    struct bulk *bulk = item->bulk;
    struct store *store = api_of(bulk->exchange)->options.store;
    int64_t after_ms = spread_ms(list_query(bulk->exchange), (size_t)(item - bulk->items));
    struct store_when when = {bulk->begin_ms != 0, bulk->begin_ms + after_ms};
    if (bulk->is_redrive)
        store_run(store, item->id, item->tag, when, on_run, item);
    else
        store_cancel(store, item->id, item->tag, on_cancelled, item);
}

/* ---- see ---- */

/* The calls borrow ids and tags until their callbacks. */
static bool keep_items(struct bulk *bulk, const struct store_seen *jobs, size_t count)
{
    struct buffer *names = &bulk->names;
    bulk->items = calloc(count + 1, sizeof *bulk->items);
    buffer_reserve(names, names->max);
    if (!bulk->items || names->failed)
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *at = names->data + names->size;
        buffer_append(names, jobs[i].id);
        buffer_append(names, jobs[i].tag);
        bulk->items[i] =
            (struct bulk_item){bulk, {at, jobs[i].id.size}, {at + jobs[i].id.size, jobs[i].tag.size}};
    }
    return !names->failed;
}

/* A page of a redrive at a rate begins where the one before ended. When that time has passed it begins now,
 * so that its jobs are as far apart as those of any other page. */
static void place_page(struct bulk *bulk, size_t count, const struct store_cursor *next, int64_t now_ms)
{
    const struct list_query *query = list_query(bulk->exchange);
    int64_t next_ms = 0;
    if (query->step_us) {
        bulk->begin_ms = query->begin_ms > now_ms ? query->begin_ms : now_ms;
        next_ms = bulk->begin_ms + spread_ms(query, count);
    }
    view_write_cursor(&bulk->cursor, next, next_ms);
}

static void on_seen(void *arg, enum status status, const struct store_seen *jobs, size_t count,
                    struct store_cursor next, int64_t now_ms)
{
    struct bulk *bulk = arg;
    if (status != STATUS_OK) {
        problem_answer_status(bulk->exchange, status, "Repeating the request is safe.");
        bulk_free(bulk);
        return;
    }
    place_page(bulk, count, &next, now_ms);
    bulk->counts.matched = count;
    if (count == 0 || list_query(bulk->exchange)->is_dry_run) {
        bulk_end(bulk);
        return;
    }
    if (!keep_items(bulk, jobs, count)) {
        exchange_refuse(bulk->exchange, 503, "There is no memory for so many jobs; nothing changed.");
        bulk_free(bulk);
        return;
    }
    bulk->pending = count;
    for (size_t i = 0; i < count; i++)
        act(&bulk->items[i]);
}

static void begin(struct exchange *exchange, bool is_redrive)
{
    exchange->key = list_query(exchange)->jobs.topic; /* empty: of all */
    if (problem_answer_unready(exchange))
        return;
    struct bulk *bulk = NEW(struct bulk);
    bulk->exchange = exchange;
    bulk->is_redrive = is_redrive;
    buffer_init_fallible(&bulk->names, (size_t)STORE_LIST_MAX * (JOB_KEY_MAX + JOB_TAG_SIZE));
    buffer_init(&bulk->cursor, CURSOR_TEXT_MAX);
    store_see(api_of(exchange)->options.store, &list_query(exchange)->jobs, on_seen, bulk);
}

void cancel_many_handle(struct exchange *exchange)
{
    if (query_read_cancel(exchange))
        begin(exchange, false);
}

void redrive_handle(struct exchange *exchange)
{
    if (query_read_redrive(exchange))
        begin(exchange, true);
}

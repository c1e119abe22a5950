#include "app/lists.h"

#include <assert.h>

#include "app/audit.h"
#include "app/cursor.h"
#include "app/use_case.h"
#include "base/memory.h"
#include "job/job_id.h"

static_assert((int)APP_PAGE_MAX == (int)STORE_LIST_MAX, "a page of the API is a page of the store");
static_assert((int)APP_CURSOR_ROOM == (int)CURSOR_ROOM, "a cursor fits its room");

bool app_cursor_parse(const struct app *app, struct slice text, struct app_cursor *cursor)
{
    struct store_cursor found;
    if (!cursor_parse(text, store_shards(app->store), cursor->room, &found, &cursor->due_ms))
        return false;
    cursor->is_set = true;
    cursor->began_ms = found.began_ms;
    cursor->state = found.state;
    cursor->shard = found.shard;
    cursor->score = found.score;
    cursor->id = found.id;
    return true;
}

/* Converts the list. The result borrows the same data, the cursor included. */
static struct store_list store_list_of(const struct app_list *list)
{
    const struct app_cursor *from = &list->from;
    return (struct store_list){
        .states = list->states,
        .is_newest_first = list->is_newest_first,
        .topic = list->topic,
        .host = list->host,
        .id_prefix = list->id_prefix,
        .reasons = list->reasons,
        .statuses = list->statuses,
        .label = list->label,
        .after_ms = list->after_ms,
        .before_ms = list->before_ms,
        .max = list->max,
        .from = {.began_ms = from->began_ms,
                 .state = from->state,
                 .has_more = from->is_set,
                 .shard = from->shard,
                 .score = from->score,
                 .id = from->id},
    };
}

/* ---- lists and counts ---- */

struct list_call {
    struct app *app;
    struct slice topic;
    app_job_fn *each;
    app_verdict_fn *fn;
    void *arg;
};

static struct list_call *list_call_new(struct app *app, const struct app_list *list, app_job_fn *each,
                                       app_verdict_fn *fn, void *arg)
{
    struct list_call *call = NEW(struct list_call);
    *call = (struct list_call){app, list->topic, each, fn, arg};
    return call;
}

static void end_list(struct list_call *call, enum status status, int64_t count,
                     const struct store_cursor *next)
{
    char room[CURSOR_TEXT_MAX + 1];
    struct buffer text = {.data = room, .capacity = sizeof room, .max = CURSOR_TEXT_MAX};
    if (status == STATUS_OK) {
        cursor_write(&text, next, 0);
        struct app_verdict verdict = {.end = APP_DONE,
                                      .page = {buffer_slice(&text), next->is_partial, count}};
        call->fn(call->arg, &verdict);
    } else {
        use_case_end(call->app, call->topic, status, NULL, call->fn, call->arg);
    }
    free(call);
}

static void on_list(void *arg, enum status status, const struct store_job *jobs, size_t count,
                    struct store_cursor next)
{
    struct list_call *call = arg;
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        struct app_job job = use_case_job(&jobs[i]);
        call->each(call->arg, &job);
    }
    end_list(call, status, (int64_t)count, &next);
}

void app_list(struct app *app, const struct app_list *list, app_job_fn *each, app_verdict_fn *fn, void *arg)
{
    struct store_list stored = store_list_of(list);
    store_list(app->store, &stored, on_list, list_call_new(app, list, each, fn, arg));
}

static void on_count(void *arg, enum status status, int64_t count, struct store_cursor next)
{
    end_list(arg, status, count, &next);
}

void app_count(struct app *app, const struct app_list *list, app_verdict_fn *fn, void *arg)
{
    struct store_list stored = store_list_of(list);
    store_count(app->store, &stored, on_count, list_call_new(app, list, NULL, fn, arg));
}

/* ---- bulk actions ----
 *
 * 1. see   a page of the list: ids, and for each the tag of the job's current version
 * 2. act   on each job; the store changes a job only if it still has the tag
 * 3. end   when each job has its outcome: the counts, and the cursor of the next page */

struct bulk {
    struct app *app;
    const struct app_caller *caller;
    const struct app_bulk *call;
    app_verdict_fn *fn;
    void *arg;
    bool is_redrive;
    struct bulk_item *items;
    struct buffer names;  /* ids and tags; the items' slices point into this buffer */
    struct buffer cursor; /* cursor of the next page; empty at the end */
    bool is_partial;
    struct app_bulk_counts counts;
    size_t pending;
    int64_t begin_ms; /* for a redrive at a rate: when the page's first job is due; 0: at once */
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

/* 3. end */

static void bulk_end(struct bulk *bulk)
{
    struct app_verdict verdict = {
        .end = bulk->counts.unknown > 0 ? APP_UNKNOWN : APP_DONE,
        .counts = bulk->counts,
        .page = {.cursor = buffer_slice(&bulk->cursor), .is_partial = bulk->is_partial},
    };
    if (bulk->counts.matched > 0 && !bulk->call->is_dry_run)
        audit_bulk(bulk->caller, bulk->is_redrive ? "jobs_redriven" : "jobs_cancelled", bulk->call->filter,
                   &bulk->counts);
    bulk->fn(bulk->arg, &verdict);
    bulk_free(bulk);
}

/* Returns whether the job was skipped, because it has changed, was removed, is leased, would expire at once,
 * or cannot be rewritten. */
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
    audit_one_of_many(bulk->caller, bulk->is_redrive ? "job_redriven" : "job_cancelled", item->id, status);
    if (--bulk->pending == 0)
        bulk_end(bulk);
}

/* 2. act */

static void on_cancelled(void *arg, enum status status, bool was_leased)
{
    const struct bulk_item *item = arg;
    struct slice topic, job_id;
    (void)was_leased;
    if (status == STATUS_OK && job_key_parse(item->id, &topic, &job_id))
        metrics_ended(item->bulk->app->metrics, topic, METRICS_END_CANCELLED);
    end_one(item, status);
}

static void on_run(void *arg, enum status status, int64_t due_ms)
{
    (void)due_ms;
    end_one(arg, status);
}

/* Returns the time from the first job of the page to the job with this number. */
static int64_t spread_ms(const struct bulk *bulk, size_t number)
{
    return ((int64_t)number * bulk->call->step_us + 999) / 1000;
}

static void act_on(struct bulk_item *item)
{
    struct bulk *bulk = item->bulk;
    int64_t after_ms = spread_ms(bulk, (size_t)(item - bulk->items));
    struct store_when when = {bulk->begin_ms != 0, bulk->begin_ms + after_ms};
    if (bulk->is_redrive)
        store_run(bulk->app->store, item->id, item->tag, when, on_run, item);
    else
        store_cancel(bulk->app->store, item->id, item->tag, on_cancelled, item);
}

/* 1. see */

/* Copies ids and tags, because the calls borrow them until their callbacks. */
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

/* Sets the times of a page of a redrive at a rate. The page begins at the time where the previous page ended.
 * If this time has passed, the page begins now, so that its jobs have the same distance as on other pages. */
static void place_page(struct bulk *bulk, size_t count, const struct store_cursor *next, int64_t now_ms)
{
    int64_t from_ms = bulk->call->list.from.due_ms, next_ms = 0;
    if (bulk->call->step_us) {
        bulk->begin_ms = from_ms > now_ms ? from_ms : now_ms;
        next_ms = bulk->begin_ms + spread_ms(bulk, count);
    }
    bulk->is_partial = next->is_partial;
    cursor_write(&bulk->cursor, next, next_ms);
}

static void on_seen(void *arg, enum status status, const struct store_seen *jobs, size_t count,
                    struct store_cursor next, int64_t now_ms)
{
    struct bulk *bulk = arg;
    if (status != STATUS_OK) {
        use_case_end(bulk->app, bulk->call->list.topic, status, NULL, bulk->fn, bulk->arg);
        bulk_free(bulk);
        return;
    }
    place_page(bulk, count, &next, now_ms);
    bulk->counts.matched = count;
    if (count == 0 || bulk->call->is_dry_run) {
        bulk_end(bulk);
        return;
    }
    if (!keep_items(bulk, jobs, count)) {
        use_case_refuse(APP_NO_MEMORY, bulk->fn, bulk->arg);
        bulk_free(bulk);
        return;
    }
    bulk->pending = count;
    for (size_t i = 0; i < count; i++)
        act_on(&bulk->items[i]);
}

static void bulk_begin(bool is_redrive, struct app *app, const struct app_caller *caller,
                       const struct app_bulk *call, app_verdict_fn *fn, void *arg)
{
    if (use_case_is_unready(app, call->list.topic, fn, arg))
        return;
    struct store_list list = store_list_of(&call->list);
    struct bulk *bulk = NEW(struct bulk);
    *bulk = (struct bulk){
        .app = app, .caller = caller, .call = call, .fn = fn, .arg = arg, .is_redrive = is_redrive};
    buffer_init_fallible(&bulk->names, (size_t)STORE_LIST_MAX * (JOB_KEY_MAX + JOB_TAG_SIZE));
    buffer_init(&bulk->cursor, CURSOR_TEXT_MAX);
    store_see(app->store, &list, on_seen, bulk);
}

void app_cancel_many(struct app *app, const struct app_caller *caller, const struct app_bulk *call,
                     app_verdict_fn *fn, void *arg)
{
    bulk_begin(false, app, caller, call, fn, arg);
}

void app_redrive(struct app *app, const struct app_caller *caller, const struct app_bulk *call,
                 app_verdict_fn *fn, void *arg)
{
    bulk_begin(true, app, caller, call, fn, arg);
}

#include "app/lists.h"

#include <assert.h>

#include "app/app_private.h"
#include "base/memory.h"
#include "job/job_id.h"

/* Steps:
 *
 * 1. time  reads the time of Redis, for the first page of a reschedule with a delay
 * 2. see   reads a page of the list: ids, and the tag of each job's current version
 * 3. act   changes each job that still has the tag
 * 4. end   reports the counts and the cursor of the next page, as soon as each job has its outcome
 *
 * A reschedule walks through the waiting jobs in the order of their due times, and moves jobs within this
 * order. It must not find a moved job again. So it first walks through the jobs that are due before the new
 * time, and then through the jobs that are due after it (the two sides of the walk). Jobs that are already
 * due at the new time are left out. */
struct bulk {
    struct app *app;
    const struct app_caller *caller;
    const struct app_bulk *call;
    app_verdict_fn *fn;
    void *arg;
    struct store_list list; /* the list, limited to the current side of the walk */
    struct app_progress progress;
    struct bulk_item *items;
    struct buffer names; /* ids and tags; the items' slices point into this buffer */
    struct list_cursor next;
    char next_id[JOB_KEY_MAX];
    struct app_bulk_counts counts;
    size_t pending;
    int64_t begin_ms; /* redrive at a rate: due time of the page's first job; 0: at once */
};

struct bulk_item {
    struct bulk *bulk;
    struct slice id, tag;
};

static const struct {
    const char *one, *many; /* events of the audit log */
} events[] = {
    [APP_CANCEL] = {"job_cancelled", "jobs_cancelled"},
    [APP_REDRIVE] = {"job_redriven", "jobs_redriven"},
    [APP_RUN] = {"job_run", "jobs_run"},
    [APP_RESCHEDULE] = {"job_rescheduled", "jobs_rescheduled"},
};

static void bulk_free(struct bulk *bulk)
{
    buffer_fini(&bulk->names);
    free(bulk->items);
    free(bulk);
}

static bool has_sides(const struct bulk *bulk)
{
    return bulk->call->action == APP_RESCHEDULE && !(bulk->call->list.filter.states & 1U << JOB_STATE_DEAD);
}

/* Limits the walk to its current side of due_ms (progress.h). Returns whether this side may have jobs. */
static bool limit_to_side(struct bulk *bulk)
{
    const struct app_list *list = &bulk->call->list;
    const struct app_progress *progress = &bulk->progress;
    int64_t until_ms = progress->until_ms > progress->due_ms ? progress->until_ms : progress->due_ms;
    bool is_after = progress->is_second != list->is_newest_first;
    if (!has_sides(bulk))
        return true;
    bulk->list.filter.after_ms =
        is_after && list->filter.after_ms <= until_ms ? until_ms + 1 : list->filter.after_ms;
    bulk->list.filter.before_ms =
        !is_after && (!list->filter.before_ms || list->filter.before_ms > progress->due_ms)
            ? progress->due_ms
            : list->filter.before_ms;
    return !bulk->list.filter.before_ms || bulk->list.filter.after_ms < bulk->list.filter.before_ms;
}

/* When the first side of the walk has ended, continues with the second side. */
static void turn_side(struct bulk *bulk)
{
    if (bulk->next.has_more || !has_sides(bulk) || bulk->progress.is_second)
        return;
    bulk->progress.is_second = true;
    bulk->next.state = store_first_state(bulk->call->list.filter.states);
    bulk->next.shard = 0;
    bulk->next.id = (struct slice){NULL, 0};
    bulk->next.has_more = true;
}

/* 4. end */

static void bulk_end(struct bulk *bulk)
{
    char room[APP_CURSOR_MAX + 1];
    struct buffer cursor = buffer_of(room, sizeof room);
    cursor_write(&cursor, &bulk->next, &bulk->progress);
    struct app_verdict verdict = {
        .end = bulk->counts.unknown > 0 ? STATUS_UNKNOWN : STATUS_OK,
        .counts = bulk->counts,
        .page = {.cursor = buffer_slice(&cursor), .is_partial = bulk->next.is_partial},
    };
    if (bulk->counts.matched > 0 && !bulk->call->is_dry_run)
        audit_bulk(bulk->caller, events[bulk->call->action].many, bulk->call->list.filter.topic,
                   bulk->call->filter, &bulk->counts);
    bulk->fn(bulk->arg, &verdict);
    bulk_free(bulk);
}

static void bulk_fail(struct bulk *bulk, enum status status)
{
    use_case_end(bulk->app, bulk->call->list.filter.topic, status, NULL, bulk->fn, bulk->arg);
    bulk_free(bulk);
}

/* Returns whether the status means that the job was skipped: it has changed, was removed, is leased, would
 * expire at once, or cannot be rewritten, or the quota of its topic is full. */
static bool is_skipped(enum status status)
{
    return status == STATUS_STALE || status == STATUS_NOT_FOUND || status == STATUS_LEASED ||
           status == STATUS_EXISTS || status == STATUS_EXPIRED || status == STATUS_UNREADABLE ||
           status == STATUS_LACKING || status == STATUS_QUOTA;
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
    audit_one_of_many(bulk->caller, events[bulk->call->action].one, item->id, status);
    if (--bulk->pending == 0)
        bulk_end(bulk);
}

/* 3. act */

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

static void on_moved(void *arg, enum status status, int64_t due_ms, int64_t now_ms)
{
    const struct bulk_item *item = arg;
    struct app_progress *progress = &item->bulk->progress;
    (void)now_ms;
    if (status == STATUS_OK && due_ms > progress->until_ms)
        progress->until_ms = due_ms;
    end_one(item, status);
}

/* Returns the time between the due times of the page's first job and of the job with this index. */
static int64_t spread_ms(const struct bulk *bulk, size_t number)
{
    return ((int64_t)number * bulk->call->step_us + 999) / 1000;
}

static struct job_when when_of(const struct bulk_item *item)
{
    const struct bulk *bulk = item->bulk;
    if (bulk->call->action == APP_RESCHEDULE)
        return (struct job_when){true, bulk->progress.due_ms};
    return (struct job_when){bulk->begin_ms != 0,
                             bulk->begin_ms + spread_ms(bulk, (size_t)(item - bulk->items))};
}

static void act_on(struct bulk_item *item)
{
    struct bulk *bulk = item->bulk;
    struct store_change change = {.id = item->id, .tag = item->tag, .is_moved = true, .when = when_of(item)};
    if (bulk->call->action == APP_CANCEL)
        store_cancel(bulk->app->store, item->id, item->tag, on_cancelled, item);
    else if (has_sides(bulk))
        store_change(bulk->app->store, &change, on_moved, item);
    else
        store_run(bulk->app->store, item->id, item->tag, when_of(item), on_run, item);
}

/* 2. see */

static void see_page(struct bulk *);

/* Copies ids and tags, because the calls of the store borrow ids and tags until their callbacks. */
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

/* Stores the beginning of the next page. */
static void keep_next(struct bulk *bulk, const struct list_cursor *next, size_t count)
{
    uint64_t *left = &bulk->progress.left;
    bulk->next = *next;
    assert(next->id.size <= sizeof bulk->next_id);
    if (next->id.size)
        memcpy(bulk->next_id, next->id.data, next->id.size);
    bulk->next.id.data = bulk->next_id;
    turn_side(bulk);
    if (*left && *left <= count)
        bulk->next.has_more = false;
    *left -= *left && bulk->next.has_more ? count : 0;
}

/* Sets the due times of a page of a redrive at a rate. The page's first job is due one step after the
 * previous page's last job, or now if that time has passed. So the steps between jobs are equal, also from
 * one page to the next. */
static void place_page(struct bulk *bulk, size_t count, int64_t now_ms)
{
    struct app_progress *progress = &bulk->progress;
    if (!bulk->call->step_us)
        return;
    bulk->begin_ms = progress->due_ms > now_ms ? progress->due_ms : now_ms;
    progress->due_ms = bulk->begin_ms + spread_ms(bulk, count);
}

static void on_seen(void *arg, enum status status, const struct store_seen *jobs, size_t count,
                    struct list_cursor next, int64_t now_ms)
{
    struct bulk *bulk = arg;
    if (status != STATUS_OK) {
        bulk_fail(bulk, status);
        return;
    }
    bool is_end = !next.has_more;
    place_page(bulk, count, now_ms);
    keep_next(bulk, &next, count);
    if (is_end && count == 0 && bulk->next.has_more) {
        bulk->list.from = bulk->next;
        see_page(bulk);
        return;
    }
    bulk->counts.matched = count;
    if (count == 0 || bulk->call->is_dry_run) {
        bulk_end(bulk);
        return;
    }
    if (!keep_items(bulk, jobs, count)) {
        bulk_fail(bulk, STATUS_NO_MEMORY);
        return;
    }
    bulk->pending = count;
    for (size_t i = 0; i < count; i++)
        act_on(&bulk->items[i]);
}

static void see_page(struct bulk *bulk)
{
    if (limit_to_side(bulk)) {
        store_see(bulk->app->store, &bulk->list, on_seen, bulk);
        return;
    }
    bulk->next = bulk->list.from;
    bulk->next.has_more = false;
    turn_side(bulk);
    bulk->list.from = bulk->next;
    if (bulk->next.has_more && limit_to_side(bulk)) {
        store_see(bulk->app->store, &bulk->list, on_seen, bulk);
        return;
    }
    bulk->next.has_more = false;
    bulk_end(bulk);
}

/* 1. time */

static void on_time(void *arg, enum status status, const struct store_seen *jobs, size_t count,
                    struct list_cursor next, int64_t now_ms)
{
    struct bulk *bulk = arg;
    (void)jobs;
    (void)count;
    (void)next;
    if (status != STATUS_OK) {
        bulk_fail(bulk, status);
        return;
    }
    bulk->progress.due_ms = now_ms + (bulk->call->at_ms ? bulk->call->at_ms + 1 : 0); /* never early */
    see_page(bulk);
}

void app_bulk(struct app *app, const struct app_caller *caller, const struct app_bulk *call,
              app_verdict_fn *fn, void *arg)
{
    if (use_case_is_unready(app, call->list.filter.topic, fn, arg))
        return;
    struct bulk *bulk = NEW(struct bulk);
    *bulk = (struct bulk){.app = app,
                          .caller = caller,
                          .call = call,
                          .fn = fn,
                          .arg = arg,
                          .list = lists_of_store(&call->list),
                          .progress = call->list.from.progress};
    uint64_t *left = &bulk->progress.left;
    *left = *left && *left < call->limit ? *left : call->limit;
    if (*left && *left < bulk->list.max)
        bulk->list.max = *left;
    bulk->list.leaves_begun = call->action == APP_RUN || call->action == APP_RESCHEDULE;
    buffer_init_fallible(&bulk->names, (size_t)STORE_LIST_MAX * (JOB_KEY_MAX + JOB_TAG_SIZE));
    if (call->action == APP_RESCHEDULE && call->has_due_at && bulk->progress.due_ms == 0)
        bulk->progress.due_ms = call->at_ms;
    if (call->action == APP_RESCHEDULE && bulk->progress.due_ms == 0) {
        struct store_list list = bulk->list;
        list.max = 1;
        store_see(bulk->app->store, &list, on_time, bulk);
    } else {
        see_page(bulk);
    }
}

/* ---- dead jobs of the history ---- */

enum {
    AT_ONCE_MAX = 32
    /* Maximum number of jobs that one redrive reads from the history at the same time, so that other reads
     * are not delayed. */
};

/* Steps:
 *
 * 1. see   reads a page of the history: ids of dead jobs, and when each died
 * 2. run   runs each job, unless a later job had the same id
 * 3. end   reports the counts and the cursor of the next page, as soon as each job has its outcome */
struct walk {
    struct app *app;
    const struct app_caller *caller;
    const struct app_bulk *call;
    app_verdict_fn *fn;
    void *arg;
    struct history_position
        next; /* position at which the next page begins; began_ms is 0 if the list ends here */
    struct app_progress progress;
    struct buffer ids;
    struct walk_item {
        struct walk *walk;
        struct rerun_call call;
    } * items;
    size_t count, begun, ended; /* numbers of the page's jobs, of runs that have begun, and of ended runs */
    int64_t begin_ms;           /* due time of the page's first job; 0: at once */
    struct app_bulk_counts counts;
};

static void walk_free(struct walk *walk)
{
    buffer_fini(&walk->ids);
    free(walk->items);
    free(walk);
}

/* 3. end */

static void walk_end(struct walk *walk)
{
    char room[APP_CURSOR_MAX + 1];
    struct buffer cursor = buffer_of(room, sizeof room);
    if (walk->next.began_ms)
        cursor_write_history(&cursor, &walk->next, &walk->progress);
    struct app_verdict verdict = {
        .end = walk->counts.unknown > 0 ? STATUS_UNKNOWN : STATUS_OK,
        .counts = walk->counts,
        .page = {.cursor = buffer_slice(&cursor), .is_of_history = true},
    };
    if (walk->counts.matched > 0 && !walk->call->is_dry_run)
        audit_bulk(walk->caller, "jobs_redriven", walk->call->list.filter.topic, walk->call->filter,
                   &walk->counts);
    walk->fn(walk->arg, &verdict);
    walk_free(walk);
}

static void walk_fail(struct walk *walk, enum status end, const char *why)
{
    walk->fn(walk->arg, &(struct app_verdict){.end = end, .why = slice_of(why)});
    walk_free(walk);
}

/* 2. run */

static void run_next(struct walk *);

/* Returns whether the verdict means that the job is skipped: the call has changed nothing, and a repeated
 * call would change nothing. */
static bool is_rerun_skipped(enum status end)
{
    return end == STATUS_EXISTS || end == STATUS_SAME || end == STATUS_STALE || end == STATUS_ENDED ||
           end == STATUS_NO_BODY || end == STATUS_EXPIRED || end == STATUS_UNREADABLE ||
           end == STATUS_LACKING || end == STATUS_NOT_FOUND || end == STATUS_LEASED ||
           end == STATUS_INVALID || end == STATUS_QUOTA;
}

static void on_rerun(void *arg, const struct app_verdict *verdict)
{
    struct walk *walk = ((struct walk_item *)arg)->walk;
    if (verdict->end == STATUS_OK)
        walk->counts.done++;
    else if (is_rerun_skipped(verdict->end))
        walk->counts.skipped++;
    else
        walk->counts.unknown++;
    walk->ended++;
    run_next(walk);
}

static void run_next(struct walk *walk)
{
    if (walk->ended == walk->count) {
        walk_end(walk);
        return;
    }
    if (walk->begun == walk->count)
        return;
    struct walk_item *item = &walk->items[walk->begun++];
    rerun(walk->app, walk->caller, &item->call, on_rerun, item);
}

/* 1. see */

/* Sets the due times of a redrive at a rate. The page's first job is due one step after the previous page's
 * last job, or now if that time has passed. */
static void place_rows(struct walk *walk)
{
    int64_t now_ms = app_now_ms(walk->app), step_us = walk->call->step_us;
    struct app_progress *progress = &walk->progress;
    if (!step_us)
        return;
    walk->begin_ms = progress->due_ms > now_ms ? progress->due_ms : now_ms;
    progress->due_ms = walk->begin_ms + ((int64_t)walk->count * step_us + 999) / 1000;
    for (size_t i = 0; i < walk->count; i++)
        walk->items[i].call.when =
            (struct job_when){true, walk->begin_ms + ((int64_t)i * step_us + 999) / 1000};
}

/* Copies the ids, because the page is valid only until the callback returns. */
static bool keep_rows(struct walk *walk, const struct history_page *page)
{
    size_t bytes = 0;
    for (size_t i = 0; i < page->count; i++)
        bytes += page->rows[i].id.size;
    walk->items = calloc(page->count + 1, sizeof *walk->items);
    buffer_init_fallible(&walk->ids, bytes + 1);
    buffer_reserve(&walk->ids, bytes + 1);
    if (!walk->items || walk->ids.failed)
        return false;
    walk->count = page->count;
    for (size_t i = 0; i < page->count; i++) {
        const struct history_row *row = &page->rows[i];
        struct slice id = {walk->ids.data + walk->ids.size, row->id.size};
        buffer_append(&walk->ids, row->id);
        walk->items[i] =
            (struct walk_item){walk, {.id = id, .is_one_of_many = true, .ended_ms = row->ended_ms}};
    }
    return true;
}

/* Stores the beginning of the next page, unless the limit of the action is reached. */
static void keep_next_row(struct walk *walk, const struct history_page *page)
{
    uint64_t *left = &walk->progress.left;
    bool is_last = !page->next.is_set || (*left && *left <= page->count);
    if (is_last) {
        walk->next.began_ms = 0;
        return;
    }
    *left -= *left ? page->count : 0;
    walk->next.ended_ms = page->next.ended_ms;
    walk->next.number = page->next.row;
}

static void on_page(void *arg, enum status status, const struct history_page *page, const char *why)
{
    struct walk *walk = arg;
    if (status != STATUS_OK) {
        walk_fail(walk, ended_status(status), why);
        return;
    }
    if (!keep_rows(walk, page)) {
        walk_fail(walk, STATUS_NO_MEMORY, "");
        return;
    }
    keep_next_row(walk, page);
    place_rows(walk);
    walk->counts.matched = walk->count;
    if (walk->count == 0 || walk->call->is_dry_run) {
        walk_end(walk);
    } else {
        /* Runs up to AT_ONCE_MAX jobs at the same time. When a job has its outcome, the next job begins. */
        size_t first = walk->count < AT_ONCE_MAX ? walk->count : AT_ONCE_MAX;
        for (size_t i = 0; i < first; i++) {
            struct walk_item *item = &walk->items[walk->begun++];
            rerun(walk->app, walk->caller, &item->call, on_rerun, item);
        }
    }
}

void app_redrive_history(struct app *app, const struct app_caller *caller, const struct app_bulk *call,
                         app_verdict_fn *fn, void *arg)
{
    if (use_case_is_unready(app, call->list.filter.topic, fn, arg))
        return;
    if (!app->history) {
        use_case_refuse(STATUS_NO_HISTORY, fn, arg);
        return;
    }
    const struct app_cursor *from = &call->list.from;
    struct walk *walk = NEW(struct walk);
    *walk = (struct walk){.app = app, .caller = caller, .call = call, .fn = fn, .arg = arg};
    walk->progress = from->progress;
    walk->next.began_ms = from->is_set ? from->at.began_ms : app_now_ms(app);
    uint64_t *left = &walk->progress.left;
    *left = *left && *left < call->limit ? *left : call->limit;
    struct history_list page = lists_of_history(&call->list, walk->next.began_ms);
    if (*left && *left < page.max)
        page.max = *left;
    history_list(app->history, &page, on_page, walk);
}

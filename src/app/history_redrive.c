#include "app/history_redrive.h"

#include "app/audit.h"
#include "app/cursor.h"
#include "app/ended.h"
#include "app/lists_private.h"
#include "app/rerun.h"
#include "app/use_case.h"
#include "base/memory.h"

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
        audit_bulk(walk->caller, "jobs_redriven", walk->call->filter, &walk->counts);
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
static bool is_skipped(enum status end)
{
    return end == STATUS_EXISTS || end == STATUS_SAME || end == STATUS_STALE || end == STATUS_ENDED ||
           end == STATUS_NO_BODY || end == STATUS_EXPIRED || end == STATUS_UNREADABLE ||
           end == STATUS_LACKING || end == STATUS_NOT_FOUND || end == STATUS_LEASED || end == STATUS_INVALID;
}

static void on_rerun(void *arg, const struct app_verdict *verdict)
{
    struct walk *walk = ((struct walk_item *)arg)->walk;
    if (verdict->end == STATUS_OK)
        walk->counts.done++;
    else if (is_skipped(verdict->end))
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

/* Runs up to AT_ONCE_MAX jobs at the same time. When a job has its outcome, the next job begins. */
static void run_all(struct walk *walk)
{
    size_t first = walk->count < AT_ONCE_MAX ? walk->count : AT_ONCE_MAX;
    for (size_t i = 0; i < first; i++) {
        struct walk_item *item = &walk->items[walk->begun++];
        rerun(walk->app, walk->caller, &item->call, on_rerun, item);
    }
}

/* 1. see */

/* Sets the due times of a redrive at a rate. The page's first job is due one step after the previous page's
 * last job, or now if that time has passed. */
static void place_page(struct walk *walk)
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
static bool keep_items(struct walk *walk, const struct history_page *page)
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
static void keep_next(struct walk *walk, const struct history_page *page)
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
    if (!keep_items(walk, page)) {
        walk_fail(walk, STATUS_NO_MEMORY, "");
        return;
    }
    keep_next(walk, page);
    place_page(walk);
    walk->counts.matched = walk->count;
    if (walk->count == 0 || walk->call->is_dry_run)
        walk_end(walk);
    else
        run_all(walk);
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

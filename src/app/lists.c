#include "app/lists.h"

#include <assert.h>

#include "app/app_private.h"
#include "base/memory.h"

static_assert((int)APP_PAGE_MAX == (int)STORE_LIST_MAX, "the store can return a page of the API in one call");
static_assert((int)APP_CURSOR_ROOM == (int)CURSOR_ROOM, "every cursor fits into APP_CURSOR_ROOM");

bool app_cursor_parse(const struct app *app, struct slice text, struct app_cursor *cursor)
{
    struct history_position position;
    if (cursor_parse_history(text, &position, &cursor->progress)) {
        cursor->is_set = cursor->is_of_history = true;
        cursor->at.began_ms = position.began_ms;
        cursor->ended_ms = position.ended_ms;
        cursor->number = position.number;
        return true;
    }
    cursor->is_set =
        cursor_parse(text, store_shards(app->store), cursor->room, &cursor->at, &cursor->progress);
    return cursor->is_set;
}

struct store_list lists_of_store(const struct app_list *list)
{
    return (struct store_list){.filter = list->filter,
                               .is_newest_first = list->is_newest_first,
                               .max = list->max,
                               .from = list->from.at};
}

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
    *call = (struct list_call){app, list->filter.topic, each, fn, arg};
    return call;
}

static void end_list(struct list_call *call, enum status status, int64_t count,
                     const struct list_cursor *next)
{
    char room[APP_CURSOR_MAX + 1];
    struct buffer text = buffer_of(room, sizeof room);
    if (status == STATUS_OK) {
        cursor_write(&text, next, &(struct app_progress){.left = 0});
        struct app_verdict verdict = {
            .end = STATUS_OK,
            .page = {.cursor = buffer_slice(&text), .is_partial = next->is_partial, .count = count}};
        call->fn(call->arg, &verdict);
    } else {
        use_case_end(call->app, call->topic, status, NULL, call->fn, call->arg);
    }
    free(call);
}

static void on_list(void *arg, enum status status, const struct stored_job *jobs, size_t count,
                    struct list_cursor next)
{
    struct list_call *call = arg;
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        call->each(call->arg, &jobs[i]);
    end_list(call, status, (int64_t)count, &next);
}

void app_list(struct app *app, const struct app_list *list, app_job_fn *each, app_verdict_fn *fn, void *arg)
{
    if (list->is_of_history) {
        lists_page_history(app, list, each, fn, arg);
        return;
    }
    struct store_list stored = lists_of_store(list);
    store_list(app->store, &stored, on_list, list_call_new(app, list, each, fn, arg));
}

static void on_count(void *arg, enum status status, int64_t count, struct list_cursor next)
{
    end_list(arg, status, count, &next);
}

void app_count(struct app *app, const struct app_list *list, app_verdict_fn *fn, void *arg)
{
    if (list->is_of_history) {
        lists_count_history(app, list, fn, arg);
        return;
    }
    struct store_list stored = lists_of_store(list);
    store_count(app->store, &stored, on_count, list_call_new(app, list, NULL, fn, arg));
}

/* ---- the history ---- */

static_assert((int)APP_PAGE_MAX == (int)HISTORY_PAGE_MAX,
              "the history can return a page of the API in one call");
static_assert((int)APP_STATS_STEPS_MAX == (int)HISTORY_STEPS_MAX,
              "the history can count as many steps as a client may request");

/* A call of the history, with the data of its use case. */
struct history_call {
    const struct app_caller *caller; /* removal: the client that requested it */
    struct slice topic, filter;      /* removal: the topic, and the filter of the request */
    int64_t began_ms;                /* time at which the list began */
    app_job_fn *each;
    app_verdict_fn *fn;
    void *arg;
};

static struct history_call *history_call_new(app_verdict_fn *fn, void *arg)
{
    struct history_call *call = NEW(struct history_call);
    *call = (struct history_call){.fn = fn, .arg = arg};
    return call;
}

static void history_call_end(struct history_call *call, const struct app_verdict *verdict)
{
    call->fn(call->arg, verdict);
    free(call);
}

static void history_call_fail(struct history_call *call, enum status status, const char *why)
{
    history_call_end(call, &(struct app_verdict){.end = ended_status(status), .why = slice_of(why)});
}

/* Returns true after ending the use case with NO_HISTORY. */
static bool is_off(const struct app *app, app_verdict_fn *fn, void *arg)
{
    if (!app->history)
        use_case_refuse(STATUS_NO_HISTORY, fn, arg);
    return !app->history;
}

/* ---- lists ---- */

static void on_history_page(void *arg, enum status status, const struct history_page *page, const char *why)
{
    struct history_call *call = arg;
    char room[APP_CURSOR_MAX + 1];
    struct buffer text = buffer_of(room, sizeof room);
    if (status != STATUS_OK) {
        history_call_fail(call, status, why);
        return;
    }
    for (size_t i = 0; i < page->count; i++) {
        struct stored_job job = ended_job(&page->rows[i]);
        call->each(call->arg, &job);
    }
    if (page->next.is_set)
        cursor_write_history(&text,
                             &(struct history_position){call->began_ms, page->next.ended_ms, page->next.row},
                             &(struct app_progress){.left = 0});
    struct app_verdict verdict = {
        .end = STATUS_OK,
        .page = {.cursor = buffer_slice(&text), .count = (int64_t)page->count, .is_of_history = true}};
    history_call_end(call, &verdict);
}

struct history_list lists_of_history(const struct app_list *list, int64_t began_ms)
{
    const struct app_cursor *from = &list->from;
    struct history_list page = {
        .filter = list->filter,
        .is_newest_first = list->is_newest_first,
        .max = list->max,
        .from = {from->is_set, from->ended_ms, from->number},
    };
    if (!page.filter.before_ms || page.filter.before_ms > began_ms)
        page.filter.before_ms = began_ms + 1;
    return page;
}

void lists_page_history(struct app *app, const struct app_list *list, app_job_fn *each, app_verdict_fn *fn,
                        void *arg)
{
    if (is_off(app, fn, arg))
        return;
    struct history_call *call = history_call_new(fn, arg);
    call->each = each;
    call->began_ms = list->from.is_set ? list->from.at.began_ms : app_now_ms(app);
    struct history_list page = lists_of_history(list, call->began_ms);
    page.has_bodies = true;
    history_list(app->history, &page, on_history_page, call);
}

/* ---- counts ---- */

static void on_history_count(void *arg, enum status status, const struct outcome_counts *counts,
                             const char *why)
{
    struct history_call *call = arg;
    if (status != STATUS_OK) {
        history_call_fail(call, status, why);
        return;
    }
    struct app_verdict verdict = {
        .end = STATUS_OK,
        .outcomes = counts,
        .outcome_count = 1,
        .page = {.count = counts->delivered + counts->cancelled + counts->dead,
                 .is_partial = counts->is_partial,
                 .is_of_history = true},
    };
    history_call_end(call, &verdict);
}

void lists_count_history(struct app *app, const struct app_list *list, app_verdict_fn *fn, void *arg)
{
    if (is_off(app, fn, arg))
        return;
    history_count(app->history, &list->filter, on_history_count, history_call_new(fn, arg));
}

/* ---- statistics ---- */

static void on_stats(void *arg, enum status status, const struct outcome_counts *steps, size_t count,
                     const char *why)
{
    struct history_call *call = arg;
    if (status != STATUS_OK) {
        history_call_fail(call, status, why);
        return;
    }
    struct app_verdict verdict = {.end = STATUS_OK, .outcomes = steps, .outcome_count = count};
    for (size_t i = 0; i < count; i++)
        verdict.page.is_partial = verdict.page.is_partial || steps[i].is_partial;
    history_call_end(call, &verdict);
}

void app_stats(struct app *app, const struct outcome_steps *stats, app_verdict_fn *fn, void *arg)
{
    if (is_off(app, fn, arg))
        return;
    history_stats(app->history, stats, on_stats, history_call_new(fn, arg));
}

/* ---- removal ---- */

static void on_deleted(void *arg, enum status status, size_t deleted, bool has_more, const char *why)
{
    struct history_call *call = arg;
    audit_removal(call->caller, call->topic, call->filter, status == STATUS_OK ? (int64_t)deleted : -1);
    if (status != STATUS_OK) {
        history_call_fail(call, status, why);
        return;
    }
    history_call_end(call, &(struct app_verdict){.end = STATUS_OK,
                                                 .page = {.count = (int64_t)deleted, .has_more = has_more}});
}

void app_remove_history(struct app *app, const struct app_caller *caller, const struct app_removal *removal,
                        app_verdict_fn *fn, void *arg)
{
    if (is_off(app, fn, arg))
        return;
    struct history_call *call = history_call_new(fn, arg);
    struct job_filter filter = {
        .states = removal->states, .topic = removal->topic, .before_ms = removal->before_ms};
    call->caller = caller;
    call->topic = removal->topic;
    call->filter = removal->filter;
    history_delete(app->history, &filter, on_deleted, call);
}

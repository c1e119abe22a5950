#include "app/lists.h"

#include <assert.h>

#include "app/cursor.h"
#include "app/lists_private.h"
#include "app/use_case.h"
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

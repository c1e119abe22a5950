#include "app/workflows.h"

#include <stdint.h>

#include "app/app_private.h"
#include "base/encoding.h"
#include "base/memory.h"
#include "job/job.h"
#include "job/job_id.h"
#include "store/workflow.h"

bool app_workflow_admit(struct app *app, const struct app_caller *caller, const struct job *job,
                        app_verdict_fn *fn, void *arg)
{
    if (!app_caller_reaches(caller, job->topic)) {
        fn(arg, &(struct app_verdict){.end = STATUS_NOT_REACHED, .topic = job->topic});
        return false;
    }
    return !use_case_is_target_refused(app, job, fn, arg) && !use_case_is_unready(app, job->topic, fn, arg);
}

/* ---- begin ---- */

struct workflow_beginning {
    struct app *app;
    struct workflow_begin begin;
    app_workflow_begun_fn *fn;
    void *arg;
};

static void on_begun(void *arg, enum status status, const struct workflow_begun *begun)
{
    struct workflow_beginning *beginning = arg;
    struct problem why;
    if (status == STATUS_OK && begun->is_new)
        use_case_count_accepted(beginning->app, beginning->begin.first.job);
    else if (status == STATUS_OK)
        status = STATUS_REPEATED;
    struct app_verdict verdict = use_case_verdict(beginning->app, beginning->begin.id, status, &why);
    beginning->fn(beginning->arg, &verdict, begun ? begun->made_ms : 0, begun ? begun->first_job : SLICE(""));
    free(beginning);
}

void app_workflow_begin(struct app *app, const struct workflow_begin *begin, app_workflow_begun_fn *fn,
                        void *arg)
{
    struct workflow_beginning *beginning = NEW(struct workflow_beginning);
    beginning->app = app;
    beginning->fn = fn;
    beginning->arg = arg;
    beginning->begin = *begin;
    workflow_begin(app->store, &beginning->begin, on_begun, beginning);
}

/* ---- append ---- */

struct workflow_appending {
    struct app *app;
    struct slice id;
    const struct workflow_entry *entries;
    size_t count;
    app_workflow_appended_fn *fn;
    void *arg;
};

static void on_appended(void *arg, enum status status, const struct slice *firsts)
{
    struct workflow_appending *appending = arg;
    struct problem why;
    for (size_t i = 0; status == STATUS_OK && i < appending->count; i++)
        if (!firsts || firsts[i].size == 0)
            use_case_count_accepted(appending->app, appending->entries[i].job);
    struct app_verdict verdict = use_case_verdict(appending->app, appending->id, status, &why);
    appending->fn(appending->arg, &verdict, firsts);
    free(appending);
}

void app_workflow_append(struct app *app, struct slice id, const struct workflow_entry *entries, size_t count,
                         app_workflow_appended_fn *fn, void *arg)
{
    struct workflow_appending *appending = NEW(struct workflow_appending);
    *appending = (struct workflow_appending){
        .app = app, .id = id, .entries = entries, .count = count, .fn = fn, .arg = arg};
    workflow_append(app->store, id, entries, count, on_appended, appending);
}

/* ---- end ---- */

struct workflow_ending {
    struct app *app;
    const struct app_caller *caller;
    struct slice id;
    const struct workflow_entry *for_parent;
    bool is_cancelled;
    app_verdict_fn *fn;
    void *arg;
};

static void on_ended(void *arg, enum status status, int64_t made_ms)
{
    struct workflow_ending *ending = arg;
    (void)made_ms;
    if (ending->is_cancelled)
        audit(ending->caller, "workflow_cancelled", "workflow", ending->id, status);
    if (status == STATUS_OK && ending->for_parent)
        use_case_count_accepted(ending->app, ending->for_parent->job);
    use_case_end(ending->app, ending->id, status, NULL, ending->fn, ending->arg);
    free(ending);
}

void app_workflow_end(struct app *app, const struct app_caller *caller, const struct app_workflow_end *end,
                      app_verdict_fn *fn, void *arg)
{
    struct slice topic, workflow_id;
    slice_cut(end->id, '/', &topic, &workflow_id);
    if (!app_caller_reaches(caller, topic)) {
        fn(arg, &(struct app_verdict){.end = STATUS_NOT_REACHED, .topic = topic});
        return;
    }
    if (use_case_is_unready(app, topic, fn, arg))
        return;
    struct workflow_ending *ending = NEW(struct workflow_ending);
    *ending = (struct workflow_ending){.app = app,
                                       .caller = caller,
                                       .id = end->id,
                                       .for_parent = end->for_parent,
                                       .is_cancelled = end->is_cancelled,
                                       .fn = fn,
                                       .arg = arg};
    workflow_end(app->store, end->id, end->is_cancelled ? WORKFLOW_CANCELLED : WORKFLOW_SUCCEEDED,
                 end->result, end->for_parent, on_ended, ending);
}

enum { PAGES_MAX = 10 /* maximum number of pages of the store that a page has */ };

/* ---- one ---- */

struct workflow_reading {
    struct app *app;
    struct slice id;
    app_workflow_fn *fn;
    void *arg;
};

static void on_workflow(void *arg, enum status status, const struct workflow *workflow)
{
    struct workflow_reading *reading = arg;
    struct problem why;
    struct app_verdict verdict = use_case_verdict(reading->app, reading->id, status, &why);
    reading->fn(reading->arg, &verdict, workflow);
    free(reading);
}

void app_workflow_find(struct app *app, const struct workflow_query *query, app_workflow_fn *fn, void *arg)
{
    struct workflow_reading *reading = NEW(struct workflow_reading);
    *reading = (struct workflow_reading){.app = app, .id = query->id, .fn = fn, .arg = arg};
    workflow_read(app->store, query, on_workflow, reading);
}

void app_workflow_read(struct app *app, struct slice id, bool with_elements, app_workflow_fn *fn, void *arg)
{
    const struct workflow_query query = {.id = id, .texts_max = with_elements ? INT64_MAX : 0};
    app_workflow_find(app, &query, fn, arg);
}

/* ---- pages ---- */

/* A page of the API. It may need several pages of the store, because one of these ends with its shard. */
struct workflow_listing {
    struct app *app;
    struct workflow_list list;
    struct app_walk walk;
    size_t left;
    enum status status;
    app_workflow_each_fn *each;
    app_verdict_fn *fn;
    void *arg;
};

bool app_workflow_cursor_parse(const struct app *app, struct slice text, struct workflow_cursor *cursor)
{
    struct buffer room = buffer_of(cursor->room, sizeof cursor->room);
    struct slice id;
    int64_t made_ms;
    return cursor_parse_place(text, store_shards(app->store), &room, &cursor->shard, &cursor->place) &&
           (cursor->place.size == 0 || workflow_place_parse(cursor->place, &id, &made_ms));
}

void app_workflow_cursor_write(const struct app *app, struct slice id, int64_t made_ms, struct buffer *text)
{
    char room[sizeof((struct workflow_cursor *)NULL)->room];
    struct buffer place = buffer_of(room, sizeof room);
    struct slice owner, rest;
    slice_cut(id, '/', &owner, &rest);
    buffer_printf(&place, "%.*s/%lld", SLICE_ARG(id), (long long)made_ms);
    cursor_write_place(text, store_shard_number(app->store, owner), buffer_slice(&place));
}

static void on_workflows(void *arg, enum status status, const struct workflow *workflows, size_t count,
                         struct workflow_cursor next)
{
    struct workflow_listing *listing = arg;
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        listing->each(listing->arg, &workflows[i]);
    listing->left -= count;
    listing->status = status;
    app_walk_keep(&listing->walk, next.shard, next.place);
    app_walk_on(&listing->walk, status == STATUS_OK && listing->left > 0);
}

static void listing_read(void *arg)
{
    struct workflow_listing *listing = arg;
    listing->list.max = listing->left;
    listing->list.from.shard = listing->walk.shard;
    listing->list.from.place = listing->walk.place;
    workflow_list(listing->app->store, &listing->list, on_workflows, listing);
}

static void listing_end(void *arg)
{
    struct workflow_listing *listing = arg;
    struct buffer cursor;
    buffer_init(&cursor, APP_CURSOR_MAX);
    if (listing->status == STATUS_OK) {
        cursor_write_place(&cursor, listing->walk.shard, listing->walk.place);
        listing->fn(listing->arg,
                    &(struct app_verdict){.end = STATUS_OK, .page = {.cursor = buffer_slice(&cursor)}});
    } else {
        use_case_end(listing->app, SLICE(""), listing->status, NULL, listing->fn, listing->arg);
    }
    buffer_fini(&cursor);
    free(listing);
}

void app_workflow_list(struct app *app, const struct workflow_list *list, app_workflow_each_fn *each,
                       app_verdict_fn *fn, void *arg)
{
    struct workflow_listing *listing = NEW(struct workflow_listing);
    *listing = (struct workflow_listing){
        .app = app, .list = *list, .left = list->max, .each = each, .fn = fn, .arg = arg};
    listing->walk =
        (struct app_walk){.page = listing_read, .end = listing_end, .arg = listing, .pages_max = PAGES_MAX};
    app_walk_keep(&listing->walk, list->from.shard, list->from.place);
    app_walk_begin(&listing->walk);
}

/* ---- waits for events: wait ---- */

struct workflow_waiting_call {
    struct app *app;
    struct slice id;
    app_workflow_waiting_fn *fn;
    void *arg;
};

static void on_waiting(void *arg, enum status status, const struct workflow_waiting *waiting)
{
    struct workflow_waiting_call *call = arg;
    struct problem why;
    struct app_verdict verdict = use_case_verdict(call->app, call->id, status, &why);
    call->fn(call->arg, &verdict, waiting->kept);
    free(call);
}

void app_workflow_wait(struct app *app, const struct workflow_wait *wait, app_workflow_waiting_fn *fn,
                       void *arg)
{
    struct workflow_waiting_call *call = NEW(struct workflow_waiting_call);
    *call = (struct workflow_waiting_call){.app = app, .id = wait->id, .fn = fn, .arg = arg};
    workflow_wait(app->store, wait, on_waiting, call);
}

/* ---- waits for events: who waits ---- */

struct workflow_waiters_call {
    struct app *app;
    struct slice owner;
    app_workflow_waiters_fn *fn;
    void *arg;
};

static void on_waiters(void *arg, enum status status, const struct workflow_waiter *waiters, size_t count,
                       struct slice next)
{
    struct workflow_waiters_call *call = arg;
    struct problem why;
    struct app_verdict verdict = use_case_verdict(call->app, call->owner, status, &why);
    call->fn(call->arg, &verdict, waiters, count, next);
    free(call);
}

void app_workflow_waiters(struct app *app, const struct workflow_waiters_query *query,
                          app_workflow_waiters_fn *fn, void *arg)
{
    struct workflow_waiters_call *call = NEW(struct workflow_waiters_call);
    *call = (struct workflow_waiters_call){.app = app, .owner = query->owner, .fn = fn, .arg = arg};
    workflow_waiters(app->store, query, on_waiters, call);
}

/* ---- waits for events: notify ---- */

struct workflow_notify_call {
    struct app *app;
    struct slice owner;
    const struct workflow_notice *notices;
    size_t count;
    app_workflow_notified_fn *fn;
    void *arg;
};

static void on_notified(void *arg, enum status status, const struct workflow_notified *notified)
{
    struct workflow_notify_call *call = arg;
    struct problem why;
    for (size_t i = 0; status == STATUS_OK && i < call->count; i++)
        if (notified->was_waiting[i])
            use_case_count_accepted(call->app, call->notices[i].entry.job);
    struct app_verdict verdict = use_case_verdict(call->app, call->owner, status, &why);
    call->fn(call->arg, &verdict, notified->was_waiting);
    free(call);
}

void app_workflow_notify(struct app *app, const struct workflow_notify *notify, app_workflow_notified_fn *fn,
                         void *arg)
{
    struct workflow_notify_call *call = NEW(struct workflow_notify_call);
    *call = (struct workflow_notify_call){.app = app,
                                          .owner = notify->owner,
                                          .notices = notify->notices,
                                          .count = notify->count,
                                          .fn = fn,
                                          .arg = arg};
    workflow_notify(app->store, notify, on_notified, call);
}

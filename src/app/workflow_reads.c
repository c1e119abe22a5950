#include "app/workflow_reads.h"

#include <stdint.h>

#include "app/cursor.h"
#include "app/use_case.h"
#include "base/base64.h"
#include "base/memory.h"
#include "job/job_id.h"
#include "store/workflow.h"

enum { CALLS_MAX = 10 /* maximum number of store calls for one page */ };

/* ---- one ---- */

struct workflow_reading {
    struct app *app;
    struct slice id;
    const struct workflow *workflow;
    app_workflow_fn *fn;
    void *arg;
};

static void reading_end(void *arg, const struct app_verdict *verdict)
{
    const struct workflow_reading *reading = arg;
    reading->fn(reading->arg, verdict, reading->workflow);
}

static void on_workflow(void *arg, enum status status, const struct workflow *workflow)
{
    struct workflow_reading *reading = arg;
    reading->workflow = workflow;
    use_case_end(reading->app, reading->id, status, NULL, reading_end, reading);
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

struct workflow_listing {
    struct app *app;
    struct workflow_list list;
    size_t left, calls;
    app_workflow_each_fn *each;
    app_verdict_fn *fn;
    void *arg;
};

bool app_workflow_cursor_parse(const struct app *app, struct slice text, struct workflow_cursor *cursor)
{
    struct buffer plain = buffer_of(cursor->room, sizeof cursor->room);
    struct slice number, id;
    uint64_t shard;
    int64_t made_ms;
    if (!base64url_decode(text, &plain) || !slice_cut(buffer_slice(&plain), '@', &number, &cursor->place) ||
        !slice_to_number(number, store_shards(app->store) - 1, &shard))
        return false;
    cursor->shard = shard;
    return cursor->place.size == 0 || workflow_place_parse(cursor->place, &id, &made_ms);
}

void app_workflow_cursor_write(const struct app *app, struct slice id, int64_t made_ms, struct buffer *text)
{
    struct buffer plain;
    struct slice owner, rest;
    slice_cut(id, '/', &owner, &rest);
    buffer_init(&plain, sizeof((struct workflow_cursor *)NULL)->room);
    buffer_printf(&plain, "%zu@%.*s/%lld", store_shard_number(app->store, owner), SLICE_ARG(id),
                  (long long)made_ms);
    base64url_append(text, buffer_slice(&plain));
    buffer_fini(&plain);
}

static void write_cursor(struct buffer *text, struct workflow_cursor next)
{
    struct buffer plain;
    if (next.place.size == 0 && next.shard == 0)
        return;
    buffer_init(&plain, sizeof((struct workflow_cursor *)NULL)->room);
    buffer_printf(&plain, "%zu@", next.shard);
    buffer_append(&plain, next.place);
    base64url_append(text, buffer_slice(&plain));
    buffer_fini(&plain);
}

static void listing_end(struct workflow_listing *listing, enum status status, struct workflow_cursor next)
{
    struct buffer cursor;
    buffer_init(&cursor, CURSOR_TEXT_MAX);
    if (status == STATUS_OK) {
        write_cursor(&cursor, next);
        listing->fn(listing->arg,
                    &(struct app_verdict){.end = STATUS_OK, .page = {.cursor = buffer_slice(&cursor)}});
    } else {
        use_case_end(listing->app, SLICE(""), status, NULL, listing->fn, listing->arg);
    }
    buffer_fini(&cursor);
    free(listing);
}

static void listing_ask(struct workflow_listing *listing);

/* Copies the position. Returns false if it is too long. */
static bool keep_position(struct workflow_listing *listing, struct workflow_cursor next)
{
    struct workflow_cursor *from = &listing->list.from;
    struct buffer room = buffer_of(from->room, sizeof from->room);
    buffer_append(&room, next.place);
    from->shard = next.shard;
    from->place = buffer_slice(&room);
    return !room.failed;
}

static void on_workflows(void *arg, enum status status, const struct workflow *workflows, size_t count,
                         struct workflow_cursor next)
{
    struct workflow_listing *listing = arg;
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        listing->each(listing->arg, &workflows[i]);
    listing->left -= count;
    bool is_end = next.place.size == 0 && next.shard == 0;
    if (status == STATUS_OK && !is_end && listing->left > 0 && ++listing->calls < CALLS_MAX &&
        keep_position(listing, next))
        listing_ask(listing);
    else
        listing_end(listing, status, next);
}

static void listing_ask(struct workflow_listing *listing)
{
    listing->list.max = listing->left;
    workflow_list(listing->app->store, &listing->list, on_workflows, listing);
}

void app_workflow_list(struct app *app, const struct workflow_list *list, app_workflow_each_fn *each,
                       app_verdict_fn *fn, void *arg)
{
    struct workflow_listing *listing = NEW(struct workflow_listing);
    *listing = (struct workflow_listing){
        .app = app, .list = *list, .left = list->max, .each = each, .fn = fn, .arg = arg};
    listing_ask(listing);
}

/* receivers.c - lists receivers, closes a circuit breaker on request, and sums up the impaired receivers. */
#include "app/app_private.h"
#include "app/overview.h"
#include "base/memory.h"

enum { RECEIVER_CURSOR_MAX = 64 };

bool app_receiver_cursor_parse(const struct app *app, struct slice text, struct receiver_cursor *cursor)
{
    return cursor_parse_receiver(text, store_shards(app->store), cursor);
}

struct receiver_call {
    struct app *app;
    const struct app_caller *caller; /* NULL if the call changes nothing */
    struct slice name;
    app_receiver_fn *each;
    app_verdict_fn *fn;
    void *arg;
};

static struct receiver_call *receiver_call_new(struct app *app, const struct app_caller *caller,
                                               struct slice name, app_receiver_fn *each, app_verdict_fn *fn,
                                               void *arg)
{
    struct receiver_call *call = NEW(struct receiver_call);
    *call = (struct receiver_call){app, caller, name, each, fn, arg};
    return call;
}

static void on_receivers(void *arg, enum status status, const struct receiver_record *receivers, size_t count,
                         struct receiver_cursor next)
{
    struct receiver_call *call = arg;
    char room[RECEIVER_CURSOR_MAX + 1];
    struct buffer text = buffer_of(room, sizeof room);
    if (status == STATUS_OK) {
        for (size_t i = 0; i < count; i++)
            call->each(call->arg, &receivers[i]);
        if (next.version || next.shard)
            cursor_write_receiver(&text, &next);
        call->fn(call->arg, &(struct app_verdict){.end = STATUS_OK, .page = {.cursor = buffer_slice(&text)}});
    } else {
        use_case_end(call->app, call->name, status, NULL, call->fn, call->arg);
    }
    free(call);
}

void app_receivers(struct app *app, size_t max, struct receiver_cursor from, app_receiver_fn *each,
                   app_verdict_fn *fn, void *arg)
{
    struct store_receivers receivers = {.max = max, .from = from};
    store_receivers(app->store, &receivers, on_receivers,
                    receiver_call_new(app, NULL, SLICE(""), each, fn, arg));
}

static void on_closed(void *arg, enum status status, const struct receiver_record *receiver)
{
    struct receiver_call *call = arg;
    audit(call->caller, "receiver_closed", "receiver", call->name, status);
    if (status == STATUS_OK)
        call->each(call->arg, receiver);
    use_case_end(call->app, call->name, status, NULL, call->fn, call->arg);
    free(call);
}

void app_receiver_close(struct app *app, const struct app_caller *caller, struct slice name,
                        app_receiver_fn *each, app_verdict_fn *fn, void *arg)
{
    if (!use_case_is_unready(app, name, fn, arg))
        store_close_receiver(app->store, name, on_closed,
                             receiver_call_new(app, caller, name, each, fn, arg));
}

/* ---- impaired receivers, for the overview and the metrics ---- */

enum { PAGES_MAX = 8 };

struct impaired_walk {
    struct store *store;
    size_t pages;
    struct impaired found;
    impaired_fn *fn;
    void *arg;
};

static void ask_page(struct impaired_walk *, struct receiver_cursor);

/* Receivers with a closed breaker come last. */
static bool is_before(const struct impaired_receiver *left, const struct impaired_receiver *right)
{
    if (left->is_open != right->is_open)
        return left->is_open;
    if (left->probe_ms != right->probe_ms)
        return left->probe_ms < right->probe_ms;
    return strcmp(left->name, right->name) < 0;
}

static void add_first(struct impaired *found, const struct impaired_receiver *receiver)
{
    size_t known = found->count < IMPAIRED_FIRST ? found->count : IMPAIRED_FIRST, at = known;
    while (at > 0 && is_before(receiver, &found->first[at - 1]))
        at--;
    if (at == IMPAIRED_FIRST)
        return;
    size_t behind = known < IMPAIRED_FIRST ? known - at : IMPAIRED_FIRST - 1 - at;
    memmove(&found->first[at + 1], &found->first[at], behind * sizeof *found->first);
    found->first[at] = *receiver;
}

static void add_receiver(struct impaired *found, const struct receiver_record *receiver)
{
    struct impaired_receiver impaired = {
        .is_open = receiver->opened_ms > 0,
        .is_probing = receiver->opened_ms > 0 && receiver->probe > 0,
        .probe_ms = receiver->opened_ms > 0 ? receiver->probe_ms : 0,
    };
    if (!impaired.is_open && receiver->limit == 0)
        return;
    snprintf(impaired.name, sizeof impaired.name, "%.*s", SLICE_ARG(receiver->name));
    snprintf(impaired.cause, sizeof impaired.cause, "%.*s", SLICE_ARG(receiver->cause));
    add_first(found, &impaired);
    found->count++;
}

static void on_page(void *arg, enum status status, const struct receiver_record *receivers, size_t count,
                    struct receiver_cursor next)
{
    struct impaired_walk *walk = arg;
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        add_receiver(&walk->found, &receivers[i]);
    if (status == STATUS_OK && (next.version || next.shard) && ++walk->pages < PAGES_MAX) {
        ask_page(walk, next);
        return;
    }
    walk->fn(walk->arg, status, &walk->found);
    free(walk);
}

static void ask_page(struct impaired_walk *walk, struct receiver_cursor from)
{
    struct store_receivers receivers = {.max = STORE_LIST_MAX, .from = from};
    store_receivers(walk->store, &receivers, on_page, walk);
}

void impaired_read(struct store *store, impaired_fn *fn, void *arg)
{
    struct impaired_walk *walk = NEW(struct impaired_walk);
    *walk = (struct impaired_walk){.store = store, .fn = fn, .arg = arg};
    ask_page(walk, (struct receiver_cursor){.shard = 0});
}

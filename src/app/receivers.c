/* receivers.c - lists receivers, and closes a circuit breaker on request. */
#include "app/cursor.h"
#include "app/overview.h"
#include "app/use_case.h"
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

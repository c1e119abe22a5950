#include "store/batch.h"

#include <assert.h>

#include "base/memory.h"
#include "store/store_private.h"

/* One call under way and the items in it, in the order of its arguments. */
struct batch_call {
    struct batch *batch;
    struct list items;
};

void batch_init(struct batch *batch, const struct batch_kind *kind, struct store *store,
                struct redis_link *link)
{
    *batch = (struct batch){.kind = kind, .store = store, .link = link};
    list_init(&batch->items);
}

void batch_add(struct batch *batch, struct batch_item *item)
{
    list_append(&batch->items, &item->link);
    batch->count++;
}

static void on_reply(void *arg, enum status status, const struct redis_reply *reply)
{
    struct batch_call *call = arg;
    const struct batch_kind *kind = call->batch->kind;
    int64_t now_us = redis_reply_integer(redis_reply_at(reply, 0));
    size_t index = 1;
    call->batch->calls--;
    for (struct list *link; (link = list_take(&call->items)); index++) {
        const struct redis_reply *result = redis_reply_at(reply, index);
        enum status item_status = status == STATUS_OK && !result ? STATUS_UNKNOWN : status;
        kind->end_item(LIST_ENTRY(link, struct batch_item, link), item_status, now_us, result);
    }
    free(call);
}

static void send_call(struct batch *batch)
{
    const struct batch_kind *kind = batch->kind;
    struct batch_call *call = NEW(struct batch_call);
    struct script_call *script = store_call(batch->store, kind->script);
    size_t items = 0, bytes = 0;
    call->batch = batch;
    list_init(&call->items);
    if (kind->add_shared)
        kind->add_shared(batch->store, script);
    while (items < BATCH_ITEMS_MAX && bytes < BATCH_BYTES_MAX && !list_is_empty(&batch->items)) {
        struct batch_item *item = LIST_ENTRY(list_take(&batch->items), struct batch_item, link);
        list_append(&call->items, &item->link);
        kind->add_item(item, script);
        batch->count--;
        items++;
        bytes += item->bytes;
    }
    batch->calls++;
    script_call_send(script, batch->link, on_reply, call);
}

void batch_flush(struct batch *batch)
{
    while (!list_is_empty(&batch->items) && batch->calls < batch->kind->max_calls)
        send_call(batch);
}

void batch_fini(struct batch *batch)
{
    assert(batch->calls == 0);
    for (struct list *link; (link = list_take(&batch->items));)
        batch->kind->end_item(LIST_ENTRY(link, struct batch_item, link), STATUS_UNAVAILABLE, 0, NULL);
}

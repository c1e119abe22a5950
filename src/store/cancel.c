/* cancel.c - removes jobs at the request of their owner. */
#include "base/memory.h"
#include "store/reply.h"
#include "store/shard_private.h"

struct cancel {
    struct batch_item item;
    struct shard *shard;
    struct slice id, tags;
    store_cancelled_fn *fn;
    void *arg;
};

void store_cancel(struct store *store, struct slice id, struct slice tags, store_cancelled_fn *fn, void *arg)
{
    struct cancel *cancel = NEW(struct cancel);
    cancel->item.bytes = id.size + tags.size + BATCH_ITEM_OVERHEAD;
    cancel->shard = store_shard_of(store, id);
    cancel->id = id;
    cancel->tags = tags;
    cancel->fn = fn;
    cancel->arg = arg;
    batch_add(&cancel->shard->batches[SHARD_BATCH_CANCEL], &cancel->item);
}

static void cancel_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct cancel *cancel = (const struct cancel *)item;
    script_call_text(call, cancel->id);
    script_call_text(call, cancel->tags);
}

static void cancel_end_item(struct batch_item *item, enum status status, int64_t now_us,
                            const struct redis_reply *result)
{
    struct cancel *cancel = (struct cancel *)item;
    int64_t code = redis_reply_integer(result);
    (void)now_us;
    if (status == STATUS_OK && code == RESULT_AGAIN) {
        batch_add(&cancel->shard->batches[SHARD_BATCH_CANCEL], item);
        return;
    }
    if (status == STATUS_OK && code < 0)
        status = code == RESULT_NOT_AS_SEEN ? STATUS_STALE : STATUS_NOT_FOUND;
    cancel->fn(cancel->arg, status, code == 1);
    free(cancel);
}

const struct batch_kind cancel_kind = {SCRIPT_CANCEL, OWNER_CALLS_MAX, true,
                                       NULL,          cancel_add_item, cancel_end_item};

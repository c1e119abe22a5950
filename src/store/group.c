/* group.c - writes groups. topic.c reads groups, because a page of groups is read like a page of topics. */
#include "base/memory.h"
#include "store/reply.h"
#include "store/shard_private.h"

struct group_item {
    struct batch_item item;
    struct slice name, old_text, new_text;
    store_set_group_fn *fn;
    void *arg;
};

static void group_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct group_item *entry = (const struct group_item *)item;
    script_call_text(call, entry->name);
    script_call_text(call, entry->old_text);
    script_call_text(call, entry->new_text);
}

static void group_end_item(struct batch_item *item, enum status status, int64_t now_us,
                           const struct redis_reply *result)
{
    struct group_item *entry = (struct group_item *)item;
    (void)now_us;
    if (status == STATUS_OK && redis_reply_integer(result) != 1)
        status = STATUS_STALE;
    entry->fn(entry->arg, status);
    free(entry);
}

const struct batch_kind group_kind = {SCRIPT_GROUP, OWNER_CALLS_MAX, true,
                                      NULL,         group_add_item,  group_end_item};

void store_set_group(struct store *store, struct slice name, struct slice old_text, struct slice new_text,
                     store_set_group_fn *fn, void *arg)
{
    struct group_item *entry = NEW(struct group_item);
    entry->item.bytes = name.size + old_text.size + new_text.size + BATCH_ITEM_OVERHEAD;
    entry->name = name;
    entry->old_text = old_text;
    entry->new_text = new_text;
    entry->fn = fn;
    entry->arg = arg;
    batch_add(&store_shard_of(store, name)->batches[SHARD_BATCH_GROUP], &entry->item);
}

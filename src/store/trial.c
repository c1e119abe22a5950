/* trial.c - writes a key and removes it again, for duepost check. */
#include <stdlib.h>

#include "base/memory.h"
#include "store/shard_private.h"

struct trial {
    struct batch_item item;
    store_try_fn *fn;
    void *arg;
};

static void trial_add_item(const struct batch_item *item, struct script_call *call)
{
    (void)item, (void)call; /* trial.lua has no arguments */
}

static void trial_end_item(struct batch_item *item, enum status status, int64_t now_us,
                           const struct redis_reply *result)
{
    struct trial *trial = (struct trial *)item;
    (void)result;
    trial->fn(trial->arg, status, now_us);
    free(trial);
}

const struct batch_kind trial_kind = {
    .script = SCRIPT_TRIAL,
    .max_calls = 1,
    .is_confirmed = true,
    .add_item = trial_add_item,
    .end_item = trial_end_item,
};

void store_try_write(struct store *store, size_t shard, store_try_fn *fn, void *arg)
{
    struct trial *trial = NEW(struct trial);
    trial->item.bytes = BATCH_ITEM_OVERHEAD;
    trial->fn = fn;
    trial->arg = arg;
    batch_add(&store_shard(store, shard)->batches[SHARD_BATCH_TRIAL], &trial->item);
}

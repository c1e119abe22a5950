/* trial.c - writes a key and removes it again, for duepost check. */
#include "store/shard_private.h"

static void trial_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    (void)result;
    CALL_FN(call, store_try_fn)(call->arg, status, call->now_us);
}

void store_try_write(struct store *store, size_t shard, store_try_fn *fn, void *arg)
{
    store_call_send(store_call_new(store_shard(store, shard), SHARD_BATCH_TRIAL, trial_end, ANY_FN(fn), arg));
}

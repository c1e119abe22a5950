/* attempts.c - reads the last attempts of a job. */
#include "base/memory.h"
#include "store/shard_private.h"

struct attempts {
    store_attempts_fn *fn;
    void *arg;
};

static void on_attempts(void *arg, enum status status, const struct redis_reply *reply)
{
    struct attempts *attempts = arg;
    if (status == STATUS_OK && redis_reply_size(reply) < 2)
        status = STATUS_NOT_FOUND;
    attempts->fn(attempts->arg, status, redis_reply_text(redis_reply_at(reply, 1)));
    free(attempts);
}

void store_attempts(struct store *store, struct slice id, store_attempts_fn *fn, void *arg)
{
    struct attempts *attempts = NEW(struct attempts);
    struct shard *shard = store_shard_of(store, id);
    struct script_call *call = shard_call(shard, SCRIPT_ATTEMPTS);
    *attempts = (struct attempts){fn, arg};
    script_call_text(call, id);
    script_call_send(call, shard->reads, on_attempts, attempts);
}

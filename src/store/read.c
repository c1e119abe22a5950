/* read.c - reads jobs, and their last attempts. */
#include "store/reply.h"
#include "store/shard_private.h"

/* call->note: an ended job is found, too */
static void read_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    struct stored_job job = {.id = store_call_argument(call, 0), .now_ms = call->now_us / 1000};
    if (status == STATUS_OK && redis_reply_size(result) == 0)
        status = STATUS_NOT_FOUND;
    else if (status == STATUS_OK && !reply_read_job(result, &job))
        status = STATUS_UNKNOWN;
    if (status == STATUS_OK && job.state > JOB_STATE_DEAD && !call->note)
        status = STATUS_NOT_FOUND;
    if (status == STATUS_OK)
        shard_bound_age(call->shard, &job);
    CALL_FN(call, store_read_fn)(call->arg, status, status == STATUS_OK ? &job : NULL);
}

void shard_read(struct shard *shard, struct slice id, bool may_be_kept, store_read_fn *fn, void *arg)
{
    struct store_call *call = store_call_new(shard, SHARD_BATCH_READ, read_end, ANY_FN(fn), arg);
    store_call_text(call, id);
    call->note = may_be_kept;
    store_call_send(call);
}

void store_read(struct store *store, struct slice id, store_read_fn *fn, void *arg)
{
    shard_read(store_shard_of(store, id), id, false, fn, arg);
}

void store_read_kept(struct store *store, struct slice id, store_read_fn *fn, void *arg)
{
    shard_read(store_shard_of(store, id), id, true, fn, arg);
}

static void attempts_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    if (status == STATUS_OK && redis_reply_size(reply) < 2)
        status = STATUS_NOT_FOUND;
    CALL_FN(call, store_attempts_fn)(call->arg, status, redis_reply_text(redis_reply_at(reply, 1)));
}

void store_attempts(struct store *store, struct slice id, store_attempts_fn *fn, void *arg)
{
    struct shard *shard = store_shard_of(store, id);
    struct store_call *call =
        store_call_alone(shard, SCRIPT_ATTEMPTS, shard->reads, attempts_end, ANY_FN(fn), arg);
    store_call_text(call, id);
    store_call_send(call);
}

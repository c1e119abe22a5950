/* lease.c - renews and ends leases: calls complete.lua, retry.lua, bury.lua, release.lua and renew.lua. */
#include "store/shard_private.h"

enum { RENEW_LINGERING = 2 /* the answer of renew.lua if the job was cancelled or replaced */ };

static void lease_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    int64_t code = redis_reply_integer(result);
    if (status == STATUS_OK && code != 1)
        status = code == RENEW_LINGERING   ? STATUS_NOT_FOUND
                 : code == RESULT_REPLACED ? STATUS_REPLACED
                                           : STATUS_STALE;
    CALL_FN(call, shard_done_fn)(call->arg, status);
}

static struct store_call *lease_call(struct shard *shard, enum shard_batch batch, const struct lease *lease,
                                     shard_done_fn *fn, void *arg)
{
    struct store_call *call = store_call_new(shard, batch, lease_end, ANY_FN(fn), arg);
    store_call_text(call, lease->id);
    store_call_text(call, slice_of(lease->nonce.text));
    return call;
}

/* Begins a call that ends an attempt. */
static struct store_call *ending_call(struct shard *shard, enum shard_batch batch, const struct lease *lease,
                                      shard_done_fn *fn, void *arg)
{
    struct store_call *call = lease_call(shard, batch, lease, fn, arg);
    struct slice job_id;
    slice_cut(lease->id, '/', &call->topic, &job_id);
    call->topic_weight = BATCH_END_WEIGHT;
    return call;
}

void shard_complete(struct shard *shard, const struct lease *lease, const struct shard_end *end,
                    shard_done_fn *fn, void *arg)
{
    struct store_call *call = ending_call(shard, SHARD_BATCH_COMPLETE, lease, fn, arg);
    store_call_text(call, end->attempt);
    store_call_follow(call, &end->follow);
    call->bytes += end->record.size; /* the script may read as much */
    call->may_wait = end->may_wait;
    store_call_send(call);
}

void shard_retry(struct shard *shard, const struct lease *lease, int64_t wait_ms, const struct shard_end *end,
                 shard_done_fn *fn, void *arg)
{
    struct store_call *call = ending_call(shard, SHARD_BATCH_RETRY, lease, fn, arg);
    store_call_number(call, wait_ms);
    store_call_text(call, end->record);
    store_call_text(call, end->attempt);
    store_call_follow(call, &end->follow);
    store_call_send(call);
}

void shard_bury(struct shard *shard, const struct lease *lease, const struct shard_end *end,
                shard_done_fn *fn, void *arg)
{
    struct store_call *call = ending_call(shard, SHARD_BATCH_BURY, lease, fn, arg);
    store_call_text(call, end->record);
    store_call_text(call, end->attempt);
    store_call_follow(call, &end->follow);
    call->bytes += BATCH_BURY_WEIGHT;
    store_call_send(call);
}

void shard_release(struct shard *shard, const struct lease *lease, const struct shard_hold *hold,
                   shard_done_fn *fn, void *arg)
{
    struct store_call *call = ending_call(shard, SHARD_BATCH_RELEASE, lease, fn, arg);
    store_call_number(call, hold->wait_ms);
    store_call_number(call, hold->claimed_ms);
    store_call_text(call, hold->receiver.size ? hold->receiver : SLICE("-"));
    store_call_text(call, hold->lacks_url ? SLICE("url") : hold->is_by_setting ? SLICE("1") : SLICE("0"));
    store_call_send(call);
}

void shard_renew(struct shard *shard, const struct lease *lease, shard_done_fn *fn, void *arg)
{
    store_call_send(lease_call(shard, SHARD_BATCH_RENEW, lease, fn, arg));
}

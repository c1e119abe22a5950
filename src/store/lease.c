/* lease.c - renews and ends leases: calls complete.lua, retry.lua, bury.lua, release.lua and renew.lua,
 * with one struct for the items of all five. */
#include "base/memory.h"
#include "store/reply.h"
#include "store/shard_private.h"

enum {
    LEASE_CALLS_MAX = 4, /* maximum number of calls of one kind under way */
    RENEW_LINGERING = 2, /* the answer of renew.lua if the job was cancelled or replaced */
};

struct lease_item {
    struct batch_item item;
    const struct lease *lease;
    int64_t wait_ms;        /* retry: wait until the next attempt */
    struct shard_hold hold; /* release: how long the job is held, and for which receiver */
    struct shard_end end;   /* data of complete, retry and bury */
    struct batch *batch;    /* complete, bury: batch of the item, for sending it again */
    shard_done_fn *fn;
    void *arg;
};

static struct lease_item *lease_item_new(const struct lease *lease, shard_done_fn *fn, void *arg)
{
    struct lease_item *item = NEW(struct lease_item);
    item->item.bytes = lease->id.size + BATCH_ITEM_OVERHEAD;
    item->lease = lease;
    item->fn = fn;
    item->arg = arg;
    return item;
}

/* Creates an item that ends an attempt. */
static struct lease_item *ending_item_new(const struct lease *lease, shard_done_fn *fn, void *arg)
{
    struct lease_item *item = lease_item_new(lease, fn, arg);
    struct slice job_id;
    slice_cut(lease->id, '/', &item->item.topic, &job_id);
    item->item.topic_weight = BATCH_END_WEIGHT;
    return item;
}

static struct lease_item *end_item_new(const struct lease *lease, const struct shard_end *end,
                                       shard_done_fn *fn, void *arg)
{
    struct lease_item *item = ending_item_new(lease, fn, arg);
    item->end = *end;
    item->item.follow = &item->end.follow;
    item->item.bytes += end->record.size + end->attempt.size;
    for (size_t i = 0; i < end->follow.count; i++)
        item->item.bytes +=
            end->follow.jobs[i].id.size + end->follow.jobs[i].record.size + BATCH_ITEM_OVERHEAD;
    return item;
}

static void add_lease(const struct batch_item *item, struct script_call *call)
{
    const struct lease_item *entry = (const struct lease_item *)item;
    script_call_text(call, entry->lease->id);
    script_call_text(call, slice_of(entry->lease->nonce.text));
}

static void add_complete(const struct batch_item *item, struct script_call *call)
{
    add_lease(item, call);
    script_call_text(call, ((const struct lease_item *)item)->end.attempt);
}

static void add_retry(const struct batch_item *item, struct script_call *call)
{
    const struct lease_item *entry = (const struct lease_item *)item;
    add_lease(item, call);
    script_call_number(call, entry->wait_ms);
    script_call_text(call, entry->end.record);
    script_call_text(call, entry->end.attempt);
}

static void add_release(const struct batch_item *item, struct script_call *call)
{
    const struct lease_item *entry = (const struct lease_item *)item;
    add_lease(item, call);
    script_call_number(call, entry->hold.wait_ms);
    script_call_number(call, entry->hold.claimed_ms);
    script_call_text(call, entry->hold.receiver.size ? entry->hold.receiver : SLICE("-"));
    script_call_text(call, entry->hold.lacks_url       ? SLICE("url")
                           : entry->hold.is_by_setting ? SLICE("1")
                                                       : SLICE("0"));
}

static void add_bury(const struct batch_item *item, struct script_call *call)
{
    const struct lease_item *entry = (const struct lease_item *)item;
    add_lease(item, call);
    script_call_text(call, entry->end.record);
    script_call_text(call, entry->end.attempt);
}

static void add_lease_ms(const struct shard *shard, struct script_call *call)
{
    (void)shard;
    script_call_number(call, STORE_LEASE_MS);
}

static void end_lease_item(struct batch_item *item, enum status status, int64_t now_us,
                           const struct redis_reply *result)
{
    struct lease_item *entry = (struct lease_item *)item;
    (void)now_us;
    int64_t code = redis_reply_integer(result);
    if (status == STATUS_OK && code != 1)
        status = code == RENEW_LINGERING   ? STATUS_NOT_FOUND
                 : code == RESULT_REPLACED ? STATUS_REPLACED
                                           : STATUS_STALE;
    entry->fn(entry->arg, status);
    free(entry);
}

/* Ends the item, or sends it again if the script answered AGAIN, because the call had already read as many
 * bytes, or ended as many jobs, as it may. complete.lua reads the job to keep it after its delivery; bury.lua
 * ends all jobs of a workflow. */
static void end_or_repeat(struct batch_item *item, enum status status, int64_t now_us,
                          const struct redis_reply *result)
{
    const struct lease_item *entry = (const struct lease_item *)item;
    if (status == STATUS_OK && redis_reply_integer(result) == RESULT_AGAIN)
        batch_add(entry->batch, item);
    else
        end_lease_item(item, status, now_us, result);
}

const struct batch_kind complete_kind = {SCRIPT_COMPLETE, LEASE_CALLS_MAX, false, NULL,
                                         add_complete,    end_or_repeat};
const struct batch_kind retry_kind = {SCRIPT_RETRY, LEASE_CALLS_MAX, false, NULL, add_retry, end_lease_item};
const struct batch_kind bury_kind = {SCRIPT_BURY, LEASE_CALLS_MAX, false, NULL, add_bury, end_or_repeat};
const struct batch_kind release_kind = {SCRIPT_RELEASE, LEASE_CALLS_MAX, false,
                                        NULL,           add_release,     end_lease_item};
const struct batch_kind renew_kind = {SCRIPT_RENEW, LEASE_CALLS_MAX, false,
                                      add_lease_ms, add_lease,       end_lease_item};

void shard_complete(struct shard *shard, const struct lease *lease, const struct shard_end *end,
                    shard_done_fn *fn, void *arg)
{
    struct lease_item *item = end_item_new(lease, end, fn, arg);
    item->batch = &shard->batches[SHARD_BATCH_COMPLETE];
    item->item.may_wait = end->may_wait;
    batch_add(item->batch, &item->item);
}

void shard_retry(struct shard *shard, const struct lease *lease, int64_t wait_ms, const struct shard_end *end,
                 shard_done_fn *fn, void *arg)
{
    struct lease_item *item = end_item_new(lease, end, fn, arg);
    item->wait_ms = wait_ms;
    batch_add(&shard->batches[SHARD_BATCH_RETRY], &item->item);
}

void shard_bury(struct shard *shard, const struct lease *lease, const struct shard_end *end,
                shard_done_fn *fn, void *arg)
{
    struct lease_item *item = end_item_new(lease, end, fn, arg);
    item->batch = &shard->batches[SHARD_BATCH_BURY];
    item->item.bytes += BATCH_BURY_WEIGHT;
    batch_add(item->batch, &item->item);
}

void shard_release(struct shard *shard, const struct lease *lease, const struct shard_hold *hold,
                   shard_done_fn *fn, void *arg)
{
    struct lease_item *item = ending_item_new(lease, fn, arg);
    item->hold = *hold;
    item->item.bytes += hold->receiver.size;
    batch_add(&shard->batches[SHARD_BATCH_RELEASE], &item->item);
}

void shard_renew(struct shard *shard, const struct lease *lease, shard_done_fn *fn, void *arg)
{
    batch_add(&shard->batches[SHARD_BATCH_RENEW], &lease_item_new(lease, fn, arg)->item);
}

/* change.c - changes members of a job. */
#include "base/memory.h"
#include "store/reply.h"
#include "store/shard_private.h"
#include "store/when.h"

struct change {
    struct batch_item item;
    struct shard *shard;
    struct store_change job;
    char when[WHEN_SIZE];
    store_changed_fn *fn;
    void *arg;
};

void store_change(struct store *store, const struct store_change *job, store_changed_fn *fn, void *arg)
{
    struct change *change = NEW(struct change);
    change->item.bytes = job->id.size + job->tag.size + job->record.size + BATCH_ITEM_OVERHEAD;
    change->shard = store_shard_of(store, job->id);
    change->job = *job;
    change->fn = fn;
    change->arg = arg;
    if (job->is_moved)
        when_format(job->when, change->when);
    batch_add(&change->shard->batches[SHARD_BATCH_CHANGE], &change->item);
}

static void add_item(const struct batch_item *item, struct script_call *call)
{
    const struct change *change = (const struct change *)item;
    script_call_text(call, change->job.id);
    script_call_text(call, change->job.tag);
    script_call_text(call, change->job.is_moved ? slice_of(change->when) : SLICE("-"));
    script_call_text(call, change->job.record);
}

static void end_item(struct batch_item *item, enum status status, int64_t now_us,
                     const struct redis_reply *result)
{
    struct change *change = (struct change *)item;
    int64_t due_ms = redis_reply_integer(result);
    if (status == STATUS_OK && due_ms == RESULT_AGAIN) {
        batch_add(&change->shard->batches[SHARD_BATCH_CHANGE], item);
        return;
    }
    if (status == STATUS_OK && due_ms < 0)
        status = due_ms == RESULT_NO_URL
                     ? STATUS_NO_URL
                     : STATUS_STALE; /* leased, removed or changed: a caller can read the job again */
    change->fn(change->arg, status, due_ms, now_us / 1000);
    free(change);
}

const struct batch_kind change_kind = {SCRIPT_CHANGE, OWNER_CALLS_MAX, true, NULL, add_item, end_item};

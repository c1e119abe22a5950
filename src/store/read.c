/* read.c - reads jobs, and their last attempts. */
#include "base/memory.h"
#include "store/reply.h"
#include "store/shard_private.h"

struct read {
    struct batch_item item;
    struct shard *shard;
    struct slice id;
    bool may_be_kept;
    store_read_fn *fn;
    void *arg;
};

void shard_read(struct shard *shard, struct slice id, bool may_be_kept, store_read_fn *fn, void *arg)
{
    struct read *read = NEW(struct read);
    read->item.bytes = id.size + BATCH_ITEM_OVERHEAD;
    read->shard = shard;
    read->id = id;
    read->may_be_kept = may_be_kept;
    read->fn = fn;
    read->arg = arg;
    batch_add(&shard->batches[SHARD_BATCH_READ], &read->item);
}

void store_read(struct store *store, struct slice id, store_read_fn *fn, void *arg)
{
    shard_read(store_shard_of(store, id), id, false, fn, arg);
}

void store_read_kept(struct store *store, struct slice id, store_read_fn *fn, void *arg)
{
    shard_read(store_shard_of(store, id), id, true, fn, arg);
}

static void read_add_item(const struct batch_item *item, struct script_call *call)
{
    script_call_text(call, ((const struct read *)item)->id);
}

static void read_end_item(struct batch_item *item, enum status status, int64_t now_us,
                          const struct redis_reply *result)
{
    struct read *read = (struct read *)item;
    struct store_job job = {.id = read->id, .now_ms = now_us / 1000};
    if (status == STATUS_OK && redis_reply_integer(result) == RESULT_AGAIN) {
        batch_add(&read->shard->batches[SHARD_BATCH_READ], item);
        return;
    }
    if (status == STATUS_OK && redis_reply_size(result) == 0)
        status = STATUS_NOT_FOUND;
    else if (status == STATUS_OK && !reply_read_job(result, &job))
        status = STATUS_UNKNOWN;
    if (status == STATUS_OK && job.state > JOB_STATE_DEAD && !read->may_be_kept)
        status = STATUS_NOT_FOUND;
    if (status == STATUS_OK)
        shard_bound_age(read->shard, &job);
    read->fn(read->arg, status, status == STATUS_OK ? &job : NULL);
    free(read);
}

const struct batch_kind read_kind = {SCRIPT_READ, OWNER_CALLS_MAX, false, NULL, read_add_item, read_end_item};

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

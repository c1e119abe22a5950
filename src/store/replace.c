/* replace.c - schedules new jobs that replace jobs with the same ids. */
#include "base/memory.h"
#include "store/reply.h"
#include "store/shard_private.h"
#include "store/when.h"

struct replace {
    struct batch_item item;
    struct shard *shard;
    struct store_replace job;
    char when[WHEN_SIZE];
    store_replaced_fn *fn;
    void *arg;
};

void store_replace(struct store *store, const struct store_replace *job, store_replaced_fn *fn, void *arg)
{
    struct replace *replace = NEW(struct replace);
    replace->item.bytes = job->id.size + job->record.size + job->tags.size + BATCH_ITEM_OVERHEAD;
    replace->shard = store_shard_of(store, job->id);
    replace->job = *job;
    replace->fn = fn;
    replace->arg = arg;
    when_format(job->when, replace->when);
    batch_add(&replace->shard->batches[SHARD_BATCH_REPLACE], &replace->item);
}

static void add_item(const struct batch_item *item, struct script_call *call)
{
    const struct replace *replace = (const struct replace *)item;
    script_call_text(call, replace->job.id);
    script_call_text(call, slice_of(replace->when));
    script_call_text(call, replace->job.record);
    script_call_text(call, replace->job.tags);
}

static enum status status_of(int64_t code)
{
    switch (code) {
    case RESULT_NOT_AS_SEEN:
        return STATUS_STALE;
    case RESULT_NO_URL:
        return STATUS_NO_URL;
    case RESULT_LEASED:
        return STATUS_LEASED;
    default:
        return STATUS_FULL;
    }
}

static void end_item(struct batch_item *item, enum status status, int64_t now_us,
                     const struct redis_reply *result)
{
    struct replace *replace = (struct replace *)item;
    struct store_replaced place = {
        .due_ms = redis_reply_integer(redis_reply_at(result, 0)),
        .created_ms = redis_reply_integer(redis_reply_at(result, 1)),
        .was_there = redis_reply_integer(redis_reply_at(result, 2)) == 1,
        .now_ms = now_us / 1000,
    };
    if (status == STATUS_OK && redis_reply_kind(result) != REDIS_KIND_ARRAY) {
        if (redis_reply_integer(result) == RESULT_AGAIN) {
            batch_add(&replace->shard->batches[SHARD_BATCH_REPLACE], item);
            return;
        }
        status = status_of(redis_reply_integer(result));
    }
    replace->fn(replace->arg, status, status == STATUS_OK ? &place : NULL);
    free(replace);
}

const struct batch_kind replace_kind = {SCRIPT_REPLACE,     OWNER_CALLS_MAX, true,
                                        shard_add_max_jobs, add_item,        end_item};

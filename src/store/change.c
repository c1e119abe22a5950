/* change.c - changes, replaces and cancels jobs at a client's request. */
#include "base/memory.h"
#include "store/reply.h"
#include "store/shard_private.h"

/* ---- change ---- */

struct change {
    struct batch_item item;
    struct shard *shard;
    struct store_change job;
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
    batch_add(&change->shard->batches[SHARD_BATCH_CHANGE], &change->item);
}

static void change_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct change *change = (const struct change *)item;
    script_call_text(call, change->job.id);
    script_call_text(call, change->job.tag);
    if (change->job.is_moved)
        script_call_when(call, change->job.when);
    else
        script_call_text(call, SLICE("-"));
    script_call_text(call, change->job.record);
}

static void change_end_item(struct batch_item *item, enum status status, int64_t now_us,
                            const struct redis_reply *result)
{
    struct change *change = (struct change *)item;
    int64_t due_ms = redis_reply_integer(result);
    if (status == STATUS_OK && due_ms == RESULT_AGAIN) {
        batch_add(&change->shard->batches[SHARD_BATCH_CHANGE], item);
        return;
    }
    if (status == STATUS_OK && due_ms < 0)
        status =
            due_ms == RESULT_NO_URL
                ? STATUS_NO_URL
                : STATUS_STALE; /* the job was leased, removed or changed: the caller can read it again */
    change->fn(change->arg, status, due_ms, now_us / 1000);
    free(change);
}

const struct batch_kind change_kind = {SCRIPT_CHANGE, OWNER_CALLS_MAX, true,
                                       NULL,          change_add_item, change_end_item};

/* ---- replace: schedules a job; if a job with this id exists, the new job replaces it ---- */

struct replace {
    struct batch_item item;
    struct shard *shard;
    struct store_replace job;
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
    batch_add(&replace->shard->batches[SHARD_BATCH_REPLACE], &replace->item);
}

static void replace_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct replace *replace = (const struct replace *)item;
    script_call_text(call, replace->job.id);
    script_call_when(call, replace->job.when);
    script_call_text(call, replace->job.record);
    script_call_text(call, replace->job.tags);
}

static enum status replace_status(int64_t code)
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

static void replace_end_item(struct batch_item *item, enum status status, int64_t now_us,
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
        status = replace_status(redis_reply_integer(result));
    }
    replace->fn(replace->arg, status, status == STATUS_OK ? &place : NULL);
    free(replace);
}

const struct batch_kind replace_kind = {SCRIPT_REPLACE,     OWNER_CALLS_MAX,  true,
                                        shard_add_max_jobs, replace_add_item, replace_end_item};

/* ---- cancel ---- */

struct cancel {
    struct batch_item item;
    struct shard *shard;
    struct slice id, tags;
    store_cancelled_fn *fn;
    void *arg;
};

void store_cancel(struct store *store, struct slice id, struct slice tags, store_cancelled_fn *fn, void *arg)
{
    struct cancel *cancel = NEW(struct cancel);
    cancel->item.bytes = id.size + tags.size + BATCH_ITEM_OVERHEAD;
    cancel->shard = store_shard_of(store, id);
    cancel->id = id;
    cancel->tags = tags;
    cancel->fn = fn;
    cancel->arg = arg;
    batch_add(&cancel->shard->batches[SHARD_BATCH_CANCEL], &cancel->item);
}

static void cancel_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct cancel *cancel = (const struct cancel *)item;
    script_call_text(call, cancel->id);
    script_call_text(call, cancel->tags);
}

static void cancel_end_item(struct batch_item *item, enum status status, int64_t now_us,
                            const struct redis_reply *result)
{
    struct cancel *cancel = (struct cancel *)item;
    int64_t code = redis_reply_integer(result);
    (void)now_us;
    if (status == STATUS_OK && code == RESULT_AGAIN) {
        batch_add(&cancel->shard->batches[SHARD_BATCH_CANCEL], item);
        return;
    }
    if (status == STATUS_OK && code < 0)
        status = code == RESULT_NOT_AS_SEEN ? STATUS_STALE : STATUS_NOT_FOUND;
    cancel->fn(cancel->arg, status, code == 1);
    free(cancel);
}

const struct batch_kind cancel_kind = {SCRIPT_CANCEL, OWNER_CALLS_MAX, true,
                                       NULL,          cancel_add_item, cancel_end_item};

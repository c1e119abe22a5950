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
    change->item.follow = &change->job.follow;
    for (size_t i = 0; i < job->follow.count; i++)
        change->item.bytes +=
            job->follow.jobs[i].id.size + job->follow.jobs[i].record.size + BATCH_ITEM_OVERHEAD;
    change->fn = fn;
    change->arg = arg;
    batch_add(&change->shard->batches[SHARD_BATCH_CHANGE], &change->item);
}

static void change_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct change *change = (const struct change *)item;
    script_call_text(call, change->job.id);
    script_call_text(call, change->job.tag);
    if (change->job.is_buried)
        script_call_text(call, SLICE("!"));
    else if (change->job.is_moved)
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
            due_ms == RESULT_NO_URL ? STATUS_NO_URL
            : due_ms == RESULT_EXPIRED
                ? STATUS_EXPIRED
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
    case RESULT_EXPIRED:
        return STATUS_EXPIRED;
    default:
        return STATUS_FULL;
    }
}

static void replace_end_item(struct batch_item *item, enum status status, int64_t now_us,
                             const struct redis_reply *result)
{
    struct replace *replace = (struct replace *)item;
    int64_t was = redis_reply_integer(redis_reply_at(result, 2));
    struct store_replaced place = {
        .due_ms = redis_reply_integer(redis_reply_at(result, 0)),
        .created_ms = redis_reply_integer(redis_reply_at(result, 1)),
        .was_there = was >= 1,
        .was_leased = was == 2,
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

/* When a job of a workflow is cancelled, the script removes all jobs of the workflow. The cancels of these
 * jobs in later calls find no job, and count as done nevertheless (was_dropped). */
struct cancel {
    struct batch_item item;
    struct list link; /* in cancels of the shard */
    struct shard *shard;
    struct slice id, tags;
    bool was_dropped, was_dropped_leased;
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
    cancel->was_dropped = cancel->was_dropped_leased = false;
    cancel->fn = fn;
    cancel->arg = arg;
    list_append(&cancel->shard->cancels, &cancel->link);
    batch_add(&cancel->shard->batches[SHARD_BATCH_CANCEL], &cancel->item);
}

static void cancel_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct cancel *cancel = (const struct cancel *)item;
    script_call_text(call, cancel->id);
    script_call_text(call, cancel->tags);
}

/* Returns the id of a job that was removed with its workflow. The text is 1 or 0, followed by the id. */
static struct slice dropped_id(struct slice text)
{
    return slice_skip(text, text.size > 0);
}

static int compare_ids(struct slice one, struct slice other)
{
    size_t size = one.size < other.size ? one.size : other.size;
    int order = size ? memcmp(one.data, other.data, size) : 0;
    return order ? order : (one.size > other.size) - (one.size < other.size);
}

static int dropped_compare(const void *one, const void *other)
{
    return compare_ids(dropped_id(*(const struct slice *)one), dropped_id(*(const struct slice *)other));
}

/* Marks the cancels of jobs that were removed with a workflow, for each job only the first cancel. result:
 * code, then these jobs. */
static void mark_dropped(const struct shard *shard, const struct redis_reply *result)
{
    size_t count = redis_reply_size(result);
    if (count < 2)
        return;
    struct slice *jobs = NEW_ARRAY(struct slice, count);
    bool *is_marked = NEW_ARRAY(bool, count);
    for (size_t i = 1; i < count; i++)
        jobs[i - 1] = redis_reply_text(redis_reply_at(result, i));
    qsort(jobs, count - 1, sizeof *jobs, dropped_compare);
    for (struct list *link = shard->cancels.next; link != &shard->cancels; link = link->next) {
        struct cancel *cancel = LIST_ENTRY(link, struct cancel, link);
        size_t low = 0, high = count - 1;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (compare_ids(dropped_id(jobs[middle]), cancel->id) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        if (low < count - 1 && !is_marked[low] && slice_equal(dropped_id(jobs[low]), cancel->id)) {
            is_marked[low] = cancel->was_dropped = true;
            cancel->was_dropped_leased = slice_starts_with(jobs[low], SLICE("1"));
        }
    }
    free(is_marked);
    free(jobs);
}

static void cancel_end_item(struct batch_item *item, enum status status, int64_t now_us,
                            const struct redis_reply *result)
{
    struct cancel *cancel = (struct cancel *)item;
    bool is_list = redis_reply_size(result) > 0;
    int64_t code = redis_reply_integer(is_list ? redis_reply_at(result, 0) : result);
    (void)now_us;
    if (status == STATUS_OK && is_list)
        mark_dropped(cancel->shard, result);
    if (status == STATUS_OK && code == RESULT_NOT_FOUND && cancel->was_dropped)
        code = cancel->was_dropped_leased;
    if (status == STATUS_OK && code == RESULT_AGAIN) {
        batch_add(&cancel->shard->batches[SHARD_BATCH_CANCEL], item);
        return;
    }
    if (status == STATUS_OK && code < 0)
        status = code == RESULT_NOT_AS_SEEN ? STATUS_STALE : STATUS_NOT_FOUND;
    list_remove(&cancel->link);
    cancel->fn(cancel->arg, status, code == 1);
    free(cancel);
}

const struct batch_kind cancel_kind = {SCRIPT_CANCEL, OWNER_CALLS_MAX, true,
                                       NULL,          cancel_add_item, cancel_end_item};

/* change.c - changes, replaces and cancels jobs at a client's request. */
#include "base/memory.h"
#include "store/reply.h"
#include "store/shard_private.h"

/* ---- change ---- */

static void change_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    int64_t due_ms = redis_reply_integer(result);
    if (status == STATUS_OK && due_ms < 0)
        status =
            due_ms == RESULT_NO_URL ? STATUS_NO_URL
            : due_ms == RESULT_EXPIRED
                ? STATUS_EXPIRED
                : STATUS_STALE; /* the job was leased, removed or changed: the caller can read it again */
    CALL_FN(call, store_changed_fn)(call->arg, status, due_ms, call->now_us / 1000);
}

void store_change(struct store *store, const struct store_change *job, store_changed_fn *fn, void *arg)
{
    struct shard *shard = store_shard_of(store, job->id);
    struct store_call *call = store_call_new(shard, SHARD_BATCH_CHANGE, change_end, ANY_FN(fn), arg);
    store_call_text(call, job->id);
    store_call_text(call, job->tag);
    if (job->is_buried)
        store_call_text(call, SLICE("!"));
    else if (job->is_moved)
        store_call_when(call, job->when);
    else
        store_call_text(call, SLICE("-"));
    store_call_text(call, job->record);
    store_call_follow(call, &job->follow);
    store_call_send(call);
}

/* ---- replace: schedules a job; if a job with this id exists, the new job replaces it ---- */

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

static void replace_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    int64_t was = redis_reply_integer(redis_reply_at(result, 2));
    struct store_replaced place = {
        .due_ms = redis_reply_integer(redis_reply_at(result, 0)),
        .created_ms = redis_reply_integer(redis_reply_at(result, 1)),
        .was_there = was >= 1,
        .was_leased = was == 2,
        .now_ms = call->now_us / 1000,
    };
    if (status == STATUS_OK && redis_reply_kind(result) != REDIS_KIND_ARRAY)
        status = replace_status(redis_reply_integer(result));
    CALL_FN(call, store_replaced_fn)(call->arg, status, status == STATUS_OK ? &place : NULL);
}

void store_replace(struct store *store, const struct store_replace *job, store_replaced_fn *fn, void *arg)
{
    struct shard *shard = store_shard_of(store, job->id);
    struct store_call *call = store_call_new(shard, SHARD_BATCH_REPLACE, replace_end, ANY_FN(fn), arg);
    store_call_text(call, job->id);
    store_call_when(call, job->when);
    store_call_text(call, job->record);
    store_call_text(call, job->tags);
    store_call_send(call);
}

/* ---- cancel ---- */

/* When a job of a workflow is cancelled, the script removes all jobs of the workflow. The cancels of these
 * jobs in later calls find no job, and count as done nevertheless (was_dropped). */
struct cancel {
    struct store_call call;
    struct list link; /* in cancels of the shard */
    struct slice id;
    bool was_dropped, was_dropped_leased;
};

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

static void cancel_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    struct cancel *cancel = (struct cancel *)call;
    bool is_list = redis_reply_size(result) > 0;
    int64_t code = redis_reply_integer(is_list ? redis_reply_at(result, 0) : result);
    if (status == STATUS_OK && is_list)
        mark_dropped(call->shard, result);
    if (status == STATUS_OK && code == RESULT_NOT_FOUND && cancel->was_dropped)
        code = cancel->was_dropped_leased;
    if (status == STATUS_OK && code == RESULT_AGAIN) {
        store_call_send(call);
        return;
    }
    if (status == STATUS_OK && code < 0)
        status = code == RESULT_NOT_AS_SEEN ? STATUS_STALE : STATUS_NOT_FOUND;
    list_remove(&cancel->link);
    CALL_FN(call, store_cancelled_fn)(call->arg, status, code == 1);
}

void store_cancel(struct store *store, struct slice id, struct slice tags, store_cancelled_fn *fn, void *arg)
{
    struct cancel *cancel = NEW(struct cancel);
    struct shard *shard = store_shard_of(store, id);
    store_call_init(&cancel->call, shard, SHARD_BATCH_CANCEL, cancel_end, ANY_FN(fn), arg);
    cancel->id = id;
    store_call_text(&cancel->call, id);
    store_call_text(&cancel->call, tags);
    list_append(&shard->cancels, &cancel->link);
    store_call_send(&cancel->call);
}

/* workflow_wait.c - workflows that wait for events, and events that end waits. */
#include "base/memory.h"
#include "store/reply.h"
#include "store/shard_private.h"
#include "store/workflow.h"

/* Weight of a call that fills a run, so that each run of wait.lua and notify.lua has only one. */
enum { ALONE = BATCH_BYTES_MAX };

/* ---- wait ---- */

static enum status read_waiting(const struct redis_reply *result, struct workflow_waiting *waiting)
{
    if (redis_reply_size(result) == 1) {
        waiting->kept = redis_reply_text(redis_reply_at(result, 0));
        return STATUS_STALE;
    }
    int64_t code = redis_reply_integer(result);
    if (code == RESULT_NOT_FOUND)
        return STATUS_NOT_FOUND;
    if (code == RESULT_TAKEN)
        return STATUS_EXISTS;
    if (code < 1)
        return STATUS_FULL;
    waiting->has_taken = code == 2;
    return STATUS_OK;
}

static void wait_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    struct workflow_waiting waiting = {.has_taken = false};
    if (status == STATUS_OK)
        status = read_waiting(result, &waiting);
    CALL_FN(call, workflow_waiting_fn)(call->arg, status, &waiting);
}

void workflow_wait(struct store *store, const struct workflow_wait *wait, workflow_waiting_fn *fn, void *arg)
{
    struct store_call *call =
        store_call_new(store_shard_of(store, wait->id), SHARD_BATCH_WAIT, wait_end, ANY_FN(fn), arg);
    const struct workflow_entry *with_kept = wait->with_kept.job.size ? &wait->with_kept : &wait->deadline;
    store_call_text(call, wait->id);
    store_call_text(call, wait->event);
    store_call_text(call, wait->text);
    store_call_text(call, wait->deadline.job);
    store_call_when(call, wait->deadline.when);
    store_call_text(call, wait->deadline.record);
    store_call_text(call, wait->deadline.element);
    store_call_text(call, wait->kept);
    store_call_text(call, with_kept->job);
    store_call_text(call, with_kept->record);
    store_call_text(call, with_kept->element);
    store_call_text(call, wait->deadline.step);
    call->bytes += ALONE;
    store_call_send(call);
}

/* ---- waiters ---- */

enum { FIRST_WAITER = 2 /* place of the first waiter in the reply */ };

static void waiters_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct slice next = SLICE("");
    size_t count = 0;
    if (status == STATUS_OK && redis_reply_size(reply) < FIRST_WAITER)
        status = reply_refuse("waiters");
    if (status == STATUS_OK) {
        count = (redis_reply_size(reply) - FIRST_WAITER) / 2;
        next = redis_reply_text(redis_reply_at(reply, 1));
    }
    struct workflow_waiter *waiters = NEW_ARRAY(struct workflow_waiter, count + 1);
    for (size_t i = 0; i < count; i++)
        waiters[i] =
            (struct workflow_waiter){redis_reply_text(redis_reply_at(reply, FIRST_WAITER + 2 * i)),
                                     redis_reply_text(redis_reply_at(reply, FIRST_WAITER + 2 * i + 1))};
    CALL_FN(call, workflow_waiters_fn)
    (call->arg, status == STATUS_OK ? STATUS_OK : STATUS_UNAVAILABLE, waiters, count, next);
    free(waiters);
}

void workflow_waiters(struct store *store, const struct workflow_waiters_query *query,
                      workflow_waiters_fn *fn, void *arg)
{
    struct shard *shard = store_shard_of(store, query->owner);
    struct store_call *call =
        store_call_alone(shard, SCRIPT_WAITERS, shard->reads, waiters_end, ANY_FN(fn), arg);
    store_call_text(call, query->owner);
    store_call_text(call, query->event);
    store_call_text(call, query->id);
    store_call_number(call, (int64_t)query->max);
    store_call_text(call, query->from);
    store_call_send(call);
}

/* ---- notify ---- */

static enum status status_of_kept(int64_t kept)
{
    switch (kept) {
    case RESULT_NOT_FOUND:
        return STATUS_NOT_FOUND;
    case RESULT_FULL:
        return STATUS_FULL;
    case RESULT_AGAIN:
        return STATUS_STALE;
    default:
        return STATUS_OK;
    }
}

/* call->note: the number of notices */
static void notify_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    size_t count = (size_t)call->note;
    bool *was_waiting = NEW_ARRAY(bool, count + 1);
    struct workflow_notified notified = {.was_waiting = was_waiting, .count = count};
    if (status == STATUS_OK && redis_reply_size(result) != count + 1)
        status = reply_refuse("notify");
    if (status == STATUS_OK) {
        int64_t kept = redis_reply_integer(redis_reply_at(result, 0));
        status = status_of_kept(kept);
        notified.is_kept = kept == 1;
    }
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        was_waiting[i] = redis_reply_integer(redis_reply_at(result, i + 1)) == 1;
    CALL_FN(call, workflow_notified_fn)(call->arg, status, &notified);
    free(was_waiting);
}

void workflow_notify(struct store *store, const struct workflow_notify *notify, workflow_notified_fn *fn,
                     void *arg)
{
    struct shard *shard = store_shard_of(store, notify->owner);
    struct store_call *call = store_call_new(shard, SHARD_BATCH_NOTIFY, notify_end, ANY_FN(fn), arg);
    call->note = (int64_t)notify->count;
    store_call_text(call, notify->owner);
    store_call_text(call, notify->event);
    store_call_text(call, notify->id);
    store_call_text(call, notify->data);
    for (size_t i = 0; i < notify->count; i++) {
        store_call_text(call, notify->notices[i].waiter);
        store_call_text(call, notify->notices[i].entry.job);
        store_call_text(call, notify->notices[i].entry.record);
        store_call_text(call, notify->notices[i].entry.element);
    }
    call->bytes += ALONE;
    store_call_send(call);
}

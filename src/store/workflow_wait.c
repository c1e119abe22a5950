/* workflow_wait.c - workflows that wait for events, and events that end waits. */
#include "base/memory.h"
#include "store/reply.h"
#include "store/shard_private.h"
#include "store/workflow.h"

/* Weight of an item (one wait or one notice) that fills a call, so that each call of wait.lua and
 * notify.lua has only one item. */
enum { ALONE = BATCH_BYTES_MAX };

/* ---- wait ---- */

struct wait_item {
    struct batch_item item;
    struct workflow_wait wait;
    workflow_waiting_fn *fn;
    void *arg;
};

static void wait_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct wait_item *entry = (const struct wait_item *)item;
    const struct workflow_wait *wait = &entry->wait;
    const struct workflow_entry *with_kept = wait->with_kept.job.size ? &wait->with_kept : &wait->deadline;
    script_call_text(call, wait->id);
    script_call_text(call, wait->event);
    script_call_text(call, wait->text);
    script_call_text(call, wait->deadline.job);
    script_call_when(call, wait->deadline.when);
    script_call_text(call, wait->deadline.record);
    script_call_text(call, wait->deadline.element);
    script_call_text(call, wait->kept);
    script_call_text(call, with_kept->job);
    script_call_text(call, with_kept->record);
    script_call_text(call, with_kept->element);
}

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

static void wait_end_item(struct batch_item *item, enum status status, int64_t now_us,
                          const struct redis_reply *result)
{
    struct wait_item *entry = (struct wait_item *)item;
    struct workflow_waiting waiting = {.has_taken = false};
    (void)now_us;
    if (status == STATUS_OK)
        status = read_waiting(result, &waiting);
    entry->fn(entry->arg, status, &waiting);
    free(entry);
}

const struct batch_kind wait_kind = {SCRIPT_WAIT,        OWNER_CALLS_MAX, true,
                                     shard_add_max_jobs, wait_add_item,   wait_end_item};

void workflow_wait(struct store *store, const struct workflow_wait *wait, workflow_waiting_fn *fn, void *arg)
{
    struct wait_item *entry = NEW(struct wait_item);
    entry->item.bytes = ALONE;
    entry->wait = *wait;
    entry->fn = fn;
    entry->arg = arg;
    batch_add(&store_shard_of(store, wait->id)->batches[SHARD_BATCH_WAIT], &entry->item);
}

/* ---- waiters ---- */

enum { FIRST_WAITER = 2 /* place of the first waiter in the reply */ };

struct waiters_call {
    workflow_waiters_fn *fn;
    void *arg;
};

static void on_waiters(void *arg, enum status status, const struct redis_reply *reply)
{
    struct waiters_call *call = arg;
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
    call->fn(call->arg, status == STATUS_OK ? STATUS_OK : STATUS_UNAVAILABLE, waiters, count, next);
    free(waiters);
    free(call);
}

void workflow_waiters(struct store *store, const struct workflow_waiters_query *query,
                      workflow_waiters_fn *fn, void *arg)
{
    struct shard *shard = store_shard_of(store, query->owner);
    struct script_call *script = shard_call(shard, SCRIPT_WAITERS);
    struct waiters_call *call = NEW(struct waiters_call);
    *call = (struct waiters_call){fn, arg};
    script_call_text(script, query->owner);
    script_call_text(script, query->event);
    script_call_text(script, query->id);
    script_call_number(script, (int64_t)query->max);
    script_call_text(script, query->from);
    script_call_send(script, shard->reads, on_waiters, call);
}

/* ---- notify ---- */

struct notify_item {
    struct batch_item item;
    struct workflow_notify notify;
    workflow_notified_fn *fn;
    void *arg;
};

static void notify_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct workflow_notify *notify = &((const struct notify_item *)item)->notify;
    script_call_text(call, notify->owner);
    script_call_text(call, notify->event);
    script_call_text(call, notify->id);
    script_call_text(call, notify->data);
    for (size_t i = 0; i < notify->count; i++) {
        script_call_text(call, notify->notices[i].waiter);
        script_call_text(call, notify->notices[i].entry.job);
        script_call_text(call, notify->notices[i].entry.record);
        script_call_text(call, notify->notices[i].entry.element);
    }
}

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

static void notify_end_item(struct batch_item *item, enum status status, int64_t now_us,
                            const struct redis_reply *result)
{
    struct notify_item *entry = (struct notify_item *)item;
    size_t count = entry->notify.count;
    bool *was_waiting = NEW_ARRAY(bool, count + 1);
    struct workflow_notified notified = {.was_waiting = was_waiting, .count = count};
    (void)now_us;
    if (status == STATUS_OK && redis_reply_size(result) != count + 1)
        status = reply_refuse("notify");
    if (status == STATUS_OK) {
        int64_t kept = redis_reply_integer(redis_reply_at(result, 0));
        status = status_of_kept(kept);
        notified.is_kept = kept == 1;
    }
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        was_waiting[i] = redis_reply_integer(redis_reply_at(result, i + 1)) == 1;
    entry->fn(entry->arg, status, &notified);
    free(was_waiting);
    free(entry);
}

const struct batch_kind notify_kind = {SCRIPT_NOTIFY, OWNER_CALLS_MAX, true,
                                       NULL,          notify_add_item, notify_end_item};

void workflow_notify(struct store *store, const struct workflow_notify *notify, workflow_notified_fn *fn,
                     void *arg)
{
    struct notify_item *entry = NEW(struct notify_item);
    entry->item.bytes = ALONE;
    entry->notify = *notify;
    entry->fn = fn;
    entry->arg = arg;
    batch_add(&store_shard_of(store, notify->owner)->batches[SHARD_BATCH_NOTIFY], &entry->item);
}

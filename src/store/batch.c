#include "store/batch.h"

#include <assert.h>
#include <stdio.h>

#include "base/memory.h"

enum { FEW = 8 }; /* items that may wait for others */

/* Longest wait until enough replicas have a change. After this time, the change is made, but not durable. */
#define REPLICAS_DEADLINE "1000" /* ms */

/* A call that was sent, and its items in the order of the call's arguments. */
struct batch_call {
    struct batch *batch;
    struct list items;
    /* The script's reply, kept until WAIT confirms that enough replicas have its changes. */
    struct redis_reply *reply;
    char follow_count[24]; /* last argument of a call with follow-ups: '+' and their number */
};

void batch_init(struct batch *batch, const struct batch_kind *kind, const struct batch_owner *owner,
                struct redis_link *link)
{
    *batch = (struct batch){.kind = kind, .owner = owner, .link = link};
    list_init(&batch->items);
}

void batch_add(struct batch *batch, struct batch_item *item)
{
    list_append(&batch->items, &item->link);
    batch->count++;
    batch->urgent += !item->may_wait;
}

/* Returns whether the item has to be sent again, or with other arguments, before it has an outcome. */
static bool is_unfinished(const struct redis_reply *result)
{
    int64_t code = redis_reply_integer(redis_reply_size(result) > 0 ? redis_reply_at(result, 0) : result);
    return code == RESULT_AGAIN || code == RESULT_CHANGED || code == RESULT_NO_RECORD;
}

static void end_call(struct batch_call *call, enum status status, const struct redis_reply *reply)
{
    const struct batch_kind *kind = call->batch->kind;
    int64_t now_us = redis_reply_integer(redis_reply_at(reply, 0));
    size_t index = 1;
    call->batch->calls--;
    for (struct list *link; (link = list_take(&call->items)); index++) {
        const struct redis_reply *result = redis_reply_at(reply, index);
        enum status item_status = status;
        if (status == STATUS_OK && !result)
            item_status = STATUS_UNKNOWN;
        else if (status == STATUS_UNDURABLE && is_unfinished(result))
            item_status = STATUS_OK; /* a later call decides */
        kind->end_item(LIST_ENTRY(link, struct batch_item, link), item_status, now_us, result);
    }
    redis_reply_free(call->reply);
    free(call);
}

static unsigned replicas_wanted(const struct batch *batch)
{
    const struct store_options *options = batch->owner->options;
    return batch->kind->is_confirmed && options->is_durability_set ? options->durability.replicas : 0;
}

static void on_waited(void *arg, const struct redis_reply *reply)
{
    struct batch_call *call = arg;
    bool is_reached = redis_reply_integer(reply) >= replicas_wanted(call->batch);
    if (!is_reached)
        call->batch->owner->on_lag(call->batch->owner->shard);
    end_call(call, is_reached ? STATUS_OK : STATUS_UNDURABLE, call->reply);
}

/* Sends WAIT on the connection that ran the script, because WAIT waits only for the writes of its own
 * connection. Call this within the callback of the script's reply, while the connection still leads to the
 * same Redis. Later replies on this connection come only after WAIT's reply. */
static void wait_for_replicas(struct batch_call *call)
{
    char replicas[8];
    snprintf(replicas, sizeof replicas, "%u", replicas_wanted(call->batch));
    struct slice argv[] = {SLICE("WAIT"), slice_of(replicas), SLICE(REPLICAS_DEADLINE)};
    redis_send(call->batch->link, 3, argv, on_waited, call);
}

static void on_reply(void *arg, enum status status, const struct redis_reply *reply)
{
    struct batch_call *call = arg;
    if (status == STATUS_UNAVAILABLE)
        call->batch->owner->on_refusal(call->batch->owner->shard);
    if (status != STATUS_OK || replicas_wanted(call->batch) == 0) {
        end_call(call, status, reply);
        return;
    }
    call->reply = redis_reply_take(reply);
    wait_for_replicas(call);
}

static void add_follow_up(struct script_call *call, size_t number, const struct shard_follow_up *job)
{
    script_call_number(call, (int64_t)number);
    script_call_text(call, job->id);
    script_call_number(call, job->delay_ms);
    script_call_text(call, job->record);
}

/* Adds the follow-ups (follow_up.h) of all items, and then the number of follow-ups. The script reads
 * these arguments with take_follow_ups (scripts/lib/follow.lua). Adds nothing if no item has follow-ups. */
static void add_follow_ups(struct batch_call *call, struct script_call *script)
{
    size_t number = 1, total = 0;
    for (struct list *link = call->items.next; link != &call->items; link = link->next, number++) {
        const struct shard_follow_ups *follow = LIST_ENTRY(link, struct batch_item, link)->follow;
        for (size_t i = 0; follow && i < follow->count; i++, total++)
            add_follow_up(script, number, &follow->jobs[i]);
    }
    if (total) {
        snprintf(call->follow_count, sizeof call->follow_count, "+%zu", total);
        script_call_text(script, slice_of(call->follow_count));
    }
}

/* Returns whether the topic of the item differs from that of the item before it. The number of such changes
 * is an estimate of the number of topics in the call, because clients usually send the jobs of a topic one
 * after another. */
static bool changes_topic(const struct batch_item *item, struct slice *topic)
{
    bool is_other = item->topic.size && !slice_equal(item->topic, *topic);
    if (is_other)
        *topic = item->topic;
    return is_other;
}

static void send_call(struct batch *batch)
{
    const struct batch_kind *kind = batch->kind;
    struct batch_call *call = NEW(struct batch_call);
    struct script_call *script = batch->owner->new_call(batch->owner->shard, kind->script);
    size_t items = 0, bytes = 0, topics = 0;
    struct slice topic = SLICE("");
    call->batch = batch;
    list_init(&call->items);
    if (kind->add_shared)
        kind->add_shared(batch->owner->shard, script);
    while (items < BATCH_ITEMS_MAX && bytes < BATCH_BYTES_MAX && topics < BATCH_TOPICS_MAX &&
           !list_is_empty(&batch->items)) {
        struct batch_item *item = LIST_ENTRY(list_pop(&batch->items), struct batch_item, link);
        list_append(&call->items, &item->link);
        batch->count--;
        batch->urgent -= !item->may_wait;
        kind->add_item(item, script);
        items++;
        bytes += item->bytes;
        if (changes_topic(item, &topic))
            topics += item->topic_weight ? item->topic_weight : 1;
    }
    add_follow_ups(call, script);
    batch->calls++;
    script_call_send(script, batch->link, on_reply, call);
}

/* Returns whether a call may be sent now. If the waiting items fill a call, one call more than the maximum
 * may be under way. Waiting would not add items to a full call, and the additional call keeps Redis busy
 * while this process reads the previous reply. */
static bool may_send(const struct batch *batch)
{
    bool is_full = batch->count >= BATCH_ITEMS_MAX;
    return batch->count > 0 && batch->calls < batch->kind->max_calls + is_full;
}

bool batch_may_wait(const struct batch *batch)
{
    return batch->urgent == 0 && batch->count <= FEW;
}

void batch_flush(struct batch *batch)
{
    while (may_send(batch))
        send_call(batch);
}

void batch_fini(struct batch *batch)
{
    assert(batch->calls == 0);
    for (struct list *link; (link = list_take(&batch->items));)
        batch->kind->end_item(LIST_ENTRY(link, struct batch_item, link), STATUS_UNAVAILABLE, 0, NULL);
}

/* batch.h - sends items of one kind to Redis together.
 *
 * All items of one turn of the loop go into one call of one script. While the kind's maximum number of calls
 * is under way, items collect for the next call, so that a busy Redis gets few large calls. A full call
 * may be sent in addition to that number. A call has a maximum number of items, of bytes and of topics. */
#ifndef DUEPOST_STORE_BATCH_H
#define DUEPOST_STORE_BATCH_H

#include "base/list.h"
#include "store/follow_up.h"
#include "store/script.h"
#include "store/store.h"

enum {
    BATCH_ITEMS_MAX = 256,
    BATCH_TOPICS_MAX = 192, /* a new job takes up to 0.05 ms of Redis's time if no other job of the call has
                               its topic, and a call should take at most 10 ms */
    /* The end of an attempt counts as this many topics. In a fifo topic, ending an attempt takes twice the
     * time of a new job, because the script decides again whether the topic may be served (offer.lua). */
    BATCH_END_WEIGHT = 2,
    BATCH_BYTES_MAX = 4 * 1024 * 1024, /* a call gets no more items when its items have reached this size */
    BATCH_ITEM_OVERHEAD = 64,          /* estimated bytes of an item in addition to its texts */
    /* Each new job of an item that may have many counts as this size in addition. So 512 jobs are a full
     * call, which takes Redis about 5 ms. A script with many thousand jobs would fail halfway, because Lua's
     * unpack has room for about 8,000 values, two for each job. */
    BATCH_JOB_WEIGHT = BATCH_BYTES_MAX / 512,
    /* Each burial counts as this size in addition. It takes Redis about 0.07 ms, so 128 of them stay below 10
       ms. */
    BATCH_BURY_WEIGHT = BATCH_BYTES_MAX / 128,
};

struct shard;

/* Each kind of item has a struct of its own, whose first member is this struct. */
struct batch_item {
    struct list link;
    size_t bytes;        /* size of the item's arguments */
    struct slice topic;  /* borrowed; empty: the cost of the item does not depend on its topic */
    bool may_wait;       /* the item may wait a moment for other items, see batch_may_wait */
    size_t topic_weight; /* number of topics that the item counts as in BATCH_TOPICS_MAX; 0 means 1 */
    const struct shard_follow_ups
        *follow; /* borrowed; jobs that the script schedules when it ends the item's lease; NULL: none */
};

struct batch_kind {
    enum script_id script;
    unsigned max_calls; /* maximum number of calls under way; a full call may exceed it by one */
    bool is_confirmed;  /* clients rely on the changes: an item ends when its change has the configured
                           durability */
    /* Adds the arguments that the script needs once for all items. NULL if it needs only ARGV[1], the
     * default limit of a topic's jobs in flight. */
    void (*add_shared)(const struct shard *, struct script_call *);
    void (*add_item)(const struct batch_item *, struct script_call *);
    /* Calls back and frees the item. result is the item's part of the reply if status is OK or, for a kind
     * that is confirmed, UNDURABLE, and NULL otherwise. */
    void (*end_item)(struct batch_item *, enum status, int64_t now_us, const struct redis_reply *result);
};

/* The shard of a batch, and its functions. All batches of a shard have the same owner. */
struct batch_owner {
    struct shard *shard; /* argument of the functions below and in batch_kind */
    const struct store_options *options;
    struct script_call *(*new_call)(struct shard *, enum script_id);
    void (*on_refusal)(const struct shard *); /* called when Redis has refused a call */
    void (*on_lag)(const struct shard *);     /* called when too few replicas have confirmed a change */
};

struct batch {
    const struct batch_kind *kind;
    const struct batch_owner *owner; /* borrowed */
    struct redis_link *link;
    struct list items; /* items that wait for the next call */
    size_t count;
    size_t urgent; /* number of items that may not wait */
    unsigned calls;
};

void batch_init(struct batch *, const struct batch_kind *, const struct batch_owner *, struct redis_link *);
void batch_add(struct batch *, struct batch_item *);

/* Returns whether the next call would have only items that may wait, and few of them. The shard then waits up
 * to SHARD_PATIENCE_US for an item or a call of any kind: when Redis gets both in one turn of its loop, it
 * wakes up and syncs its append-only file only once. */
bool batch_may_wait(const struct batch *);

/* Sends the waiting items, up to the maximum number of calls. Called at the end of a turn. */
void batch_flush(struct batch *);

/* Ends waiting items with UNAVAILABLE. Must not be called while calls are under way. */
void batch_fini(struct batch *);

#endif

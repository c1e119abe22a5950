/* batch.h - sends items of one kind to Redis together.
 *
 * All items of one turn of the loop go into one call of one script. While the kind's maximum number of calls
 * is under way, items collect for the next call, so that a busy Redis gets few large calls. A full call may
 * be sent in addition to that number. A call is limited in items, in bytes and in topics. */
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
    /* The end of an attempt in a fifo topic takes twice this time, because the topic is offered again. */
    BATCH_END_WEIGHT = 2,
    BATCH_BYTES_MAX =
        4 * 1024 * 1024,      /* maximum size of a call; the item that exceeds it is still included */
    BATCH_ITEM_OVERHEAD = 64, /* bytes that an item needs in addition to its texts, roughly */
};

struct shard;

/* The first member of each kind of item. */
struct batch_item {
    struct list link;
    size_t bytes;        /* size of the item's arguments */
    struct slice topic;  /* borrowed; empty: the cost of the item does not depend on its topic */
    size_t topic_weight; /* the item's topic counts as this number of topics; 0 means 1 */
    const struct shard_follow_ups
        *follow; /* borrowed; jobs that are scheduled after all items of a call; NULL: no jobs */
};

struct batch_kind {
    enum script_id script;
    unsigned max_calls; /* maximum number of calls under way; a full call may exceed it by one */
    bool is_confirmed;  /* clients rely on the change, so wait until it has the configured durability */
    /* Adds the arguments that all items share. NULL if the items share only the first argument, the limit. */
    void (*add_shared)(const struct shard *, struct script_call *);
    void (*add_item)(const struct batch_item *, struct script_call *);
    /* Calls back and frees the item. result is the item's part of the reply if status is OK, and NULL
     * otherwise. */
    void (*end_item)(struct batch_item *, enum status, int64_t now_us, const struct redis_reply *result);
};

/* Members that all batches of a shard share. */
struct batch_owner {
    struct shard *shard; /* argument of the functions below and in batch_kind */
    const struct store_options *options;
    struct script_call *(*new_call)(struct shard *, enum script_id);
    void (*on_refusal)(const struct shard *); /* Redis has refused a call */
    void (*on_lag)(const struct shard *);     /* too few replicas have confirmed a change */
};

struct batch {
    const struct batch_kind *kind;
    const struct batch_owner *owner; /* borrowed */
    struct redis_link *link;
    struct list items; /* items that wait for the next call */
    size_t count;
    unsigned calls;
};

void batch_init(struct batch *, const struct batch_kind *, const struct batch_owner *, struct redis_link *);
void batch_add(struct batch *, struct batch_item *);

/* Sends the waiting items, up to the maximum number of calls. Called at the end of a turn. */
void batch_flush(struct batch *);

/* Ends waiting items with UNAVAILABLE. Must not be called while calls are under way. */
void batch_fini(struct batch *);

#endif

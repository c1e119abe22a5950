/* batch.h - items of one kind that travel to Redis together.
 *
 * What one turn of the loop brings leaves in one call of one script. While as many
 * calls as the kind allows are under way, items gather for the next one, so that
 * a busy Redis gets few large calls; one that is full goes ahead. A call is bounded
 * in items and in bytes. */
#ifndef DUEPOST_STORE_BATCH_H
#define DUEPOST_STORE_BATCH_H

#include "base/list.h"
#include "store/script.h"

enum {
    BATCH_ITEMS_MAX = 256,
    BATCH_BYTES_MAX = 4 * 1024 * 1024, /* reached by the item that goes over it */
    BATCH_ITEM_OVERHEAD = 64,          /* bytes around an item's texts; only the order of magnitude matters */
};

struct shard;
struct shard_follow_ups;

/* The first member of each kind of item. */
struct batch_item {
    struct list link;
    size_t bytes;                          /* of its arguments */
    const struct shard_follow_ups *follow; /* borrowed: they stand behind all items of a call; NULL: none */
};

struct batch_kind {
    enum script_id script;
    unsigned max_calls; /* under way at once; one more when that is full */
    bool is_confirmed;  /* somebody relies on the outcome: it must have reached the durability that is set */
    /* The arguments that all items share; NULL: none but the first, the limit. */
    void (*add_shared)(const struct shard *, struct script_call *);
    void (*add_item)(const struct batch_item *, struct script_call *);
    /* Calls back and frees item. result is its part of the reply, NULL unless status is OK. */
    void (*end_item)(struct batch_item *, enum status, int64_t now_us, const struct redis_reply *result);
};

struct batch {
    const struct batch_kind *kind;
    struct shard *shard;
    struct redis_link *link;
    struct list items; /* waiting */
    size_t count;
    unsigned calls;
};

void batch_init(struct batch *, const struct batch_kind *, struct shard *, struct redis_link *);
void batch_add(struct batch *, struct batch_item *);

/* At the end of the turn. */
void batch_flush(struct batch *);

/* Items that wait end with UNAVAILABLE; calls under way must have ended before. */
void batch_fini(struct batch *);

#endif

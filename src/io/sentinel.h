/* sentinel.h - which Redis is the primary now, as the Sentinels say.
 *
 * Each of the Sentinels is connected to and asked each second, and more often for a while after something said
 * that the primary is lost. One that is cut off from the others goes on
 * naming the primary that they have given up, so the answer of the latest failover counts, by Sentinel's own
 * number (config-epoch). What a Sentinel said last stays its answer until it gives another, also when it is
 * lost: who has seen a newer primary does not go back to the old one. */
#ifndef DUEPOST_IO_SENTINEL_H
#define DUEPOST_IO_SENTINEL_H

#include "io/redis.h"

struct sentinel;

struct sentinel_events {
    loop_fn *on_switch; /* another primary is named than before */
    /* A node of the service, primary or replica; with each answer again. */
    void (*on_node)(void *arg, const struct redis_node *);
    void *arg;
};

/* address has Sentinels; borrowed. */
struct sentinel *sentinel_new(struct loop *, const struct redis_address *address, struct sentinel_events);
void sentinel_free(struct sentinel *); /* NULL is fine */

/* False: none has said yet. For redis_link_events.find. */
bool sentinel_find(void *sentinel, struct redis_node *);

/* Something says that the primary is lost: they are asked now. */
void sentinel_recheck(struct sentinel *);

#endif

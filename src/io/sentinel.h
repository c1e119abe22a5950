/* sentinel.h - finds the current primary by asking the Sentinels.
 *
 * It connects to all Sentinels and asks each of them every second, and more often for a while after a sign
 * that the primary is lost. A Sentinel that is cut off from the others still names the old primary. The
 * answer with the latest failover therefore wins, by Sentinel's own number (config-epoch). Each Sentinel's
 * last answer stays valid until it gives another one, even when the Sentinel is lost, so that a newer primary
 * is never replaced by an older one. */
#ifndef DUEPOST_IO_SENTINEL_H
#define DUEPOST_IO_SENTINEL_H

#include "io/redis.h"

struct sentinel;

struct sentinel_events {
    loop_fn *on_switch; /* the named primary has changed */
    /* A node of the service, primary or replica. Called again with each answer. */
    void (*on_node)(void *arg, const struct redis_node *);
    void *arg;
};

/* address has Sentinels; borrowed. */
struct sentinel *sentinel_new(struct loop *, const struct redis_address *address, struct sentinel_events);
void sentinel_free(struct sentinel *); /* NULL is ignored */

/* For redis_link_events.find. False: no Sentinel has answered yet. */
bool sentinel_find(void *sentinel, struct redis_node *);

/* Asks the Sentinels now, because the primary seems to be lost. */
void sentinel_recheck(struct sentinel *);

#endif

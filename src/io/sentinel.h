/* sentinel.h - finds the current primary by asking the Sentinels.
 *
 * A sentinel object connects to all Sentinels and queries each of them every second. After a sign that the
 * primary is lost, it queries more often for a while. A Sentinel that is cut off from the others still names
 * the old primary. So the answer with the latest failover is used, which is the one with the highest
 * config-epoch. The last answer of a Sentinel stays valid until the same Sentinel gives a new answer, even
 * when its connection is lost. So a newer primary is never replaced by an older primary.
 *
 * The Sentinels have their own user and password. The user and the password of Redis are never sent to a
 * Sentinel. */
#ifndef DUEPOST_IO_SENTINEL_H
#define DUEPOST_IO_SENTINEL_H

#include "io/redis.h"

struct sentinel;

struct sentinel_events {
    loop_fn *on_switch; /* the primary that the Sentinels name has changed */
    /* Called for each node of the service, primary or replica, with each answer. */
    void (*on_node)(void *arg, const struct redis_node *);
    void *arg;
};

/* Starts to ask the Sentinels of address. Borrows address. */
struct sentinel *sentinel_new(struct loop *, const struct redis_address *address, struct sentinel_events);
void sentinel_free(struct sentinel *); /* NULL is ignored */

/* Finds the current primary, for redis_link_events.find. Returns false if no Sentinel has named the primary
 * yet; why then has the reason of one of the Sentinels. */
bool sentinel_find(void *sentinel, struct redis_node *, struct problem *why);

/* Queries the Sentinels now, because the primary seems to be lost. */
void sentinel_recheck(struct sentinel *);

#endif

/* discovery.h - finds the current primaries: of a Redis Cluster, or of a service that Sentinels watch. */
#ifndef DUEPOST_IO_REDIS_DISCOVERY_H
#define DUEPOST_IO_REDIS_DISCOVERY_H

#include "io/redis/redis.h"

/* ---- Cluster ----
 *
 * Finds the current primary of each slot in a Redis Cluster.
 *
 * A cluster object connects to one of the nodes and queries the slot map every second. After a sign that the
 * map is old (cluster_recheck, cluster_note_moved), it queries more often for some seconds. When the
 * connection to that node is lost, the object tries other nodes: first those of the configured address, then
 * those of the last slot map. A node that reports a broken Cluster may be cut off from the other nodes. The
 * map of such a node is used only for slots without a known primary. The last known primary of a slot is used
 * until a node names a different primary. */

struct cluster;

enum { CLUSTER_SLOTS = 16384 };

struct cluster_events {
    /* Called when the primary of slots[index] has changed. */
    void (*on_switch)(void *arg, size_t index);
    /* Called for each node of each slot map, primary or replica. */
    void (*on_node)(void *arg, const struct redis_node *);
    void *arg;
};

/* Starts to find the primaries of these slots. Borrows address, copies slots. */
struct cluster *cluster_new(struct loop *, const struct redis_address *address, const uint16_t *slots,
                            size_t count, struct cluster_events);
void cluster_free(struct cluster *); /* NULL is ignored */

/* For struct redis_link_events: the member find is cluster_find, and the member find_arg is the result of
 * cluster_slot for slots[index]. While the primary is unknown, cluster_find returns false and sets why. */
void *cluster_slot(struct cluster *, size_t index);
bool cluster_find(void *slot, struct redis_node *, struct problem *why);

/* Processes the answer "MOVED slot host:port", which a node sent to a command for slots[index]. Always calls
 * on_switch, even if the new primary is already known, because the link's connection still leads to the old
 * one. */
void cluster_note_moved(struct cluster *, size_t index, struct slice moved);

/* Queries the map now, because it seems to be old. */
void cluster_recheck(struct cluster *);

/* Parses the answer "MOVED slot host:port". An empty host means the node that sent this answer. Returns false
 * for any other text. */
bool cluster_moved_parse(struct slice error, uint16_t *slot, struct redis_node *);

/* ---- Sentinel ----
 *
 * Finds the current primary by asking the Sentinels.
 *
 * A sentinel object connects to all Sentinels and queries each of them every second. After a sign that the
 * primary is lost, it queries more often for a while. A Sentinel that is cut off from the others still names
 * the old primary. So the answer with the latest failover is used, which is the one with the highest
 * config-epoch. The last answer of a Sentinel stays valid until the same Sentinel gives a new answer, even
 * when its connection is lost. So a newer primary is never replaced by an older primary.
 *
 * The Sentinels have their own user and password. The user and the password of Redis are never sent to a
 * Sentinel. */

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

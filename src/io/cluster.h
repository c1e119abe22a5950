/* cluster.h - which node of a Redis Cluster is the primary of a slot now, as the nodes say.
 *
 * One of the nodes is connected to and asked for the map each second, and more often for a while after
 * something said that the map is old; when it is lost, the next one is, first of the address, then of the
 * last map. A node that sees no working Cluster (it may be cut off from the others) is believed only about
 * slots of which nothing is known. What was said last stays the answer until another is given. */
#ifndef DUEPOST_IO_CLUSTER_H
#define DUEPOST_IO_CLUSTER_H

#include "io/redis.h"

struct cluster;

enum { CLUSTER_SLOTS = 16384 };

struct cluster_events {
    /* Another node than before is the primary of slots[index]. */
    void (*on_switch)(void *arg, size_t index);
    /* A node of the map, primary or replica; for each map again. */
    void (*on_node)(void *arg, const struct redis_node *);
    void *arg;
};

/* Follows these slots. Borrows address, copies slots. */
struct cluster *cluster_new(struct loop *, const struct redis_address *address, const uint16_t *slots,
                            size_t count, struct cluster_events);
void cluster_free(struct cluster *); /* NULL is fine */

/* For redis_link_events: find_arg of slots[index], and find. False: nobody has said yet. */
void *cluster_slot(struct cluster *, size_t index);
bool cluster_find(void *slot, struct redis_node *);

/* A node that was asked for slots[index] has answered "MOVED slot host:port": that is taken at once, and is a
 * switch also where it was known already, for that node was asked all the same. */
void cluster_learn(struct cluster *, size_t index, struct slice moved);

/* Something says that the map is old: it is asked for now. */
void cluster_recheck(struct cluster *);

/* Reads "MOVED slot host:port". The host is empty where the one that was asked is meant. */
bool cluster_moved_parse(struct slice error, uint16_t *slot, struct redis_node *);

#endif

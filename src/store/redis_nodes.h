/* redis_nodes.h - addresses of Redis that this process found while running. No job may be sent to these
 * addresses.
 *
 * The target policy already refuses the addresses of the configured Redis that were resolved at the start.
 * This file adds the nodes that Sentinels or a Cluster announce later, and the nodes that connections reach.
 * Each node is added once. A host name is resolved once; only the addresses found then are refused. If a node
 * has an address of this host, its port is refused on all addresses of the host. */
#ifndef DUEPOST_STORE_REDIS_NODES_H
#define DUEPOST_STORE_REDIS_NODES_H

#include "io/redis.h"
#include "job/target/url.h"

struct redis_nodes;

struct redis_nodes *redis_nodes_new(struct loop *);
void redis_nodes_free(struct redis_nodes *);

/* Adds a node. Copies the node. */
void redis_nodes_note(struct redis_nodes *, const struct redis_node *);

/* Returns whether a job to this address would reach one of the nodes. */
bool redis_nodes_have(const struct redis_nodes *, const struct address *, uint16_t port);

#endif

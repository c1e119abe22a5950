/* redis_addresses.h - the addresses of the configured Redis, which no job may lead to.
 *
 * They belong to the Redis of the start; a reload does not change it. Addresses once found stay refused, so a
 * name server that does not answer at a reload opens nothing. The stores know the nodes that Sentinels or a
 * Cluster announce later, and those that connections reach (store_is_redis). */
#ifndef DUEPOST_SERVER_REDIS_ADDRESSES_H
#define DUEPOST_SERVER_REDIS_ADDRESSES_H

#include "io/redis.h"
#include "job/target.h"

struct redis_addresses;

struct redis_addresses *redis_addresses_new(void);
void redis_addresses_free(struct redis_addresses *);

/* Resolves Redis's names, which may block, and adds all addresses found so far to those that policy refuses.
 * For an address of this host it refuses the port on all of the host's addresses, because Redis seldom
 * listens on one alone. */
void redis_addresses_refuse(struct redis_addresses *, const struct redis_address *, struct target_policy *);

#endif

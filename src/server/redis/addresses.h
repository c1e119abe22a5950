/* addresses.h - the addresses of the configured Redis, to which no job may be sent.
 *
 * The addresses are those of the Redis that was configured at the start; a reload does not change it. An
 * address that was found once stays refused, so a name server that does not answer at a reload makes no
 * address allowed. store_is_redis finds the other addresses of Redis: those that Sentinels or a Cluster
 * announce later, and those to which connections lead. */
#ifndef DUEPOST_SERVER_REDIS_ADDRESSES_H
#define DUEPOST_SERVER_REDIS_ADDRESSES_H

#include "io/redis/redis.h"
#include "job/target/target.h"

struct redis_addresses;

struct redis_addresses *redis_addresses_new(void);
void redis_addresses_free(struct redis_addresses *);

/* Resolves the host names of Redis, which may block. Makes policy refuse all addresses that this and earlier
 * calls have found. If an address belongs to this host, the port is refused on all addresses of the host,
 * because Redis usually listens on several addresses. */
void redis_addresses_refuse(struct redis_addresses *, const struct redis_address *, struct target_policy *);

#endif

/* redis_addresses.h - the addresses of the Redis that the operator named, where no job may lead.
 *
 * It is the Redis of the start, whatever a reload says. What was once found stays, so that a name server that
 * does not answer at a reload opens nothing. What Sentinels or a Cluster name later, and where connections
 * go, the stores know (store_is_redis). */
#ifndef DUEPOST_SERVER_REDIS_ADDRESSES_H
#define DUEPOST_SERVER_REDIS_ADDRESSES_H

#include "io/redis.h"
#include "job/target.h"

struct redis_addresses;

struct redis_addresses *redis_addresses_new(void);
void redis_addresses_free(struct redis_addresses *);

/* Looks its names up, which may block, and has the policy refuse what was found by now: where that is an
 * address of this very host, the port on all of them, since a Redis seldom listens on one alone. */
void redis_addresses_refuse(struct redis_addresses *, const struct redis_address *, struct target_policy *);

#endif

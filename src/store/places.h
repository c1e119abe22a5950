/* places.h - addresses of Redis that were learned while running, where no job may lead.
 *
 * Those that the operator named are in the target policy, as far as their names could be looked up. Noted
 * here is what Sentinels or a Cluster name later, and where a connection goes: each place once, a host name
 * by its first address. Where that is this very host's, its port is refused on all addresses of this host. */
#ifndef DUEPOST_STORE_PLACES_H
#define DUEPOST_STORE_PLACES_H

#include "io/redis.h"
#include "job/address.h"

struct places;

struct places *places_new(struct loop *);
void places_free(struct places *);

/* Copies place. */
void places_note(struct places *, const struct redis_place *);

bool places_have(const struct places *, const struct address *, uint16_t port);

#endif

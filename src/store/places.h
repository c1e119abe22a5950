/* places.h - addresses of Redis that were learned while running, where no job may lead.
 *
 * Those that the operator named are in the target policy from the start. What Sentinels or a Cluster name
 * later is noted here: each place once, a host name by its first address. */
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

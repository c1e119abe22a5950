/* pattern_keeper.h - makes changed settings of patterns take effect in a shard that this process carries.
 *
 * A change reaches every topic that is served or read from then on. The pattern keeper offers again the
 * topics that were held or free by the earlier settings, in bounded steps (pace.h): at least 50,000 topics a
 * second. Redis has the place of this walk, so another process continues it after a crash.
 *
 * In the shard that is written first it also compares the versions of all shards. A process that dies between
 * two copies leaves shards with an earlier version; they get the patterns with the highest version. */
#ifndef DUEPOST_WORKER_PATTERN_KEEPER_H
#define DUEPOST_WORKER_PATTERN_KEEPER_H

#include "store/shard.h"

struct pattern_keeper;

/* Borrows the store and the shard. */
struct pattern_keeper *pattern_keeper_new(struct loop *, struct store *, struct shard *);

/* Called each second by the owner of the carry lock. NULL is ignored. */
void pattern_keeper_tick(struct pattern_keeper *);

void pattern_keeper_free(struct pattern_keeper *); /* NULL is ignored */

#endif

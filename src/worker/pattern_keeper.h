/* pattern_keeper.h - makes changed settings of patterns take effect in a shard that this process carries.
 *
 * A change applies to every topic when the topic is next served or read. The pattern keeper also checks all
 * topics again, because the earlier settings may have held or released them. It works in bounded steps
 * (pace.h): at least 50,000 topics a second. Redis keeps the position of this walk, so another process
 * continues it after a crash.
 *
 * In the shard to which changes are written first, the pattern keeper also compares the versions of all
 * shards. A process that dies between two copies leaves shards with an earlier version; they get the patterns
 * with the highest version. */
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

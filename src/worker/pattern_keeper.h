/* pattern_keeper.h - makes changed settings of patterns take effect in a shard.
 *
 * A pattern has settings for the topics whose names match it. When these settings change, each topic gets the
 * change when it is next served or read. But a topic that was held by the earlier settings may have to be
 * served now, and a topic that was served may have to be held. So the pattern keeper walks through all topics
 * and offers each of them to be served again. It works in bounded steps (pace.h): at least 50,000 topics a
 * second. Redis keeps the position of this walk, so another process continues it after a crash.
 *
 * Each shard has a copy of the patterns. If a process dies while it writes a change, some shards keep an
 * earlier version. In the shard to which changes are written first, the pattern keeper compares the versions
 * of all shards, and copies the patterns with the highest version to the other shards. */
#ifndef DUEPOST_WORKER_PATTERN_KEEPER_H
#define DUEPOST_WORKER_PATTERN_KEEPER_H

#include "store/shard.h"

struct pattern_keeper;

/* Borrows the store and the shard. */
struct pattern_keeper *pattern_keeper_new(struct loop *, struct store *, struct shard *);

/* Called each second by the owner of the carry lock. has_walk: a walk is not at its end. NULL is ignored. */
void pattern_keeper_tick(struct pattern_keeper *, bool has_walk);

/* Notes that Redis's clock has stepped by this many ms. The keeper offers the topics again that a rate holds,
 * and moves the deadlines of workers' leases by the step (store/scripts/lib/leap.lua). If this process dies
 * before Redis has stored the step, the leases and rates keep their times. NULL is ignored. */
void pattern_keeper_step(struct pattern_keeper *, int64_t ms);

void pattern_keeper_free(struct pattern_keeper *); /* NULL is ignored */

#endif

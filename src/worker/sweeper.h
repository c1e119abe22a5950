/* sweeper.h - removes ended jobs that were kept for their retention time, in bounded steps (pace.h).
 * Delivered, cancelled and dead jobs are removed when the retention of their topic is over. Dead jobs are
 * also removed when they exceed the limits on dead jobs. After a step of Redis's clock, only the limit on
 * their number removes jobs for some minutes (store/scripts/lib/removals.lua).
 *
 * Measured with 1,000,000 kept jobs: if their retention ends within one hour, each job is removed less
 * than 2 s late. If their retention ends in the same second, they are removed within 10 s if they have one
 * topic, and within 35 s if each has its own topic, because each topic has its own index and name. */
#ifndef DUEPOST_WORKER_SWEEPER_H
#define DUEPOST_WORKER_SWEEPER_H

#include "store/shard.h"

struct sweeper;

/* Borrows the shard and the metrics. */
struct sweeper *sweeper_new(struct loop *, struct shard *, struct metrics *);

/* Starts a sweep, unless a sweep is under way. */
void sweeper_run(struct sweeper *);

void sweeper_free(struct sweeper *);

#endif

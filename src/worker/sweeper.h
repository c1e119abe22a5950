/* sweeper.h - removes jobs that have been kept for as long as the retention of their topic says: those that
 * have ended, and dead ones. In bounded steps, one after the other while there is much to remove. */
#ifndef DUEPOST_WORKER_SWEEPER_H
#define DUEPOST_WORKER_SWEEPER_H

#include "store/shard.h"

struct sweeper;

/* Borrows the shard. */
struct sweeper *sweeper_new(struct shard *);

/* Sweeps, unless it does so already. */
void sweeper_run(struct sweeper *);

void sweeper_free(struct sweeper *);

#endif

/* sweeper.h - removes jobs that have been kept for long enough: delivered and cancelled ones by the retention
 * of their topic, dead ones by that and by the bounds on dead jobs. In bounded steps, see pace.h. */
#ifndef DUEPOST_WORKER_SWEEPER_H
#define DUEPOST_WORKER_SWEEPER_H

#include "store/shard.h"

struct sweeper;

/* Borrows the shard and the metrics. */
struct sweeper *sweeper_new(struct loop *, struct shard *, struct metrics *);

/* Sweeps, unless a sweep is under way. */
void sweeper_run(struct sweeper *);

void sweeper_free(struct sweeper *);

#endif

/* sweeper.h - removes jobs that have been kept for long enough: delivered and cancelled ones by the retention
 * of their topic, dead ones by that and by the bounds on dead jobs. In bounded steps, see pace.h.
 *
 * With 1,000,000 kept jobs whose times are spread over an hour, none is 2 s late. When all times are over
 * in the same second, the last job goes within 10 s in one topic, and within 35 s in 1,000,000 topics, each
 * of which has its own index and name. These times hold where Redis has a processor to itself. */
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

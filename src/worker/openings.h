/* openings.h - computes when topics with the setting windows open and close (job/schedule/windows.h), because
 * scripts have no time zones. Redis has a list of topics for which this is missing or runs out. The owner of
 * the carry lock computes it, in bounded steps (sweep.h). If it dies before Redis has stored the result, the
 * topics stay in the list, and meanwhile no attempt of them begins. */
#ifndef DUEPOST_WORKER_OPENINGS_H
#define DUEPOST_WORKER_OPENINGS_H

#include "store/shard.h"

struct openings;

/* Borrows the shard. */
struct openings *openings_new(struct loop *, struct shard *);

/* Starts to compute, unless this is under way. now_ms: the time by Redis's clock. */
void openings_run(struct openings *, int64_t now_ms);

/* Call it after the store was freed. NULL is ignored. */
void openings_free(struct openings *);

#endif

/* surveyor.h - counts the due jobs of a shard in steps. Used when too many topics have due jobs for one call.
 *
 * Jobs become due as time passes, without any change in Redis, so no script can keep a count of due jobs up
 * to date. A survey counts the due jobs of a bounded number of topics in each step, and stores the result
 * in Redis for all processes. */
#ifndef DUEPOST_WORKER_SURVEYOR_H
#define DUEPOST_WORKER_SURVEYOR_H

#include "store/shard.h"

struct surveyor;

/* Borrows the loop and the shard. */
struct surveyor *surveyor_new(struct loop *, struct shard *);

/* Starts a survey, unless a survey is running. */
void surveyor_run(struct surveyor *);

void surveyor_free(struct surveyor *); /* NULL is ignored */

#endif

/* surveyor.h - counts the due jobs of a shard when too many topics have some for one call.
 *
 * Jobs become due by time alone, so no stored number can be right. A survey counts the topics that may have
 * due jobs, a bounded number in each step, and stores the result in Redis for all processes. */
#ifndef DUEPOST_WORKER_SURVEYOR_H
#define DUEPOST_WORKER_SURVEYOR_H

#include "store/shard.h"

struct surveyor;

/* Borrows both. */
struct surveyor *surveyor_new(struct loop *, struct shard *);

/* Surveys, unless a survey is running. */
void surveyor_run(struct surveyor *);

void surveyor_free(struct surveyor *); /* NULL is ignored */

#endif

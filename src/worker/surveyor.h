/* surveyor.h - counts the due jobs of a shard where too many topics have some for one call.
 *
 * Jobs become due by time alone, so nothing can keep their number. A survey looks at the topics that may have
 * some, a bounded number in each step, and leaves the result in Redis for whoever asks. */
#ifndef DUEPOST_WORKER_SURVEYOR_H
#define DUEPOST_WORKER_SURVEYOR_H

#include "store/shard.h"

struct surveyor;

/* Borrows both. */
struct surveyor *surveyor_new(struct loop *, struct shard *);

/* Surveys, unless it does so already. */
void surveyor_run(struct surveyor *);

void surveyor_free(struct surveyor *); /* NULL is fine */

#endif

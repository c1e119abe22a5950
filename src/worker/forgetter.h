/* forgetter.h - removes expired idempotency keys, in bounded steps, until none is left. */
#ifndef DUEPOST_WORKER_FORGETTER_H
#define DUEPOST_WORKER_FORGETTER_H

#include "store/shard.h"

struct forgetter;

/* Borrows the loop and the shard. */
struct forgetter *forgetter_new(struct loop *, struct shard *);

/* Starts removing keys, unless it is already running. */
void forgetter_run(struct forgetter *);

void forgetter_free(struct forgetter *); /* NULL is ignored */

#endif

/* forgetter.h - removes expired idempotency keys. In bounded steps, one after the other while there are
 * more. */
#ifndef DUEPOST_WORKER_FORGETTER_H
#define DUEPOST_WORKER_FORGETTER_H

#include "store/shard.h"

struct forgetter;

/* Borrows both. */
struct forgetter *forgetter_new(struct loop *, struct shard *);

/* Runs, unless it is already running. */
void forgetter_run(struct forgetter *);

void forgetter_free(struct forgetter *); /* NULL is ignored */

#endif

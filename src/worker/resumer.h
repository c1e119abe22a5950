/* resumer.h - gives held jobs their earlier due times again when the circuit breaker of their receiver
 * closes.
 *
 * Every reactor that had noted the breaker as open does this, in each shard, in bounded steps (pace.h); they
 * share the work. A job may have been held at the same moment, so each shard gets a second call after a
 * second. If all of these processes end at that moment, the jobs come back at the end of their hold (hold.h).
 */
#ifndef DUEPOST_WORKER_RESUMER_H
#define DUEPOST_WORKER_RESUMER_H

#include "store/shard.h"

struct resumer;

/* Borrows the store. */
struct resumer *resumer_new(struct loop *, struct store *);

/* Copies the receiver's name. */
void resumer_resume(struct resumer *, struct slice receiver);

/* Call it after the store was freed. NULL is ignored. */
void resumer_free(struct resumer *);

#endif

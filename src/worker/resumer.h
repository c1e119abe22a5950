/* resumer.h - gives held jobs back the due times that they had before the hold, when the circuit breaker of
 * their receiver closes.
 *
 * Every reactor in whose copy (receivers.h) the breaker was open does this, in each shard, in bounded
 * steps (pace.h). The reactors share the work. Other processes may still hold jobs at the moment at which
 * the breaker closes, so each shard gets a second call a second later. If all these processes die before
 * they have done this, the jobs come back at the end of their hold (hold.h). */
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

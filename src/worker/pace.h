/* pace.h - runs the steps of a sweep one after another, within a share of Redis's time.
 *
 * A sweep is work in bounded steps, each one script call: leases to recover, keys to forget, jobs to remove.
 * A step that was full is followed by the next one after a pause that leaves Redis about nine tenths of its
 * time. What a step costs Redis is not known here; the time from the call to its reply is at least that. */
#ifndef DUEPOST_WORKER_PACE_H
#define DUEPOST_WORKER_PACE_H

#include "io/loop.h"

struct pace;

/* step makes one call and then calls pace_again or pace_end, once, when its reply has come. Borrows arg. */
struct pace *pace_new(struct loop *, loop_fn *step, void *arg);

/* Runs a step now, unless a step or a pause is under way. */
void pace_run(struct pace *);

/* The step was full, or has not reached its end: the next one follows after the pause. */
void pace_again(struct pace *);

/* The sweep is done, or has failed; pace_run begins it anew. */
void pace_end(struct pace *);

/* Gives the pause after a step that took so long, in us. */
int64_t pace_pause_us(int64_t took_us);

void pace_free(struct pace *); /* NULL is fine */

#endif

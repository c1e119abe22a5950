/* pace.h - runs the steps of a sweep one after another, within a share of Redis's time.
 *
 * A sweep is work in bounded steps, each one script call: leases to recover, keys to forget, jobs to remove.
 * A full step is followed by the next one after a pause. The pause is as long as the share requires: a tenth
 * of Redis's time while the sweep is in time, rising evenly to half of it when the sweep is PACE_LATE_MS late
 * or more. The time from a call to its reply stands for what the step costs Redis, which is less. */
#ifndef DUEPOST_WORKER_PACE_H
#define DUEPOST_WORKER_PACE_H

#include "io/loop.h"

enum { PACE_LATE_MS = 2000 };

struct pace;

/* step makes one call and then calls pace_again or pace_end, once, when its reply has come. Borrows arg. */
struct pace *pace_new(struct loop *, loop_fn *step, void *arg);

/* Runs a step now, unless a step or a pause is under way. */
void pace_run(struct pace *);

/* Starts the next step after the pause: the step was full, or has not reached its end. late_ms: how late the
 * work is that is left; 0 where that is not known. */
void pace_again(struct pace *, int64_t late_ms);

/* Ends the sweep, which is done or has failed; pace_run begins it anew. */
void pace_end(struct pace *);

/* Returns the pause after a step that took so long, us. */
int64_t pace_pause_us(int64_t took_us, int64_t late_ms);

void pace_free(struct pace *); /* NULL is fine */

#endif

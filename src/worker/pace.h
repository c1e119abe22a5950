/* pace.h - runs the steps of a sweep one after another, within a share of Redis's time.
 *
 * A sweep is a long piece of work in Redis that is done in bounded steps, for example removing jobs. Each
 * step is one script call. If a step was full, the next step follows after a pause. The length of the pause
 * gives the sweep its share of Redis's time. The share is a tenth while the sweep is not late. The share
 * rises linearly to a half, which is reached when the sweep is PACE_LATE_MS late. For a sweep that creates
 * due jobs, the share is three quarters. The cost of a step is measured as the time from the call to its
 * reply, so it also includes the time on the network. */
#ifndef DUEPOST_WORKER_PACE_H
#define DUEPOST_WORKER_PACE_H

#include "io/loop.h"

enum { PACE_LATE_MS = 2000 };

struct pace;

/* Creates a pace that runs step. step sends one call; when the reply has come, the owner calls either
 * pace_again or pace_end, once. Borrows arg. */
struct pace *pace_new(struct loop *, loop_fn *step, void *arg);

/* Runs a step now, unless a step or a pause is under way. */
void pace_run(struct pace *);

/* Starts the next step after the pause. Call it if the step was full or the sweep has not reached its end.
 * late_ms: how late the remaining work is; 0 if unknown. */
void pace_again(struct pace *, int64_t late_ms);

/* Like pace_again, for a sweep that creates due jobs. Its share of Redis's time is three quarters. */
void pace_again_due(struct pace *);

/* Ends the sweep after its last step or after a failure. pace_run then begins a new sweep. */
void pace_end(struct pace *);

/* Returns the pause after a step that took took_us, in microseconds. */
int64_t pace_pause_us(int64_t took_us, int64_t late_ms);

void pace_free(struct pace *); /* NULL is ignored */

#endif

/* lapse.h - ends jobs that have expired while they wait, and workers' leases (store/pull.h) that have run
 * out. Such a lease counts as a failed attempt with the error lease_expired: its job is retried by the retry
 * schedule, or becomes dead, and its callbacks are then created. This is done in bounded steps until no such
 * lease is left.
 *
 * A step lists the jobs and ends each lease by its nonce, so an outcome that the worker has reported in
 * the meantime is not overwritten. If this process dies in between, the next step of any process lists the
 * jobs again. */
#ifndef DUEPOST_WORKER_LAPSE_H
#define DUEPOST_WORKER_LAPSE_H

#include "worker/lease_sweep.h"

struct lapse;

/* schedule is used for jobs that have no retry schedule, and whose topic has none. Borrows all arguments. */
struct lapse *lapse_new(struct loop *, struct shard *, const struct retry_schedule *schedule,
                        lease_sweep_may_fn *, void *arg);

/* Replaces the default retry schedule. */
void lapse_set_schedule(struct lapse *, const struct retry_schedule *);

/* Starts to end leases, unless this is already under way. Call it when leases have run out. */
void lapse_run(struct lapse *);

/* Starts to end expired jobs: they become dead, with their callbacks. Call it once a second while jobs expire
 * within a second, or have expired. Looks four times until the next call, so that jobs end soon after their
 * expiry. 10,000 jobs that expire at once take less than a second. */
void lapse_expire(struct lapse *);

void lapse_free(struct lapse *); /* NULL is ignored */

#endif

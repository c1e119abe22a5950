/* recovery.h - makes the jobs of lost consumers due again. A consumer is lost if it died or was cut off, so
 * that its leases expired. A job that has lost too many consumers is buried: it becomes dead. The recovery
 * works in bounded steps until no lost lease is left. 5,000 lost leases take less than a second. */
#ifndef DUEPOST_WORKER_RECOVERY_H
#define DUEPOST_WORKER_RECOVERY_H

#include "job/delivery/delivery_form.h"
#include "worker/lease_sweep.h"

struct recovery;

/* Borrows all arguments. */
struct recovery *recovery_new(struct loop *, struct shard *, const struct delivery_forms *, struct metrics *,
                              lease_sweep_may_fn *, void *arg);

/* Starts a recovery. Call it when there are lost leases. Does nothing while a recovery is under way. */
void recovery_run(struct recovery *);

void recovery_free(struct recovery *); /* NULL is ignored */

#endif

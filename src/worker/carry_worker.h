/* carry_worker.h - the role that carries topics whose time has come to the ready list.
 *
 * Of all processes on one shard one is the owner of the lock at a time. It carries
 * exactly when the earliest time comes, and each second. A standby takes over when
 * it saw the owner's beat stand still for CARRY_STUCK_US of its own clock: the lock
 * moves by beat, not by expiry, because clocks jump. An owner that stops gives the
 * lock back, and wakes the standbys. The owner also sees to it that lost leases
 * return, that idempotency keys are forgotten and that the books are audited.
 *
 * Carrying needs no lock, as it is harmless twice. So no job waits for the lock to
 * move: a standby carries what is overdue by CARRY_PATIENCE_MS. */
#ifndef DUEPOST_WORKER_CARRY_WORKER_H
#define DUEPOST_WORKER_CARRY_WORKER_H

#include "store/shard.h"

struct carry_worker;
struct janitor;

#define CARRY_STUCK_US INT64_C(2000000)
enum { CARRY_PATIENCE_MS = 250 };

struct carry_worker_options {
    struct shard *shard;
    struct metrics *metrics;
    struct janitor *janitor;
    /* Nobody else can be alive on this Redis (it is our private one): take the lock at once. */
    bool is_alone;
    /* A topic's time has come: the consumer beside us may claim in the same turn. */
    loop_fn *on_due;
    void *arg;
};

/* Borrows everything in options. */
struct carry_worker *carry_worker_new(struct loop *, const struct carry_worker_options *);

/* Gives the lock back, so that another process takes over at once. */
void carry_worker_stop(struct carry_worker *);

/* NULL is fine; after the store is gone. */
void carry_worker_free(struct carry_worker *);

#endif

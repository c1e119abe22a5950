/* carry_worker.h - the role that carries topics whose time has come to the ready list.
 *
 * One process at a time owns the lock of a shard. The owner carries exactly when the earliest time comes, and
 * each second. It also returns the jobs of lost leases, forgets idempotency keys and audits the books. An
 * owner that stops gives the lock back, which wakes the standbys.
 *
 * A standby takes over when it saw the owner's beat stand still for CARRY_STUCK_US of its own clock. The lock
 * moves by beat, not by expiry, because clocks jump. Carrying itself needs no lock, as it is harmless twice:
 * a standby carries jobs that are overdue by CARRY_PATIENCE_MS, so that no job waits for the lock to move.
 *
 * Lost leases return only after a quiet time: one lease without a disturbance, that is, without clocks that
 * step and without a Redis that is away. Live consumers renew their leases in that time. It counts from the
 * last disturbance that this process saw, not from the takeover of the lock. A process with a private Redis
 * has none at its start: no other process can renew the leases that it finds. */
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
    /* No other process can be alive on this Redis (it is our private one): take the lock at once. */
    bool is_alone;
    /* A topic's time has come: the consumer of this reactor may claim in the same turn. */
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

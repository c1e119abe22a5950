/* recovery.h - what becomes of leases that have run out: the jobs of lost consumers become due again, and the
 * leases of workers end. Also ends jobs that have expired while they wait. */
#ifndef DUEPOST_WORKER_RECOVERY_H
#define DUEPOST_WORKER_RECOVERY_H

#include "job/delivery/delivery_form.h"
#include "store/shard.h"
#include "worker/sweep.h"

/* ---- steps ----
 *
 * A sweep walks through expired leases, of consumers or of workers, or expired jobs, in bounded steps
 * (sweep.h).
 *
 * A step lists leases. Some of these leases then need a call to Redis of their own; such a lease is an item
 * of the step. The next step starts when all items have ended, so that only the texts of one step are in
 * memory. */

/* Called before each step. Returns true if live consumers and workers have had the time to renew their
 * leases, so that expired leases are lost. Sets *now_ms to this process's estimate of Redis's time. If
 * Redis's clock turns out to differ, because it has stepped, the script changes nothing. */
typedef bool lease_sweep_may_fn(void *arg, int64_t *now_ms);

struct lease_sweep {
    struct shard *shard;
    /* Name of the warning that is logged at the end of a sweep, with the number of jobs; not logged if the
     * number is 0. NULL: none. */
    const char *event;
    int64_t late_ms; /* how late the work of a full step counts, see pace_continue */
    lease_sweep_may_fn *may_run;
    void *may_arg;
    void (*list)(void *arg,
                 int64_t now_ms); /* lists the leases of a step; then lease_sweep_listed is called */
    void *arg;
    struct pace *pace;
    size_t jobs;    /* number of jobs of this sweep */
    size_t items;   /* number of items under way */
    size_t handled; /* number of leases of this step that the next step does not list again */
    bool is_listed; /* the leases of this step are listed; its items are under way */
    bool is_full;   /* the step was full: there may be more expired leases */
};

/* Sets the member pace, and clears the members after pace. The caller sets the members before pace. */
void lease_sweep_init(struct lease_sweep *, struct loop *);
void lease_sweep_fini(struct lease_sweep *);

/* Starts a sweep, unless one is under way. */
void lease_sweep_run(struct lease_sweep *);

/* Notes that a step has listed its leases and begun its items. handled is the number of leases that the next
 * step will not list again, whatever the results of the items are. If no lease of a step is handled, that
 * step is the last one, because the next step would list the same leases. */
void lease_sweep_listed(struct lease_sweep *, bool is_full, size_t handled);

void lease_sweep_begin_item(struct lease_sweep *);
void lease_sweep_end_item(struct lease_sweep *, bool is_handled);

/* ---- the recovery ----
 *
 * A consumer is lost if it died or was cut off, so that its leases ran out. Its jobs become due again. A job
 * that has lost too many consumers is buried: it becomes dead. 5,000 lost leases take less than a second.
 *
 * A worker's lease (store/pull.h) that has run out counts as a failed attempt with the error lease_expired:
 * its job is retried by the retry schedule, or becomes dead, and its callbacks are then created. A job that
 * expires while it waits becomes dead, too.
 *
 * A step lists jobs and ends each of them by the nonce of its lease, so an outcome that was reported in the
 * meantime is not overwritten. If this process dies in between, the next step of any process lists the jobs
 * again. */

struct recovery;

/* schedule is used for jobs that have no retry schedule, and whose topic has none. Borrows all arguments. */
struct recovery *recovery_new(struct loop *, struct shard *, const struct delivery_forms *,
                              const struct retry_schedule *schedule, struct metrics *, lease_sweep_may_fn *,
                              void *arg);

/* Replaces the default retry schedule. */
void recovery_set_schedule(struct recovery *, const struct retry_schedule *);

/* Starts to end leases that have run out, of consumers and of workers, unless this is already under way. Call
 * it when leases have run out. */
void recovery_run(struct recovery *);

/* Starts to end expired jobs: they become dead, with their callbacks. Call it once a second while jobs expire
 * within a second, or have expired. Looks four times until the next call, so that jobs end soon after their
 * expiry. 10,000 jobs that expire at once take less than a second. */
void recovery_end_expired(struct recovery *);

void recovery_free(struct recovery *); /* NULL is ignored */

#endif

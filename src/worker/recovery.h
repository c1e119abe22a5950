/* recovery.h - what becomes of expired leases: the recovery makes the jobs of lost consumers due again; the
 * reaper ends the leases of workers, and jobs that have expired while they wait. */
#ifndef DUEPOST_WORKER_RECOVERY_H
#define DUEPOST_WORKER_RECOVERY_H

#include "job/delivery/delivery_form.h"
#include "store/shard.h"
#include "worker/sweep.h"

/* ---- steps ----
 *
 * Both walk through expired leases in bounded steps (sweep.h).
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

/* ---- the recovery: leases of consumers ----
 *
 * A consumer is lost if it died or was cut off, so that its leases expired. A job that has lost too many
 * consumers is buried: it becomes dead. The recovery works in bounded steps until no lost lease is left.
 * 5,000 lost leases take less than a second. */

struct recovery;

/* Borrows all arguments. */
struct recovery *recovery_new(struct loop *, struct shard *, const struct delivery_forms *, struct metrics *,
                              lease_sweep_may_fn *, void *arg);

/* Starts a recovery. Call it when there are lost leases. Does nothing while a recovery is under way. */
void recovery_run(struct recovery *);

void recovery_free(struct recovery *); /* NULL is ignored */

/* ---- the reaper: leases of workers, and expired jobs ----
 *
 * Ends jobs that have expired while they wait, and workers' leases (store/pull.h) that have run
 * out. Such a lease counts as a failed attempt with the error lease_expired: its job is retried by the retry
 * schedule, or becomes dead, and its callbacks are then created. This is done in bounded steps until no such
 * lease is left.
 *
 * A step lists the jobs and ends each lease by its nonce, so an outcome that the worker has reported in
 * the meantime is not overwritten. If this process dies in between, the next step of any process lists the
 * jobs again. */

struct reaper;

/* schedule is used for jobs that have no retry schedule, and whose topic has none. Borrows all arguments. */
struct reaper *reaper_new(struct loop *, struct shard *, const struct retry_schedule *schedule,
                          lease_sweep_may_fn *, void *arg);

/* Replaces the default retry schedule. */
void reaper_set_schedule(struct reaper *, const struct retry_schedule *);

/* Starts to end leases, unless this is already under way. Call it when leases have run out. */
void reaper_end_leases(struct reaper *);

/* Starts to end expired jobs: they become dead, with their callbacks. Call it once a second while jobs expire
 * within a second, or have expired. Looks four times until the next call, so that jobs end soon after their
 * expiry. 10,000 jobs that expire at once take less than a second. */
void reaper_end_jobs(struct reaper *);

void reaper_free(struct reaper *); /* NULL is ignored */

#endif

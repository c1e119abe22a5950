/* lease_sweep.h - walks through expired leases in bounded steps (pace.h), for recovery.h and lapse.h.
 *
 * A step lists leases. Some of these leases then need a call to Redis of their own; such a lease is an item
 * of the step. The next step starts when all items have ended, so that only the texts of one step are in
 * memory. */
#ifndef DUEPOST_WORKER_LEASE_SWEEP_H
#define DUEPOST_WORKER_LEASE_SWEEP_H

#include "store/shard.h"
#include "worker/pace.h"

/* Called before each step. Returns true if live consumers and workers have had the time to renew their
 * leases, so that expired leases are lost. Sets *now_ms to this process's estimate of Redis's time. If
 * Redis's clock turns out to differ, because it has stepped, the script changes nothing. */
typedef bool lease_sweep_may_fn(void *arg, int64_t *now_ms);

struct lease_sweep {
    struct shard *shard;
    /* Name of the warning that is logged at the end of a sweep, with the number of jobs; not logged if the
     * number is 0. NULL: none. */
    const char *event;
    int64_t late_ms; /* how late the work of a full step counts, see pace_again */
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

#endif

/* recovery.h - returns the jobs of lost consumers, and buries each job that has lost too many consumers. The
 * recovery works in bounded steps until no lost lease is left. 5,000 lost leases take less than a second. */
#ifndef DUEPOST_WORKER_RECOVERY_H
#define DUEPOST_WORKER_RECOVERY_H

#include "job/form.h"
#include "store/shard.h"

struct recovery;

/* Called before each step. Returns true if live consumers have had the time to renew their leases, so that
 * expired leases are lost. Sets *now_ms to this process's estimate of Redis's time. If Redis's clock turns
 * out to differ, because it has stepped, the script changes nothing. */
typedef bool recovery_may_fn(void *arg, int64_t *now_ms);

/* Borrows all arguments. */
struct recovery *recovery_new(struct loop *, struct shard *, const struct delivery_forms *, struct metrics *,
                              recovery_may_fn *, void *arg);

/* Starts a recovery. Call it when there are lost leases. Does nothing while a recovery is under way. */
void recovery_run(struct recovery *);

void recovery_free(struct recovery *); /* NULL is ignored */

#endif

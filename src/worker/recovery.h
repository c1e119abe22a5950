/* recovery.h - returns the jobs of consumers that were lost, and buries those that lost too many. In bounded
 * steps, one after the other while there are more: 5,000 lost leases take less than a second. */
#ifndef DUEPOST_WORKER_RECOVERY_H
#define DUEPOST_WORKER_RECOVERY_H

#include "store/shard.h"

struct recovery;

/* Whether leases that ran out count as lost now: live consumers have had the time to renew theirs. now_ms
 * gets Redis's clock as far as we know; Redis does nothing when it has stepped since. Asked before each step.
 */
typedef bool recovery_may_fn(void *arg, int64_t *now_ms);

/* Borrows all. */
struct recovery *recovery_new(struct loop *, struct shard *, struct metrics *, recovery_may_fn *, void *arg);

/* There are lost leases. Does nothing while a recovery is under way. */
void recovery_run(struct recovery *);

void recovery_free(struct recovery *); /* NULL is ignored */

#endif

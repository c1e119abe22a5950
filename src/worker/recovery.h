/* recovery.h - returns the jobs of consumers that were lost. */
#ifndef DUEPOST_WORKER_RECOVERY_H
#define DUEPOST_WORKER_RECOVERY_H

#include "store/shard.h"

struct recovery;

/* Borrows both. */
struct recovery *recovery_new(struct shard *, struct metrics *);

/* There are lost leases, and live consumers have had the time to renew theirs. expected_ms: Redis's clock as
 * far as we know; Redis does nothing when it has stepped since. */
void recovery_run(struct recovery *, int64_t expected_ms);

void recovery_free(struct recovery *);

#endif

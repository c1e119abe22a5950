#include "worker/recovery.h"

#include "base/log.h"
#include "base/memory.h"

struct recovery {
    struct shard *shard;
    bool is_running;
    struct metrics *metrics;
};

/* What one call leaves, the next tick of the carry worker finds. */
static void on_recovered(void *arg, enum status status, size_t count)
{
    struct recovery *recovery = arg;
    recovery->is_running = false;
    if (status != STATUS_OK || count == 0)
        return;
    metrics_count(recovery->metrics, METRICS_COUNTER_RECOVERED, count);
    log_warning("leases_recovered", LOG_NUMBER("shard", shard_number(recovery->shard)),
                LOG_NUMBER("jobs", count));
}

struct recovery *recovery_new(struct shard *shard, struct metrics *metrics)
{
    struct recovery *recovery = NEW(struct recovery);
    recovery->shard = shard;
    recovery->metrics = metrics;
    return recovery;
}

void recovery_run(struct recovery *recovery, int64_t expected_ms)
{
    if (recovery->is_running)
        return;
    recovery->is_running = true;
    shard_recover(recovery->shard, expected_ms, on_recovered, recovery);
}

void recovery_free(struct recovery *recovery)
{
    free(recovery);
}

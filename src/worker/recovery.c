#include "worker/recovery.h"

#include "base/log.h"
#include "base/memory.h"
#include "worker/pace.h"

struct recovery {
    struct shard *shard;
    struct metrics *metrics;
    recovery_may_fn *may_recover;
    void *arg;
    struct pace *pace;
    size_t jobs; /* returned since recovery_run */
};

static void end(struct recovery *recovery)
{
    pace_end(recovery->pace);
    if (recovery->jobs > 0)
        log_warning("leases_recovered", LOG_NUMBER("shard", shard_number(recovery->shard)),
                    LOG_NUMBER("jobs", recovery->jobs));
    recovery->jobs = 0;
}

static void on_recovered(void *arg, enum status status, size_t count, bool is_full)
{
    struct recovery *recovery = arg;
    recovery->jobs += count;
    metrics_count(recovery->metrics, METRICS_COUNTER_RECOVERED, count);
    if (status == STATUS_OK && is_full)
        pace_again(recovery->pace);
    else
        end(recovery);
}

static void step(void *arg)
{
    struct recovery *recovery = arg;
    int64_t now_ms;
    if (recovery->may_recover(recovery->arg, &now_ms))
        shard_recover(recovery->shard, now_ms, on_recovered, recovery);
    else
        end(recovery);
}

struct recovery *recovery_new(struct loop *loop, struct shard *shard, struct metrics *metrics,
                              recovery_may_fn *may_recover, void *arg)
{
    struct recovery *recovery = NEW(struct recovery);
    recovery->shard = shard;
    recovery->metrics = metrics;
    recovery->may_recover = may_recover;
    recovery->arg = arg;
    recovery->pace = pace_new(loop, step, recovery);
    return recovery;
}

void recovery_run(struct recovery *recovery)
{
    pace_run(recovery->pace);
}

void recovery_free(struct recovery *recovery)
{
    if (!recovery)
        return;
    pace_free(recovery->pace);
    free(recovery);
}

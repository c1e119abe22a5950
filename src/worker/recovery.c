#include "worker/recovery.h"

#include "base/log.h"
#include "base/memory.h"
#include "job/job_id.h"
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

/* Its record, with its attempts and its receiver, stays in Redis. */
static void tell_death(struct recovery *recovery, struct slice id)
{
    struct slice topic, job_id;
    log_warning("job_dead", LOG_SLICE("job", id), LOG_TEXT("reason", "consumer_lost"));
    if (job_key_parse(id, &topic, &job_id))
        metrics_ended(recovery->metrics, topic, METRICS_END_DEAD);
}

static void on_recovered(void *arg, enum status status, const struct shard_recovered *recovered)
{
    struct recovery *recovery = arg;
    recovery->jobs += recovered->count;
    metrics_count(recovery->metrics, METRICS_COUNTER_RECOVERED, recovered->count);
    for (size_t i = 0; i < recovered->dead_count; i++)
        tell_death(recovery, recovered->dead[i]);
    if (status == STATUS_OK && recovered->is_full)
        pace_again(recovery->pace, 0);
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

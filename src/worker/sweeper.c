#include "worker/sweeper.h"

#include "base/log.h"
#include "base/memory.h"
#include "worker/pace.h"

struct sweeper {
    struct shard *shard;
    struct metrics *metrics;
    struct pace *pace;
    struct shard_swept total; /* numbers of removed jobs in the current sweep */
};

/* Logs the sweep. Dead jobs removed by a limit are a warning, because they cannot be run again. */
static void log_sweep(const struct sweeper *sweeper)
{
    const struct shard_swept *total = &sweeper->total;
    bool is_bound = total->by_age + total->by_number > 0;
    if (total->ended + total->by_retention > 0 || is_bound)
        LOG_EVENT(is_bound ? LOG_LEVEL_WARNING : LOG_LEVEL_DEBUG, is_bound ? "dead_jobs_removed" : "swept",
                  LOG_NUMBER("shard", shard_number(sweeper->shard)), LOG_NUMBER("ended", total->ended),
                  LOG_NUMBER("by_retention", total->by_retention), LOG_NUMBER("by_age", total->by_age),
                  LOG_NUMBER("by_number", total->by_number));
}

static void add(struct sweeper *sweeper, const struct shard_swept *swept)
{
    struct shard_swept *total = &sweeper->total;
    total->ended += swept->ended;
    total->by_retention += swept->by_retention;
    total->by_age += swept->by_age;
    total->by_number += swept->by_number;
    metrics_count(sweeper->metrics, METRICS_COUNTER_DEAD_REMOVED_BY_RETENTION, swept->by_retention);
    metrics_count(sweeper->metrics, METRICS_COUNTER_DEAD_REMOVED_BY_AGE, swept->by_age);
    metrics_count(sweeper->metrics, METRICS_COUNTER_DEAD_REMOVED_BY_NUMBER, swept->by_number);
}

static void on_swept(void *arg, enum status status, const struct shard_swept *swept)
{
    struct sweeper *sweeper = arg;
    if (status == STATUS_OK)
        add(sweeper, swept);
    if (status == STATUS_OK && swept->is_full) {
        pace_again(sweeper->pace, swept->late_ms);
        return;
    }
    log_sweep(sweeper);
    sweeper->total = (struct shard_swept){.is_full = false};
    pace_end(sweeper->pace);
}

static void sweeper_step(void *arg)
{
    struct sweeper *sweeper = arg;
    shard_sweep(sweeper->shard, on_swept, sweeper);
}

struct sweeper *sweeper_new(struct loop *loop, struct shard *shard, struct metrics *metrics)
{
    struct sweeper *sweeper = NEW(struct sweeper);
    sweeper->shard = shard;
    sweeper->metrics = metrics;
    sweeper->pace = pace_new(loop, sweeper_step, sweeper);
    return sweeper;
}

void sweeper_run(struct sweeper *sweeper)
{
    pace_run(sweeper->pace);
}

void sweeper_free(struct sweeper *sweeper)
{
    if (!sweeper)
        return;
    pace_free(sweeper->pace);
    free(sweeper);
}

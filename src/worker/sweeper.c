#include "worker/sweeper.h"

#include "base/log.h"
#include "base/memory.h"

struct sweeper {
    struct shard *shard;
    bool is_running;
    int64_t from;       /* of the dead: where the walk through them goes on */
    size_t ended, dead; /* removed in this run */
};

static void step(struct sweeper *);

static void end_run(struct sweeper *sweeper)
{
    sweeper->is_running = false;
    if (sweeper->ended + sweeper->dead > 0)
        log_debug("swept", LOG_NUMBER("shard", shard_number(sweeper->shard)),
                  LOG_NUMBER("ended", sweeper->ended), LOG_NUMBER("dead", sweeper->dead));
}

/* There may be many dead ones that stay: where a step removes none, the next step is the next run's. */
static void on_swept(void *arg, enum status status, const struct shard_swept *swept)
{
    struct sweeper *sweeper = arg;
    if (status != STATUS_OK) {
        sweeper->from = 0;
        end_run(sweeper);
        return;
    }
    sweeper->from = swept->next;
    sweeper->ended += swept->ended;
    sweeper->dead += swept->dead;
    if (swept->is_full || (swept->dead > 0 && swept->next > 0))
        step(sweeper);
    else
        end_run(sweeper);
}

static void step(struct sweeper *sweeper)
{
    shard_sweep(sweeper->shard, sweeper->from, on_swept, sweeper);
}

struct sweeper *sweeper_new(struct shard *shard)
{
    struct sweeper *sweeper = NEW(struct sweeper);
    sweeper->shard = shard;
    return sweeper;
}

void sweeper_run(struct sweeper *sweeper)
{
    if (sweeper->is_running)
        return;
    sweeper->is_running = true;
    sweeper->ended = sweeper->dead = 0;
    step(sweeper);
}

void sweeper_free(struct sweeper *sweeper)
{
    free(sweeper);
}

#include "worker/pattern_keeper.h"

#include "base/log.h"
#include "base/memory.h"
#include "worker/pace.h"

struct pattern_keeper {
    struct store *store;
    struct shard *shard;
    struct pace *pace;
    size_t offered; /* number of topics that the current walk has offered (pattern_keeper.h) */
    bool is_mending;
    int64_t step_ms,
        sent_ms; /* steps of Redis's clock that are not sent yet, and those of the call under way */
};

/* ---- offering topics again ---- */

static void on_reoffered(void *arg, enum status status, size_t count, bool is_full)
{
    struct pattern_keeper *keeper = arg;
    keeper->offered += count;
    if (status == STATUS_UNAVAILABLE)
        keeper->step_ms += keeper->sent_ms; /* the next tick sends it again */
    is_full |= status == STATUS_OK && keeper->step_ms != 0;
    if (status == STATUS_OK && is_full) {
        pace_again(
            keeper->pace,
            PACE_LATE_MS); /* topics wait for their new settings, so the walk may take half of Redis's time */
        return;
    }
    if (status == STATUS_OK && keeper->offered > 0)
        LOG_EVENT(LOG_LEVEL_DEBUG, "topics_offered_again", LOG_NUMBER("shard", shard_number(keeper->shard)),
                  LOG_NUMBER("topics", keeper->offered));
    keeper->offered = 0;
    pace_end(keeper->pace);
}

static void reoffer_step(void *arg)
{
    struct pattern_keeper *keeper = arg;
    keeper->sent_ms = keeper->step_ms;
    keeper->step_ms = 0;
    shard_reoffer(keeper->shard, keeper->sent_ms, on_reoffered, keeper);
}

/* ---- mending copies ---- */

static void on_mended(void *arg, enum status status, size_t count)
{
    struct pattern_keeper *keeper = arg;
    keeper->is_mending = false;
    if (status == STATUS_OK && count > 0)
        log_warning("patterns_mended", LOG_NUMBER("shards", count));
}

static void mend(struct pattern_keeper *keeper)
{
    if (keeper->is_mending || store_shards(keeper->store) == 1 ||
        shard_number(keeper->shard) != store_patterns_shard(keeper->store))
        return;
    keeper->is_mending = true;
    store_mend_patterns(keeper->store, on_mended, keeper);
}

/* ---- */

struct pattern_keeper *pattern_keeper_new(struct loop *loop, struct store *store, struct shard *shard)
{
    struct pattern_keeper *keeper = NEW(struct pattern_keeper);
    keeper->store = store;
    keeper->shard = shard;
    keeper->pace = pace_new(loop, reoffer_step, keeper);
    return keeper;
}

void pattern_keeper_tick(struct pattern_keeper *keeper, bool has_walk)
{
    if (!keeper)
        return;
    if (has_walk || keeper->step_ms != 0)
        pace_run(keeper->pace);
    mend(keeper);
}

void pattern_keeper_step(struct pattern_keeper *keeper, int64_t ms)
{
    if (!keeper)
        return;
    keeper->step_ms += ms;
    pace_run(keeper->pace);
}

void pattern_keeper_free(struct pattern_keeper *keeper)
{
    if (!keeper)
        return;
    pace_free(keeper->pace);
    free(keeper);
}

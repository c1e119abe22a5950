#include "worker/lapse.h"

#include "base/memory.h"

struct lapse {
    const struct retry_schedule *schedule;
    struct lease_sweep sweep;
};

static void on_lapse_ended(void *arg, enum status status)
{
    struct lapse *lapse = arg;
    if (status == STATUS_OK)
        lapse->sweep.jobs++;
    lease_sweep_end_item(&lapse->sweep, status == STATUS_OK || status == STATUS_STALE);
}

static void on_lapsed(void *arg, enum status status, const struct shard_lapsed *lapsed)
{
    struct lapse *lapse = arg;
    for (size_t i = 0; i < lapsed->count; i++) {
        lease_sweep_begin_item(&lapse->sweep);
        shard_end_lapsed(lapse->sweep.shard, &lapsed->jobs[i], lapsed->now_ms, lapse->schedule,
                         on_lapse_ended, lapse);
    }
    lease_sweep_listed(&lapse->sweep, status == STATUS_OK && lapsed->is_full, 0);
}

static void lapse_list(void *arg, int64_t now_ms)
{
    struct lapse *lapse = arg;
    shard_list_lapsed(lapse->sweep.shard, now_ms, on_lapsed, lapse);
}

struct lapse *lapse_new(struct loop *loop, struct shard *shard, const struct retry_schedule *schedule,
                        lease_sweep_may_fn *may_run, void *arg)
{
    struct lapse *lapse = NEW(struct lapse);
    lapse->schedule = schedule;
    lapse->sweep = (struct lease_sweep){.shard = shard,
                                        .event = "leases_expired",
                                        .may_run = may_run,
                                        .may_arg = arg,
                                        .list = lapse_list,
                                        .arg = lapse};
    lease_sweep_init(&lapse->sweep, loop);
    return lapse;
}

void lapse_set_schedule(struct lapse *lapse, const struct retry_schedule *schedule)
{
    lapse->schedule = schedule;
}

void lapse_run(struct lapse *lapse)
{
    lease_sweep_run(&lapse->sweep);
}

void lapse_free(struct lapse *lapse)
{
    if (!lapse)
        return;
    lease_sweep_fini(&lapse->sweep);
    free(lapse);
}

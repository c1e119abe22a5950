#include "worker/lapse.h"

#include "base/memory.h"

#define EXPIRY_US INT64_C(250000)

enum { EXPIRY_LOOKS = 4 };

struct lapse {
    const struct retry_schedule *schedule;
    struct lease_sweep sweep;    /* leases that have run out */
    struct lease_sweep expiries; /* jobs that have expired */
    struct timer *expiry;
    int looks_left;
};

static void on_lapse_ended(void *arg, enum status status)
{
    struct lapse *lapse = arg;
    if (status == STATUS_OK)
        lapse->sweep.jobs++;
    lease_sweep_end_item(&lapse->sweep, status == STATUS_OK || status == STATUS_STALE);
}

static void on_expired_ended(void *arg, enum status status)
{
    struct lapse *lapse = arg;
    (void)status; /* after a failure, a later step lists the job again */
    lease_sweep_end_item(&lapse->expiries, true);
}

static void on_expired(void *arg, enum status status, const struct shard_lapsed *expired)
{
    struct lapse *lapse = arg;
    for (size_t i = 0; i < expired->count; i++) {
        lease_sweep_begin_item(&lapse->expiries);
        shard_end_lapsed(lapse->expiries.shard, &expired->jobs[i], expired->now_ms, lapse->schedule,
                         on_expired_ended, lapse);
    }
    lease_sweep_listed(&lapse->expiries, status == STATUS_OK && expired->is_full, expired->number);
}

static void expiry_list(void *arg, int64_t now_ms)
{
    struct lapse *lapse = arg;
    shard_list_expired(lapse->expiries.shard, now_ms, on_expired, lapse);
}

static void on_expiry(void *arg)
{
    struct lapse *lapse = arg;
    lease_sweep_run(&lapse->expiries);
    if (--lapse->looks_left > 0)
        timer_start(lapse->expiry, EXPIRY_US);
}

void lapse_expire(struct lapse *lapse)
{
    lapse->looks_left = EXPIRY_LOOKS;
    timer_stop(lapse->expiry);
    on_expiry(lapse);
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
    lapse->expiries = (struct lease_sweep){.shard = shard,
                                           .late_ms = PACE_LATE_MS,
                                           .may_run = may_run,
                                           .may_arg = arg,
                                           .list = expiry_list,
                                           .arg = lapse};
    lapse->expiry = timer_new(loop, on_expiry, lapse);
    lease_sweep_init(&lapse->sweep, loop);
    lease_sweep_init(&lapse->expiries, loop);
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
    lease_sweep_fini(&lapse->expiries);
    timer_free(lapse->expiry);
    free(lapse);
}

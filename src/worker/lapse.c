#include "worker/lapse.h"

#include "base/log.h"
#include "base/memory.h"
#include "worker/pace.h"

struct lapse {
    struct shard *shard;
    const struct retry_schedule *schedule;
    recovery_may_fn *may_run;
    void *arg;
    struct pace *pace;
    size_t jobs;     /* number of leases ended since lapse_run */
    size_t ends;     /* number of ends under way */
    size_t ended;    /* number of leases ended in this step; the next step does not list them */
    bool is_waiting; /* the call of this step has returned; the leases that it listed are being ended */
    bool is_full;    /* the last step was full, so there may be more such leases */
};

static void lapse_stop(struct lapse *lapse)
{
    pace_end(lapse->pace);
    if (lapse->jobs > 0)
        log_warning("leases_expired", LOG_NUMBER("shard", shard_number(lapse->shard)),
                    LOG_NUMBER("jobs", lapse->jobs));
    lapse->jobs = 0;
}

/* Starts the next step when all leases of this step are ended, so that only the texts of one step are in
 * memory. A step that has ended no lease is the last one, because the next step would list the same leases.
 */
static void lapse_end_step(struct lapse *lapse)
{
    if (!lapse->is_waiting || lapse->ends > 0)
        return;
    lapse->is_waiting = false;
    if (lapse->is_full && lapse->ended > 0)
        pace_again(lapse->pace, 0);
    else
        lapse_stop(lapse);
}

static void on_lapse_ended(void *arg, enum status status)
{
    struct lapse *lapse = arg;
    if (status == STATUS_OK)
        lapse->jobs++;
    lapse->ended += status == STATUS_OK || status == STATUS_STALE;
    lapse->ends--;
    lapse_end_step(lapse);
}

static void on_lapsed(void *arg, enum status status, const struct shard_lapsed *lapsed)
{
    struct lapse *lapse = arg;
    lapse->is_full = status == STATUS_OK && lapsed->is_full;
    lapse->ends = lapsed->count;
    lapse->ended = 0;
    for (size_t i = 0; i < lapsed->count; i++)
        shard_end_lapsed(lapse->shard, &lapsed->jobs[i], lapsed->now_ms, lapse->schedule, on_lapse_ended,
                         lapse);
    lapse->is_waiting = true;
    lapse_end_step(lapse);
}

static void lapse_step(void *arg)
{
    struct lapse *lapse = arg;
    int64_t now_ms;
    if (lapse->may_run(lapse->arg, &now_ms))
        shard_list_lapsed(lapse->shard, now_ms, on_lapsed, lapse);
    else
        lapse_stop(lapse);
}

struct lapse *lapse_new(struct loop *loop, struct shard *shard, const struct retry_schedule *schedule,
                        recovery_may_fn *may_run, void *arg)
{
    struct lapse *lapse = NEW(struct lapse);
    lapse->shard = shard;
    lapse->schedule = schedule;
    lapse->may_run = may_run;
    lapse->arg = arg;
    lapse->pace = pace_new(loop, lapse_step, lapse);
    return lapse;
}

void lapse_set_schedule(struct lapse *lapse, const struct retry_schedule *schedule)
{
    lapse->schedule = schedule;
}

void lapse_run(struct lapse *lapse)
{
    pace_run(lapse->pace);
}

void lapse_free(struct lapse *lapse)
{
    if (!lapse)
        return;
    pace_free(lapse->pace);
    free(lapse);
}

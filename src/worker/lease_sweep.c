#include "worker/lease_sweep.h"

#include "base/log.h"

static void lease_sweep_stop(struct lease_sweep *sweep)
{
    pace_end(sweep->pace);
    if (sweep->event && sweep->jobs > 0)
        log_warning(sweep->event, LOG_NUMBER("shard", shard_number(sweep->shard)),
                    LOG_NUMBER("jobs", sweep->jobs));
    sweep->jobs = 0;
}

static void lease_sweep_end_step(struct lease_sweep *sweep)
{
    if (!sweep->is_listed || sweep->items > 0)
        return;
    sweep->is_listed = false;
    if (sweep->is_full && sweep->handled > 0)
        pace_again(sweep->pace, sweep->late_ms);
    else
        lease_sweep_stop(sweep);
}

static void lease_sweep_step(void *arg)
{
    struct lease_sweep *sweep = arg;
    int64_t now_ms;
    sweep->handled = 0;
    if (sweep->may_run(sweep->may_arg, &now_ms))
        sweep->list(sweep->arg, now_ms);
    else
        lease_sweep_stop(sweep);
}

void lease_sweep_init(struct lease_sweep *sweep, struct loop *loop)
{
    sweep->pace = pace_new(loop, lease_sweep_step, sweep);
    sweep->jobs = sweep->items = sweep->handled = 0;
    sweep->is_listed = sweep->is_full = false;
}

void lease_sweep_fini(struct lease_sweep *sweep)
{
    pace_free(sweep->pace);
}

void lease_sweep_run(struct lease_sweep *sweep)
{
    pace_run(sweep->pace);
}

void lease_sweep_listed(struct lease_sweep *sweep, bool is_full, size_t handled)
{
    sweep->is_listed = true;
    sweep->is_full = is_full;
    sweep->handled += handled;
    lease_sweep_end_step(sweep);
}

void lease_sweep_begin_item(struct lease_sweep *sweep)
{
    sweep->items++;
}

void lease_sweep_end_item(struct lease_sweep *sweep, bool is_handled)
{
    sweep->items--;
    sweep->handled += is_handled;
    lease_sweep_end_step(sweep);
}

#include "app/overview.h"

#include <assert.h>
#include <stdlib.h>

#include "app/app_private.h"
#include "app/job_counts.h"
#include "base/memory.h"
#include "base/system.h"
#include "store/store.h"

struct overview_call {
    struct app *app;
    const struct app_caller *caller;
    app_overview_fn *fn;
    void *arg;
};

/* Returns the number of topics. The topics are already in the order of their due times. */
static size_t overview_overdue(const struct job_counts_result *count, const struct app_caller *caller,
                               const struct urgent_topic *overdue[APP_OVERVIEW_TOPICS])
{
    size_t found = 0;
    for (size_t i = 0; i < count->topic_count && found < APP_OVERVIEW_TOPICS; i++) {
        const struct urgent_topic *topic = &count->topics[i];
        if (topic->late_ms > 0 && app_caller_reaches(caller, slice_of(topic->name)))
            overdue[found++] = topic;
    }
    return found;
}

static size_t overview_failing(const struct job_counts_result *count, const struct app_caller *caller,
                               const struct failing_topic *failing[APP_OVERVIEW_TOPICS])
{
    size_t found = 0;
    for (size_t i = 0; i < count->failing_count && found < APP_OVERVIEW_TOPICS; i++) {
        const struct failing_topic *topic = &count->failing[i];
        if (app_caller_reaches(caller, slice_of(topic->name)))
            failing[found++] = topic;
    }
    return found;
}

/* While Redis is down, its memory use is unknown. */
static struct app_overview_redis overview_redis(const struct app *app, bool is_up,
                                                char durability[DURABILITY_TEXT_MAX])
{
    const struct redis_info *info = store_redis_info(app->store);
    redis_info_durability(info, durability);
    return (struct app_overview_redis){
        .is_up = is_up,
        .durability = durability,
        .version = info->version,
        .is_private = app->is_redis_private,
        .used_bytes = info->is_known ? info->used_bytes : 0,
        .max_bytes = info->is_known ? info->max_bytes : 0,
    };
}

/* Sums the workers that wait for jobs over all processes. */
static int64_t overview_waiting(const struct app *app)
{
    struct live_process *processes = NEW_ARRAY(struct live_process, LIVE_PROCESSES_MAX + 1);
    size_t count = live_board_processes(app->live, clock_boot_us(), processes);
    int64_t waiting = 0;
    for (size_t i = 0; i < count; i++)
        waiting += (int64_t)processes[i].waiting;
    free(processes);
    return waiting;
}

static void on_overview_count(void *arg, enum status status, const struct job_counts_result *count)
{
    struct overview_call *call = arg;
    const struct store_counts *counts = &count->all;
    bool is_counted = counts->due_age_ms >= 0;
    int64_t waiting = counts->waiting - counts->held;
    int64_t ready = counts->ready < waiting ? counts->ready : waiting;
    struct app_overview_jobs jobs = {
        .delayed = is_counted ? waiting - ready : -1,
        .ready = is_counted ? ready : -1,
        .held = counts->held,
        .leased = counts->leased,
        .pulled = counts->pulled,
        .dead = counts->dead,
        .retrying = counts->histories,
        .outbox = counts->outbox,
        .outbox_bytes = counts->outbox_bytes,
        .outbox_age_ms = counts->outbox_age_ms,
    };
    const struct urgent_topic *overdue[APP_OVERVIEW_TOPICS];
    const struct failing_topic *failing[APP_OVERVIEW_TOPICS];
    char durability[DURABILITY_TEXT_MAX];
    bool is_known = status == STATUS_OK, is_all = call->caller->topics.size == 0;
    struct app_overview overview = {
        .now_ms = app_now_ms(call->app),
        .jobs = is_known ? &jobs : NULL,
        .live = call->app->live,
        .overdue = is_known ? overdue : NULL,
        .overdue_count = is_known ? overview_overdue(count, call->caller, overdue) : 0,
        .failing = is_known ? failing : NULL,
        .failing_count = is_known ? overview_failing(count, call->caller, failing) : 0,
        .receivers = is_known && is_all && count->has_impaired ? &count->impaired : NULL,
        .forecast = is_known && is_all && count->has_forecast ? &count->forecast : NULL,
        .workers_waiting = overview_waiting(call->app),
        .worker_leases = count->all.pulled,
        .redis = overview_redis(call->app, is_known, durability),
    };
    call->fn(call->arg, &overview);
    free(call);
}

void app_overview(struct app *app, const struct app_caller *caller, app_overview_fn *fn, void *arg)
{
    struct overview_call *call = NEW(struct overview_call);
    *call = (struct overview_call){app, caller, fn, arg};
    live_board_ask(app->live, clock_boot_us());
    job_counts_want_more(app->counts);
    job_counts_ask(app->counts, app->store, on_overview_count, call);
}

/* ---- health ---- */

static_assert((int)APP_DURABILITY_SIZE >= (int)DURABILITY_TEXT_MAX, "the store's word for a durability fits");

void app_health(const struct app *app, struct app_health *health)
{
    const struct redis_info *info = store_redis_info(app->store);
    *health = (struct app_health){.is_redis_known = info->is_known};
    health->is_ready = store_is_ready(app->store, &health->why);
    store_durability_configured(app->store, health->durability);
    if (!info->is_known)
        return;
    health->version = info->version;
    health->role = info->role;
    health->eviction = info->eviction;
    redis_info_durability(info, health->in_force);
    health->is_trusted = info->is_trusted;
}

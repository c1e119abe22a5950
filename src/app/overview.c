#include "app/overview.h"

#include "app/tally.h"
#include "base/clock.h"
#include "base/memory.h"

struct overview_call {
    struct app *app;
    app_overview_fn *fn;
    void *arg;
};

static struct app_overview_jobs overview_jobs(const struct store_counts *counts)
{
    bool is_counted = counts->due_age_ms >= 0;
    int64_t waiting = counts->waiting - counts->held;
    int64_t ready = counts->ready < waiting ? counts->ready : waiting;
    return (struct app_overview_jobs){
        .delayed = is_counted ? waiting - ready : -1,
        .ready = is_counted ? ready : -1,
        .held = counts->held,
        .leased = counts->leased,
        .dead = counts->dead,
        .outbox = counts->outbox,
        .outbox_bytes = counts->outbox_bytes,
        .outbox_age_ms = counts->outbox_age_ms,
    };
}

static void on_overview_count(void *arg, enum status status, const struct tally_count *count)
{
    struct overview_call *call = arg;
    struct app_overview_jobs jobs = overview_jobs(&count->all);
    struct app_overview overview = {
        .now_ms = clock_wall_ms(),
        .jobs = status == STATUS_OK ? &jobs : NULL,
        .live = call->app->live,
    };
    call->fn(call->arg, &overview);
    free(call);
}

void app_overview(struct app *app, app_overview_fn *fn, void *arg)
{
    struct overview_call *call = NEW(struct overview_call);
    *call = (struct overview_call){app, fn, arg};
    live_board_ask(app->live, clock_boot_us());
    tally_ask(app->tally, app->store, on_overview_count, call);
}

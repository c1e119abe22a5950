#include "app/overview.h"

#include "base/clock.h"
#include "base/memory.h"

struct overview_call {
    struct app *app;
    app_overview_fn *fn;
    void *arg;
};

static void on_overview_count(void *arg, enum status status, const struct tally_count *count)
{
    struct overview_call *call = arg;
    struct app_overview overview = {
        .now_ms = clock_wall_ms(),
        .count = status == STATUS_OK ? count : NULL,
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

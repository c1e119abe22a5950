/* workflow_waits.c - workflows that wait for events. */
#include "app/use_case.h"
#include "app/workflows.h"
#include "base/memory.h"
#include "store/workflow.h"

/* ---- wait ---- */

struct workflow_waiting_call {
    struct app *app;
    struct slice id, kept;
    app_workflow_waiting_fn *fn;
    void *arg;
};

static void waiting_end(void *arg, const struct app_verdict *verdict)
{
    const struct workflow_waiting_call *call = arg;
    call->fn(call->arg, verdict, call->kept);
}

static void on_waiting(void *arg, enum status status, const struct workflow_waiting *waiting)
{
    struct workflow_waiting_call *call = arg;
    call->kept = waiting->kept;
    use_case_end(call->app, call->id, status, NULL, waiting_end, call);
    free(call);
}

void app_workflow_wait(struct app *app, const struct workflow_wait *wait, app_workflow_waiting_fn *fn,
                       void *arg)
{
    struct workflow_waiting_call *call = NEW(struct workflow_waiting_call);
    *call = (struct workflow_waiting_call){.app = app, .id = wait->id, .fn = fn, .arg = arg};
    workflow_wait(app->store, wait, on_waiting, call);
}

/* ---- waiters ---- */

struct workflow_waiters_call {
    struct app *app;
    struct slice owner;
    const struct workflow_waiter *waiters;
    size_t count;
    struct slice next;
    app_workflow_waiters_fn *fn;
    void *arg;
};

static void waiters_end(void *arg, const struct app_verdict *verdict)
{
    const struct workflow_waiters_call *call = arg;
    call->fn(call->arg, verdict, call->waiters, call->count, call->next);
}

static void on_waiters(void *arg, enum status status, const struct workflow_waiter *waiters, size_t count,
                       struct slice next)
{
    struct workflow_waiters_call *call = arg;
    call->waiters = waiters;
    call->count = count;
    call->next = next;
    use_case_end(call->app, call->owner, status, NULL, waiters_end, call);
    free(call);
}

void app_workflow_waiters(struct app *app, const struct workflow_waiters_query *query,
                          app_workflow_waiters_fn *fn, void *arg)
{
    struct workflow_waiters_call *call = NEW(struct workflow_waiters_call);
    *call = (struct workflow_waiters_call){.app = app, .owner = query->owner, .fn = fn, .arg = arg};
    workflow_waiters(app->store, query, on_waiters, call);
}

/* ---- notify ---- */

struct workflow_notify_call {
    struct app *app;
    struct slice owner;
    const struct workflow_notice *notices;
    size_t count;
    const bool *was_waiting;
    app_workflow_notified_fn *fn;
    void *arg;
};

static void notify_end(void *arg, const struct app_verdict *verdict)
{
    const struct workflow_notify_call *call = arg;
    call->fn(call->arg, verdict, call->was_waiting);
}

static void on_notified(void *arg, enum status status, const struct workflow_notified *notified)
{
    struct workflow_notify_call *call = arg;
    call->was_waiting = notified->was_waiting;
    for (size_t i = 0; status == STATUS_OK && i < call->count; i++)
        if (notified->was_waiting[i])
            use_case_count_accepted(call->app, call->notices[i].entry.job);
    use_case_end(call->app, call->owner, status, NULL, notify_end, call);
    free(call);
}

void app_workflow_notify(struct app *app, const struct workflow_notify *notify, app_workflow_notified_fn *fn,
                         void *arg)
{
    struct workflow_notify_call *call = NEW(struct workflow_notify_call);
    *call = (struct workflow_notify_call){.app = app,
                                          .owner = notify->owner,
                                          .notices = notify->notices,
                                          .count = notify->count,
                                          .fn = fn,
                                          .arg = arg};
    workflow_notify(app->store, notify, on_notified, call);
}

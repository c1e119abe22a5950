#include "app/workflows.h"

#include "app/audit.h"
#include "app/use_case.h"
#include "base/memory.h"
#include "job/job.h"
#include "store/workflow.h"

bool app_workflow_admit(struct app *app, const struct app_caller *caller, const struct job *job,
                        app_verdict_fn *fn, void *arg)
{
    if (!app_caller_reaches(caller, job->topic)) {
        fn(arg, &(struct app_verdict){.end = STATUS_NOT_REACHED, .topic = job->topic});
        return false;
    }
    return !use_case_is_target_refused(app, job, fn, arg) && !use_case_is_unready(app, job->topic, fn, arg);
}

/* ---- begin ---- */

struct workflow_beginning {
    struct app *app;
    struct workflow_begin begin;
    app_workflow_begun_fn *fn;
    void *arg;
    const struct workflow_begun *begun;
};

static void beginning_end(void *arg, const struct app_verdict *verdict)
{
    const struct workflow_beginning *beginning = arg;
    const struct workflow_begun *begun = beginning->begun;
    beginning->fn(beginning->arg, verdict, begun ? begun->made_ms : 0, begun ? begun->first_job : SLICE(""));
}

static void on_begun(void *arg, enum status status, const struct workflow_begun *begun)
{
    struct workflow_beginning *beginning = arg;
    beginning->begun = begun;
    if (status == STATUS_OK && begun->is_new)
        use_case_count_accepted(beginning->app, beginning->begin.first.job);
    else if (status == STATUS_OK)
        status = STATUS_REPEATED;
    use_case_end(beginning->app, beginning->begin.id, status, NULL, beginning_end, beginning);
    free(beginning);
}

void app_workflow_begin(struct app *app, const struct workflow_begin *begin, app_workflow_begun_fn *fn,
                        void *arg)
{
    struct workflow_beginning *beginning = NEW(struct workflow_beginning);
    beginning->app = app;
    beginning->fn = fn;
    beginning->arg = arg;
    beginning->begin = *begin;
    workflow_begin(app->store, &beginning->begin, on_begun, beginning);
}

/* ---- append ---- */

struct workflow_appending {
    struct app *app;
    struct slice id;
    const struct workflow_entry *entries;
    size_t count;
    const struct slice *firsts;
    app_workflow_appended_fn *fn;
    void *arg;
};

static void appending_end(void *arg, const struct app_verdict *verdict)
{
    const struct workflow_appending *appending = arg;
    appending->fn(appending->arg, verdict, appending->firsts);
}

static void on_appended(void *arg, enum status status, const struct slice *firsts)
{
    struct workflow_appending *appending = arg;
    for (size_t i = 0; status == STATUS_OK && i < appending->count; i++)
        if (!firsts || firsts[i].size == 0)
            use_case_count_accepted(appending->app, appending->entries[i].job);
    appending->firsts = firsts;
    use_case_end(appending->app, appending->id, status, NULL, appending_end, appending);
    free(appending);
}

void app_workflow_append(struct app *app, struct slice id, const struct workflow_entry *entries, size_t count,
                         app_workflow_appended_fn *fn, void *arg)
{
    struct workflow_appending *appending = NEW(struct workflow_appending);
    *appending = (struct workflow_appending){
        .app = app, .id = id, .entries = entries, .count = count, .fn = fn, .arg = arg};
    workflow_append(app->store, id, entries, count, on_appended, appending);
}

/* ---- end ---- */

struct workflow_ending {
    struct app *app;
    const struct app_caller *caller;
    struct slice id;
    const struct workflow_entry *for_parent;
    bool is_cancelled;
    app_verdict_fn *fn;
    void *arg;
};

static void on_ended(void *arg, enum status status, int64_t made_ms)
{
    struct workflow_ending *ending = arg;
    (void)made_ms;
    if (ending->is_cancelled)
        audit(ending->caller, "workflow_cancelled", "workflow", ending->id, status);
    if (status == STATUS_OK && ending->for_parent)
        use_case_count_accepted(ending->app, ending->for_parent->job);
    use_case_end(ending->app, ending->id, status, NULL, ending->fn, ending->arg);
    free(ending);
}

void app_workflow_end(struct app *app, const struct app_caller *caller, const struct app_workflow_end *end,
                      app_verdict_fn *fn, void *arg)
{
    struct slice topic, workflow_id;
    slice_cut(end->id, '/', &topic, &workflow_id);
    if (!app_caller_reaches(caller, topic)) {
        fn(arg, &(struct app_verdict){.end = STATUS_NOT_REACHED, .topic = topic});
        return;
    }
    if (use_case_is_unready(app, topic, fn, arg))
        return;
    struct workflow_ending *ending = NEW(struct workflow_ending);
    *ending = (struct workflow_ending){.app = app,
                                       .caller = caller,
                                       .id = end->id,
                                       .for_parent = end->for_parent,
                                       .is_cancelled = end->is_cancelled,
                                       .fn = fn,
                                       .arg = arg};
    workflow_end(app->store, end->id, end->is_cancelled ? WORKFLOW_CANCELLED : WORKFLOW_SUCCEEDED,
                 end->result, end->for_parent, on_ended, ending);
}

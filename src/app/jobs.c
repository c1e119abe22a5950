#include "app/jobs.h"

#include "app/audit.h"
#include "app/ended.h"
#include "app/rerun.h"
#include "app/use_case.h"
#include "base/memory.h"
#include "job/job_id.h"

/* A call of the store, with the data of its use case. */
struct job_call {
    struct app *app;
    const struct app_caller *caller; /* NULL for a call that only reads */
    struct slice id;
    app_verdict_fn *fn;
    void *arg;
    bool is_resend; /* see app_run */
};

static struct job_call *job_call_new(struct app *app, const struct app_caller *caller, struct slice id,
                                     app_verdict_fn *fn, void *arg)
{
    struct job_call *call = NEW(struct job_call);
    *call = (struct job_call){.app = app, .caller = caller, .id = id, .fn = fn, .arg = arg};
    return call;
}

static void job_call_end(struct job_call *call, enum status status, const struct stored_job *job)
{
    use_case_end(call->app, call->id, status, job, call->fn, call->arg);
    free(call);
}

/* ---- reading ---- */

/* Called after Redis was read. If Redis does not have the job, reads the history. */
static void read_on(struct job_call *call)
{
    ended_find(call->app, call->id, call->fn, call->arg);
    free(call);
}

static void on_read(void *arg, enum status status, const struct stored_job *job)
{
    if (status == STATUS_NOT_FOUND)
        read_on(arg);
    else
        job_call_end(arg, status, status == STATUS_OK ? job : NULL);
}

void app_read(struct app *app, struct slice id, app_verdict_fn *fn, void *arg)
{
    store_read_kept(app->store, id, on_read, job_call_new(app, NULL, id, fn, arg));
}

static void on_attempts(void *arg, enum status status, struct slice lines)
{
    struct job_call *call = arg;
    if (status == STATUS_OK) {
        call->fn(call->arg, &(struct app_verdict){.end = STATUS_OK, .lines = lines});
        free(call);
        return;
    }
    if (status == STATUS_NOT_FOUND)
        read_on(call);
    else
        job_call_end(call, status, NULL);
}

void app_attempts(struct app *app, struct slice id, app_verdict_fn *fn, void *arg)
{
    store_attempts(app->store, id, on_attempts, job_call_new(app, NULL, id, fn, arg));
}

/* ---- cancel ---- */

static void on_cancelled(void *arg, enum status status, bool was_leased)
{
    struct job_call *call = arg;
    struct slice topic, job_id;
    audit(call->caller, "job_cancelled", "job", call->id, status);
    if (status != STATUS_OK) {
        job_call_end(call, status, NULL);
        return;
    }
    job_key_parse(call->id, &topic, &job_id);
    metrics_ended(call->app->metrics, topic, METRICS_END_CANCELLED);
    call->fn(call->arg, &(struct app_verdict){.end = STATUS_OK, .was_leased = was_leased});
    free(call);
}

void app_cancel(struct app *app, const struct app_caller *caller, struct slice id, struct slice tags,
                app_verdict_fn *fn, void *arg)
{
    if (!use_case_is_unready(app, id, fn, arg))
        store_cancel(app->store, id, tags, on_cancelled, job_call_new(app, caller, id, fn, arg));
}

/* ---- run ---- */

static void on_run(void *arg, enum status status, int64_t due_ms)
{
    struct job_call *call = arg;
    struct stored_job job = {.id = call->id, .state = JOB_STATE_DEAD};
    if (status == STATUS_NOT_FOUND && call->app->history) {
        rerun(call->app, call->caller, &(struct rerun_call){.id = call->id, .is_resend = call->is_resend},
              call->fn, call->arg);
        free(call);
        return;
    }
    audit(call->caller, "job_run", "job", call->id, status);
    if (status == STATUS_EXISTS) {
        call->fn(call->arg, &(struct app_verdict){.end = STATUS_ID_TAKEN, .job = job});
        free(call);
        return;
    }
    if (status == STATUS_LEASED)
        job.state = JOB_STATE_LEASED;
    if (status == STATUS_OK) {
        job.state = JOB_STATE_DELAYED;
        job.at_ms = due_ms;
    }
    job_call_end(call, status, &job);
}

void app_run(struct app *app, const struct app_caller *caller, const struct app_run *run, app_verdict_fn *fn,
             void *arg)
{
    if (use_case_is_unready(app, run->id, fn, arg))
        return;
    struct job_call *call = job_call_new(app, caller, run->id, fn, arg);
    call->is_resend = run->is_resend;
    store_run(app->store, run->id, SLICE(""), (struct job_when){false, 0}, on_run, call);
}

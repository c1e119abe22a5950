#include "app/rerun.h"

#include "app/audit.h"
#include "app/ended.h"
#include "app/record.h"
#include "app/use_case.h"
#include "base/memory.h"

/* Steps:
 *
 * 1. kept      reads Redis, which may still have the ended job for reads, or in the outbox to the history
 * 2. history   otherwise reads the job from the history
 * 3. schedule  schedules a new job with the members that the client sent
 *
 * Redis is read before the history, because jobs reach the history before they leave Redis. So no job is
 * missed. A job that was delivered or cancelled is sent again only at the caller's explicit request. So if
 * the answer to a run was lost, the caller can safely repeat the run: a job that has been delivered since
 * then is not sent again. If duepost stops after step 3, the new job exists, but the caller has no answer; a
 * repeated call then finds the new job.
 *
 * If ended_ms is set, the caller has found a dead job in the history. If Redis still has this job, too, step
 * 1 runs the job in Redis, and the other steps are left out. */
struct rerun {
    struct app *app;
    const struct app_caller *caller;
    struct rerun_call call;
    struct buffer record;
    app_verdict_fn *fn;
    void *arg;
};

static void rerun_end(struct rerun *rerun, const struct app_verdict *verdict)
{
    rerun->fn(rerun->arg, verdict);
    buffer_fini(&rerun->record);
    free(rerun);
}

static void rerun_fail(struct rerun *rerun, enum status status)
{
    use_case_end(rerun->app, rerun->call.id, status, NULL, rerun->fn, rerun->arg);
    buffer_fini(&rerun->record);
    free(rerun);
}

static void write_audit(const struct rerun *rerun, enum status status)
{
    if (rerun->call.is_one_of_many)
        audit_one_of_many(rerun->caller, "job_redriven", rerun->call.id, status);
    else
        audit(rerun->caller, "job_run", "job", rerun->call.id, status);
}

/* 3. schedule */

static void on_scheduled(void *arg, enum status status, int64_t due_ms, const struct stored_job *there)
{
    struct rerun *rerun = arg;
    struct app_verdict verdict = {.job = {.id = rerun->call.id, .state = JOB_STATE_DELAYED, .at_ms = due_ms}};
    write_audit(rerun, status);
    if (status == STATUS_EXISTS) {
        verdict.end = STATUS_EXISTS;
        verdict.job = *there;
    }
    if (status == STATUS_OK || status == STATUS_EXISTS)
        rerun_end(rerun, &verdict);
    else
        rerun_fail(rerun, status);
}

/* Writes the record of the new job, without the data that duepost had added to the old job. */
static enum status write_record(struct rerun *rerun, struct job *job)
{
    if (job->lacks.size)
        return STATUS_LACKING;
    job->created_ms = 0;
    job->attempts = job->uncounted = job->rounds = 0;
    job->last_attempt = (struct attempt_result){.at_ms = 0};
    job->wait_ms = 0;
    job->reason = job->answer_headers = (struct slice){NULL, 0};
    job_write(job, &rerun->record);
    return rerun->record.failed ? STATUS_NO_MEMORY : STATUS_OK;
}

static void rerun_job(struct rerun *rerun, const struct stored_job *ended)
{
    struct job job;
    struct stored_job view = *ended;
    enum status end;
    view.id = rerun->call.id;
    if (rerun->call.ended_ms && rerun->call.ended_ms != ended->at_ms)
        end = STATUS_STALE;
    else if (ended->state != JOB_STATE_DEAD && !rerun->call.is_resend)
        end = STATUS_ENDED;
    else {
        bool is_readable = app_job_read(&view, &job);
        end = app_job_lacks_body(ended, &job) ? STATUS_NO_BODY
              : is_readable                   ? write_record(rerun, &job)
                                              : STATUS_UNREADABLE;
        if (is_readable)
            job_fini(&job);
    }
    if (end != STATUS_OK) {
        rerun_end(rerun, &(struct app_verdict){.end = end, .job = view});
        return;
    }
    struct store_schedule call = {
        .id = rerun->call.id, .when = rerun->call.when, .record = buffer_slice(&rerun->record)};
    store_schedule(rerun->app->store, &call, on_scheduled, rerun);
}

/* 2. history */

static void on_found(void *arg, const struct app_verdict *verdict)
{
    if (verdict->end == STATUS_OK)
        rerun_job(arg, &verdict->job);
    else
        rerun_end(arg, verdict);
}

/* 1. kept */

static void on_run(void *arg, enum status status, int64_t due_ms)
{
    struct rerun *rerun = arg;
    write_audit(rerun, status);
    if (status != STATUS_OK) {
        rerun_fail(rerun, status);
        return;
    }
    rerun_end(rerun, &(struct app_verdict){
                         .job = {.id = rerun->call.id, .state = JOB_STATE_DELAYED, .at_ms = due_ms}});
}

/* Runs a dead job that Redis still has, unless the job has changed since it was read. */
static void run_kept(struct rerun *rerun, const struct stored_job *job)
{
    char tag[JOB_TAG_SIZE];
    job_tag_of(job, tag);
    buffer_append(&rerun->record, slice_of(tag)); /* the call of the store borrows the tag */
    store_run(rerun->app->store, rerun->call.id, buffer_slice(&rerun->record), rerun->call.when, on_run,
              rerun);
}

static void on_kept(void *arg, enum status status, const struct stored_job *stored)
{
    struct rerun *rerun = arg;
    if (status == STATUS_NOT_FOUND) {
        ended_find(rerun->app, rerun->call.id, on_found, rerun);
        return;
    }
    if (status == STATUS_OK && stored->state >= JOB_STATE_DEAD) {
        if (stored->state == JOB_STATE_DEAD && stored->at_ms == rerun->call.ended_ms)
            run_kept(rerun, stored);
        else
            rerun_job(rerun, stored);
        return;
    }
    if (status == STATUS_OK) { /* another client has already scheduled a job with this id */
        rerun_end(rerun, &(struct app_verdict){.end = STATUS_EXISTS, .job = *stored});
        return;
    }
    rerun_fail(rerun, status == STATUS_UNKNOWN ? STATUS_UNAVAILABLE : status); /* nothing has changed */
}

void rerun(struct app *app, const struct app_caller *caller, const struct rerun_call *call,
           app_verdict_fn *fn, void *arg)
{
    struct rerun *rerun = NEW(struct rerun);
    *rerun = (struct rerun){.app = app, .caller = caller, .call = *call, .fn = fn, .arg = arg};
    buffer_init_fallible(&rerun->record, JOB_RECORD_MAX);
    store_read_kept(app->store, call->id, on_kept, rerun);
}

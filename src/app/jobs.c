#include "app/jobs.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "app/app_private.h"
#include "base/memory.h"
#include "job/job_id.h"

/* ---- jobs of the history ---- */

struct ended {
    app_verdict_fn *fn;
    void *arg;
};

/* Returns the last line of lines that each end with a newline. */
static struct slice last_line(struct slice lines)
{
    if (lines.size < 2)
        return lines;
    const char *newline = memrchr(lines.data, '\n', lines.size - 1);
    return newline ? slice_skip(lines, (size_t)(newline + 1 - lines.data)) : lines;
}

struct stored_job ended_job(const struct history_row *row)
{
    return (struct stored_job){
        .id = row->id,
        .state = row->state,
        .at_ms = row->ended_ms,
        .record = row->record,
        .last_lines = last_line(row->lines),
        .lines = row->lines,
        .is_of_history = true,
        .is_body_left_out = row->is_body_left_out,
    };
}

enum status ended_status(enum status status)
{
    return status == STATUS_OK || status == STATUS_NO_MEMORY ? status : STATUS_HISTORY_UNAVAILABLE;
}

static void on_found(void *arg, enum status status, const struct history_row *row, const char *why)
{
    struct ended *ended = arg;
    struct app_verdict verdict = {.end = ended_status(status), .why = slice_of(why)};
    if (status == STATUS_OK && row) {
        verdict.job = ended_job(row);
        verdict.lines = row->lines;
    } else if (status == STATUS_OK) {
        verdict.end = STATUS_NOT_FOUND;
    }
    ended->fn(ended->arg, &verdict);
    free(ended);
}

void ended_find(struct app *app, struct slice id, app_verdict_fn *fn, void *arg)
{
    if (!app->history) {
        use_case_refuse(STATUS_NOT_FOUND, fn, arg);
        return;
    }
    struct ended *ended = NEW(struct ended);
    *ended = (struct ended){fn, arg};
    history_find(app->history, id, on_found, ended);
}

/* ---- read and cancel ---- */

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

/* ---- replace ---- */

struct replacement {
    struct app *app;
    const struct app_caller *caller;
    struct slice id;
    bool has_ttl; /* the job expires by ttl, and not by expiresAt */
    /* the first JOB_OPENING_MAX bytes are free: the script writes the opening of the record there */
    struct buffer record;
    app_verdict_fn *fn;
    void *arg;
};

static void replacement_free(struct replacement *replacement)
{
    buffer_fini(&replacement->record);
    free(replacement);
}

static void on_replaced(void *arg, enum status status, const struct store_replaced *place)
{
    struct replacement *replacement = arg;
    /* The audit log records a replaced job as a change, and does not record a new job. */
    if (status != STATUS_OK || place->was_there)
        audit(replacement->caller, "job_replaced", "job", replacement->id, status);
    if (status == STATUS_OK) {
        struct app_verdict verdict = {
            .end = STATUS_OK,
            .was_there = place->was_there,
            .was_leased = place->was_leased,
            .job = {.id = replacement->id,
                    .state = place->due_ms > place->now_ms ? JOB_STATE_DELAYED : JOB_STATE_READY,
                    .at_ms = place->due_ms,
                    .record = job_record_complete(&replacement->record, place->created_ms)},
        };
        struct slice topic, rest;
        slice_cut(replacement->id, '/', &topic, &rest);
        if (!place->was_there || place->was_leased)
            metrics_accepted(replacement->app->metrics, topic);
        if (place->was_leased)
            metrics_ended(replacement->app->metrics, topic, METRICS_END_CANCELLED);
        replacement->fn(replacement->arg, &verdict);
    } else if (status == STATUS_EXPIRED) {
        use_case_refuse_expiry(replacement->has_ttl, replacement->fn, replacement->arg);
    } else {
        use_case_end(replacement->app, replacement->id, status, NULL, replacement->fn, replacement->arg);
    }
    replacement_free(replacement);
}

static void replace(struct replacement *replacement, const struct app_replace *call)
{
    static const char opening[JOB_OPENING_MAX];
    const struct job *job = call->job;
    buffer_init_fallible(&replacement->record, JOB_RECORD_MAX);
    buffer_append(&replacement->record, slice_from(opening, JOB_OPENING_MAX));
    job_write(job, &replacement->record);
    if (replacement->record.failed) {
        use_case_refuse(STATUS_NO_MEMORY, replacement->fn, replacement->arg);
        replacement_free(replacement);
        return;
    }
    struct store_replace stored = {
        .id = call->id,
        .when = {job->has_due_at, job->has_due_at ? job->due_at_ms : job->delay_ms},
        .record = slice_skip(buffer_slice(&replacement->record), JOB_OPENING_MAX),
        .tags = call->tags,
    };
    store_replace(replacement->app->store, &stored, on_replaced, replacement);
}

void app_replace(struct app *app, const struct app_caller *caller, const struct app_replace *call,
                 app_verdict_fn *fn, void *arg)
{
    if (use_case_is_sibling(call->id, fn, arg) || use_case_is_target_refused(app, call->job, fn, arg) ||
        use_case_is_unready(app, call->id, fn, arg))
        return;
    struct replacement *replacement = NEW(struct replacement);
    *replacement = (struct replacement){
        .app = app, .caller = caller, .id = call->id, .has_ttl = call->job->has_ttl, .fn = fn, .arg = arg};
    replace(replacement, call);
}

/* ---- run again ---- */

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
    job->reason = job->answer_headers = job->progress = job->result = (struct slice){NULL, 0};
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

static void on_ended_found(void *arg, const struct app_verdict *verdict)
{
    if (verdict->end == STATUS_OK)
        rerun_job(arg, &verdict->job);
    else
        rerun_end(arg, verdict);
}

/* 1. kept */

static void on_kept_run(void *arg, enum status status, int64_t due_ms)
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

static void on_kept(void *arg, enum status status, const struct stored_job *stored)
{
    struct rerun *rerun = arg;
    if (status == STATUS_NOT_FOUND) {
        ended_find(rerun->app, rerun->call.id, on_ended_found, rerun);
        return;
    }
    if (status == STATUS_OK && stored->state >= JOB_STATE_DEAD) {
        if (stored->state == JOB_STATE_DEAD && stored->at_ms == rerun->call.ended_ms) {
            char tag[JOB_TAG_SIZE];
            job_tag_of(stored, tag);
            buffer_append(&rerun->record, slice_of(tag)); /* the call of the store borrows the tag */
            store_run(rerun->app->store, rerun->call.id, buffer_slice(&rerun->record), rerun->call.when,
                      on_kept_run, rerun);
        } else {
            rerun_job(rerun, stored);
        }
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

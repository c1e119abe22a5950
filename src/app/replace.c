#include <assert.h>
#include <stdio.h>

#include "app/audit.h"
#include "app/jobs.h"
#include "app/use_case.h"
#include "base/memory.h"

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

static void end_placed(struct replacement *replacement, const struct store_replaced *place)
{
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
}

static void on_replaced(void *arg, enum status status, const struct store_replaced *place)
{
    struct replacement *replacement = arg;
    /* The audit log records a replaced job as a change, and does not record a new job. */
    if (status != STATUS_OK || place->was_there)
        audit(replacement->caller, "job_replaced", "job", replacement->id, status);
    if (status == STATUS_OK)
        end_placed(replacement, place);
    else if (status == STATUS_EXPIRED)
        use_case_refuse_expiry(replacement->has_ttl, replacement->fn, replacement->arg);
    else
        use_case_end(replacement->app, replacement->id, status, NULL, replacement->fn, replacement->arg);
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

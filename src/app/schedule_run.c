/* schedule_run.c - creates an occurrence of a schedule now:
 *
 *   1. reads the definition
 *   2. reads the group, if the job is sent to one
 *   3. creates the occurrence, under the idempotency key of the request */
#include <stdio.h>

#include "app/app_private.h"
#include "app/schedules.h"
#include "base/memory.h"
#include "base/system.h"
#include "job/group.h"
#include "job/job_id.h"
#include "job/text/job_errors.h"
#include "store/recurring.h"

enum { RUN_ID_SIZE = sizeof "~run-0123456789abcdef" };

struct schedule_run {
    struct app *app;
    const struct app_caller *caller;
    struct app_schedule_run call;
    app_verdict_fn *fn;
    void *arg;
    struct buffer record;
    char tag[RECURRING_TAG_SIZE];
    int64_t now_ms;
    struct recurring recurring; /* points into record */
    bool is_read;
    struct buffer job; /* id of the job */
    struct buffer job_record;
    /* With a group: */
    enum status
        /* OK: the jobs for the group were created. NOT_FOUND: there is no group. Otherwise: the error of
           group_jobs_write. */
        fit;
    struct group_jobs made;
    char mark[FINGERPRINT_SIZE];
    struct store_send_job jobs[STORE_SEND_MAX]; /* jobs; their slices point into made */
};

static void run_free(struct schedule_run *run)
{
    if (run->is_read)
        recurring_fini(&run->recurring);
    buffer_fini(&run->record);
    buffer_fini(&run->job);
    buffer_fini(&run->job_record);
    group_jobs_fini(&run->made);
    free(run);
}

static void run_end(struct schedule_run *run, enum status status)
{
    use_case_end(run->app, run->call.id, status, NULL, run->fn, run->arg);
    run_free(run);
}

static void refuse_group(struct schedule_run *run, const char *field, const char *detail)
{
    struct job_errors errors;
    job_errors_clear(&errors);
    job_errors_add_named(&errors, "job.", slice_of(field), detail);
    run->fn(run->arg, &(struct app_verdict){.end = STATUS_INVALID, .errors = &errors});
    run_free(run);
}

/* Refuses the run, because no jobs could be created for the group. */
static void refuse_unfit(struct schedule_run *run)
{
    if (run->fit == STATUS_NOT_FOUND)
        refuse_group(run, "group",
                     topic_is_sibling(run->recurring.group)
                         ? "does not exist any more"
                         : "does not exist; PUT /groups/<name> creates it");
    else if (run->fit == STATUS_INVALID)
        refuse_group(run, run->made.field, run->made.detail);
    else if (run->fit == STATUS_FULL)
        refuse_group(run, "group", "has endpoints whose jobs together are over 4194304 bytes");
    else if (run->fit == STATUS_NO_MEMORY)
        run_end(run, STATUS_NO_MEMORY);
    else
        refuse_group(run, "group",
                     "cannot be read, or needs a later version of duepost or an encryption key");
}

/* ---- fire ---- */

static void on_run(void *arg, enum status status, struct slice id, int64_t due_ms)
{
    struct schedule_run *run = arg;
    struct app_verdict verdict = {
        .end = status,
        .job = {.state = JOB_STATE_DELAYED, .id = id, .at_ms = due_ms},
        .group = run->recurring.group,
    };
    struct slice topic, rest;
    if (status == STATUS_STALE && run->fit != STATUS_OK) {
        refuse_unfit(run);
        return;
    }
    audit(run->caller, "schedule_run", "schedule", run->call.id,
          status == STATUS_REPEATED ? STATUS_OK : status);
    slice_cut(id, '/', &topic, &rest);
    for (size_t i = 0; status == STATUS_OK && (i == 0 || i < run->made.count); i++)
        metrics_accepted(run->app->metrics, topic);
    if (status == STATUS_OK || status == STATUS_REPEATED)
        run->fn(run->arg, &verdict);
    else if (status == STATUS_STALE) /* the definition has changed since it was read, or is deleted */
        use_case_refuse(STATUS_CONTENDED, run->fn, run->arg);
    else
        use_case_end(run->app, run->call.id, status,
                     &(struct stored_job){.state = JOB_STATE_DELAYED, .id = id}, run->fn, run->arg);
    run_free(run);
}

static void run_fire(struct schedule_run *run)
{
    for (size_t i = 0; i < run->made.count; i++) {
        run->jobs[i].endpoint = group_jobs_endpoint(&run->made, i);
        run->jobs[i].record = group_jobs_record(&run->made, i);
    }
    struct slice record = SLICE("");
    if (run->made.count == 0 && run->fit == STATUS_OK) {
        record = recurring_job_record(&run->recurring, buffer_slice(&run->job), &run->job_record);
        if (record.size == 0) {
            run_end(run, run->job_record.failed ? STATUS_NO_MEMORY : STATUS_LACKING);
            return;
        }
    }
    struct store_fire fire = {
        .id = run->call.id,
        .tag = slice_of(run->tag),
        .expected_ms = -1,
        .next_ms = -1,
        .kind = run->fit == STATUS_OK ? FIRED_DONE : FIRED_UNSENDABLE,
        .time_ms = run->now_ms,
        .job = buffer_slice(&run->job),
        .record = record,
        .once = run->call.once,
        .group = run->recurring.group,
        .mark = slice_of(run->mark),
        .jobs = run->jobs,
        .count = run->made.count,
    };
    store_fire(run->app->store, &fire, on_run, run);
}

/* ---- the group ---- */

static void on_group(void *arg, enum status status, const struct topic *found, size_t count,
                     struct topic_cursor next)
{
    struct schedule_run *run = arg;
    (void)next;
    if (status != STATUS_OK) { /* only a read failed */
        run_end(run, status == STATUS_UNKNOWN ? STATUS_UNAVAILABLE : status);
        return;
    }
    run->fit = STATUS_NOT_FOUND;
    if (count > 0 && found->settings.size > 0)
        run->fit = recurring_send(&run->recurring, buffer_slice(&run->job), found->settings, run->app->forms,
                                  &run->made, run->mark);
    if (run->fit != STATUS_OK)
        run->made.count = 0;
    /* A repeated request gets the answer of the first request, even if the group has changed since. */
    if (run->fit == STATUS_OK || (run->call.once.size && run->fit != STATUS_NO_MEMORY))
        run_fire(run);
    else
        refuse_unfit(run);
}

static void read_group(struct schedule_run *run)
{
    struct slice group = run->recurring.group;
    struct store_topics topics = {.topic = group, .max = 1, .are_groups = !topic_is_sibling(group)};
    if (app_caller_reaches_group(run->caller, group)) {
        store_topics(run->app->store, &topics, on_group, run);
        return;
    }
    run->fn(run->arg, &(struct app_verdict){.end = STATUS_NOT_REACHED, .group = group});
    run_free(run);
}

/* ---- the definition ---- */

static enum status take_definition(struct schedule_run *run, const struct store_recurring *stored)
{
    run->now_ms = stored->now_ms;
    buffer_append(&run->record, stored->record);
    if (stored->tag.size < sizeof run->tag)
        memcpy(run->tag, stored->tag.data, stored->tag.size);
    if (run->record.failed)
        return STATUS_NO_MEMORY;
    enum status status = recurring_read(buffer_slice(&run->record), &run->recurring);
    run->is_read = status == STATUS_OK;
    if (status != STATUS_OK)
        return status == STATUS_INVALID ? STATUS_UNREADABLE : status;
    if (run->recurring.lacks.size)
        return STATUS_LACKING;
    return recurring_base(&run->recurring, run->call.id).size ? STATUS_OK : STATUS_UNREADABLE;
}

static void on_definition(void *arg, enum status status, const struct store_recurring *schedules,
                          size_t count, struct recurring_cursor next)
{
    struct schedule_run *run = arg;
    (void)count, (void)next;
    if (status == STATUS_OK)
        status = take_definition(run, schedules);
    if (status != STATUS_OK) {
        run_end(run, status == STATUS_UNKNOWN ? STATUS_UNAVAILABLE : status); /* only a read failed */
        return;
    }
    char name[RUN_ID_SIZE];
    uint64_t random;
    random_fill(&random, sizeof random);
    snprintf(name, sizeof name, "~run-%016llx", (unsigned long long)random);
    buffer_append(&run->job, recurring_base(&run->recurring, run->call.id));
    buffer_append(&run->job, slice_of(name));
    if (run->recurring.group.size)
        read_group(run);
    else
        run_fire(run);
}

void app_schedule_run(struct app *app, const struct app_caller *caller, const struct app_schedule_run *call,
                      app_verdict_fn *fn, void *arg)
{
    struct store_recurrings list = {.id = call->id, .max = 1};
    if (use_case_is_unready(app, call->id, fn, arg))
        return;
    struct schedule_run *run = NEW(struct schedule_run);
    run->app = app;
    run->caller = caller;
    run->call = *call;
    run->fn = fn;
    run->arg = arg;
    buffer_init_fallible(&run->record, JOB_RECORD_MAX);
    buffer_init(&run->job, JOB_KEY_MAX);
    buffer_init_fallible(&run->job_record, JOB_RECORD_MAX);
    group_jobs_init(&run->made);
    store_recurrings(app->store, &list, on_definition, run);
}

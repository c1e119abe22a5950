#include "app/audit.h"
#include "app/jobs.h"
#include "app/use_case.h"
#include "base/memory.h"
#include "job/job_patch.h"
#include "job/topic_settings.h"

enum { TRIES_MAX = 20, MORE_MAX = 1024 };

struct patch {
    struct app *app;
    const struct app_caller *caller;
    struct app_patch call;
    app_verdict_fn *fn;
    void *arg;
    struct app_job job; /* The job that was read. Slices whose data is no longer valid are empty. Later the
                           new record replaces its record. */
    char tag[JOB_TAG_SIZE];
    bool is_moved;
    struct buffer record;   /* the new record */
    struct buffer settings; /* settings of the job's topic when the job was read */
    int tries;
};

static void read_job(struct patch *);

static void patch_free(struct patch *patch)
{
    buffer_fini(&patch->record);
    buffer_fini(&patch->settings);
    free(patch);
}

static void refuse_patch(struct patch *patch, enum app_end end)
{
    use_case_refuse(end, patch->fn, patch->arg);
    patch_free(patch);
}

static void on_changed(void *arg, enum status status, int64_t due_ms, int64_t now_ms)
{
    struct patch *patch = arg;
    struct app_verdict verdict = {.end = APP_DONE};
    if (status == STATUS_STALE && ++patch->tries < TRIES_MAX) {
        read_job(patch);
        return;
    }
    audit(patch->caller, "job_changed", "job", patch->call.id, status);
    if (status == STATUS_STALE) {
        refuse_patch(patch, APP_CONTENDED);
        return;
    }
    if (status == STATUS_OK) {
        verdict.job = patch->job;
        verdict.job.record = buffer_slice(&patch->record);
        verdict.job.settings = buffer_slice(&patch->settings);
        if (patch->is_moved) {
            verdict.job.state = due_ms > now_ms ? JOB_STATE_DELAYED : JOB_STATE_READY;
            verdict.job.at_ms = due_ms;
        }
        patch->fn(patch->arg, &verdict);
    } else {
        use_case_end(patch->app, patch->call.id, status, NULL, patch->fn, patch->arg);
    }
    patch_free(patch);
}

static void write_change(struct patch *patch, const struct job_patched *patched)
{
    const struct job *job = &patched->job;
    patch->is_moved = patched->is_moved && patch->job.state != JOB_STATE_DEAD;
    buffer_clear(&patch->record);
    job_write(job, &patch->record);
    if (patch->record.failed) {
        refuse_patch(patch, APP_NO_MEMORY);
        return;
    }
    struct store_change call = {
        .id = patch->call.id,
        .tag = slice_of(patch->tag),
        .record = buffer_slice(&patch->record),
        .is_moved = patch->is_moved,
        .when = {job->has_due_at, job->has_due_at ? job->due_at_ms : job->delay_ms},
    };
    store_change(patch->app->store, &call, on_changed, patch);
}

/* Creates the changed job from the job that was read. If that fails, calls back and returns false; the caller
 * must free the patch. */
static bool make_job(const struct patch *patch, const struct store_job *stored, struct buffer *text,
                     struct job_patched *patched)
{
    struct job_errors errors;
    struct job_patch call = {
        .id = patch->call.id,
        .record = stored->record,
        .text = patch->call.text,
        .now_ms = stored->now_ms,
        .due_ms = stored->state == JOB_STATE_DEAD ? 0 : stored->at_ms,
    };
    enum status status = job_patch(&call, text, patched, &errors);
    if (status == STATUS_INVALID)
        patch->fn(patch->arg, &(struct app_verdict){.end = APP_INVALID, .errors = &errors});
    else if (status != STATUS_OK)
        use_case_end(patch->app, patch->call.id, status, stored, patch->fn, patch->arg);
    if (status != STATUS_OK)
        return false;
    if ((patched->has_url || patched->has_callback) &&
        use_case_is_target_refused(patch->app, &patched->job, patch->fn, patch->arg)) {
        job_patched_fini(patched);
        return false;
    }
    return true;
}

static bool has_mismatch(const struct patch *patch, const struct store_job *stored)
{
    char tag[JOB_TAG_SIZE];
    store_job_tag(stored, tag);
    return !job_tags_match(patch->call.tags, tag);
}

static bool is_refused(struct patch *patch, enum status status, const struct store_job *stored)
{
    if (status == STATUS_OK && stored->state == JOB_STATE_LEASED)
        status = STATUS_LEASED;
    else if (status == STATUS_OK && has_mismatch(patch, stored))
        status = STATUS_STALE;
    else if (status == STATUS_UNKNOWN)
        status = STATUS_UNAVAILABLE; /* only the read failed, so nothing has changed */
    if (status == STATUS_OK)
        return false;
    use_case_end(patch->app, patch->call.id, status, stored, patch->fn, patch->arg);
    patch_free(patch);
    return true;
}

static void on_read(void *arg, enum status status, const struct store_job *stored)
{
    struct patch *patch = arg;
    struct job_patched patched;
    struct buffer text;
    if (is_refused(patch, status, stored))
        return;
    patch->job = (struct app_job){
        .id = patch->call.id, .state = stored->state, .at_ms = stored->at_ms, .until_ms = stored->until_ms};
    store_job_tag(stored, patch->tag);
    buffer_clear(&patch->settings);
    buffer_append(&patch->settings, stored->settings);
    buffer_init_fallible(&text, stored->record.size + patch->call.text.size + MORE_MAX);
    buffer_reserve(&text, text.max);
    if (text.failed) {
        refuse_patch(patch, APP_NO_MEMORY);
    } else if (make_job(patch, stored, &text, &patched)) {
        write_change(patch, &patched);
        job_patched_fini(&patched);
    } else {
        patch_free(patch);
    }
    buffer_fini(&text);
}

static void read_job(struct patch *patch)
{
    store_read(patch->app->store, patch->call.id, on_read, patch);
}

void app_patch(struct app *app, const struct app_caller *caller, const struct app_patch *call,
               app_verdict_fn *fn, void *arg)
{
    if (use_case_is_sibling(call->id, fn, arg) || use_case_is_unready(app, call->id, fn, arg))
        return;
    struct patch *patch = NEW(struct patch);
    *patch = (struct patch){.app = app, .caller = caller, .call = *call, .fn = fn, .arg = arg};
    buffer_init_fallible(&patch->record, JOB_RECORD_MAX);
    buffer_init(&patch->settings, TOPIC_SETTINGS_BYTES_MAX);
    read_job(patch);
}

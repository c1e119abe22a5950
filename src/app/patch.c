#include "app/app_private.h"
#include "app/jobs.h"
#include "base/log.h"
#include "base/memory.h"
#include "job/delivery/ending.h"
#include "job/job_parse.h"
#include "job/topic/topic_sealed.h"

enum { TRIES_MAX = 20, MORE_MAX = 1024 };

struct patch {
    struct app *app;
    const struct app_caller *caller;
    struct app_patch call;
    app_verdict_fn *fn;
    void *arg;
    struct stored_job job; /* The job that was read. Slices whose data is no longer valid are empty. Later the
                           new record replaces its record. */
    char tag[JOB_TAG_SIZE];
    bool is_moved;
    const char *late_member, *late_detail; /* see job_patched */
    bool is_buried;                        /* the patch leaves no further attempt, so the job dies */
    int attempts;                          /* is_buried */
    struct buffer record;                  /* the new record */
    struct ending_texts texts;             /* is_buried: the new record, and the callbacks */
    struct shard_follow_up follow_ups[CALLBACK_JOBS_MAX];
    struct buffer settings; /* settings of the job's topic when the job was read */
    int64_t now_ms;
    int tries;
};

static void read_job(struct patch *);

static void patch_free(struct patch *patch)
{
    buffer_fini(&patch->record);
    buffer_fini(&patch->settings);
    ending_texts_fini(&patch->texts);
    free(patch);
}

static void refuse_patch(struct patch *patch, enum status end)
{
    use_case_refuse(end, patch->fn, patch->arg);
    patch_free(patch);
}

static void on_changed(void *arg, enum status status, int64_t due_ms, int64_t now_ms)
{
    struct patch *patch = arg;
    struct app_verdict verdict = {.end = STATUS_OK};
    if (status == STATUS_STALE && ++patch->tries < TRIES_MAX) {
        read_job(patch);
        return;
    }
    audit(patch->caller, "job_changed", "job", patch->call.id, status);
    if (status == STATUS_STALE) {
        refuse_patch(patch, STATUS_CONTENDED);
        return;
    }
    if (status == STATUS_EXPIRED) {
        use_case_refuse_field(patch->late_member, patch->late_detail, patch->fn, patch->arg);
    } else if (status == STATUS_OK) {
        verdict.job = patch->job;
        verdict.job.record = buffer_slice(&patch->record);
        verdict.job.settings = buffer_slice(&patch->settings);
        if (patch->is_moved) {
            verdict.job.state = due_ms > now_ms ? JOB_STATE_DELAYED : JOB_STATE_READY;
            verdict.job.at_ms = due_ms;
        }
        if (patch->is_buried) {
            verdict.job.record = buffer_slice(&patch->texts.record);
            verdict.job.state = JOB_STATE_DEAD;
            verdict.job.at_ms = now_ms;
            struct slice topic, job_id;
            slice_cut(patch->call.id, '/', &topic, &job_id);
            metrics_ended(patch->app->metrics, topic, METRICS_END_DEAD);
            if (patch->texts.callbacks.count)
                metrics_count(patch->app->metrics, METRICS_COUNTER_CALLBACKS, patch->texts.callbacks.count);
            log_warning("job_dead", LOG_SLICE("job", patch->call.id), LOG_NUMBER("attempts", patch->attempts),
                        LOG_TEXT("reason", "retries_exhausted"));
        }
        patch->fn(patch->arg, &verdict);
    } else {
        use_case_end(patch->app, patch->call.id, status, NULL, patch->fn, patch->arg);
    }
    patch_free(patch);
}

/* Decides whether the patch leaves the job no further attempt. If so, writes the record and the callbacks of
 * its death. A topic's shorter schedule alone ends no job here: it counts when the retry is due. Fails if the
 * settings of the topic cannot be read. */
static enum status decide_death(struct patch *patch, struct job_patched *patched)
{
    struct slice topic, job_id;
    struct topic_settings settings;
    patch->is_buried = false;
    if (!patched->has_retries || patch->job.state == JOB_STATE_DEAD || patched->job.attempts == 0)
        return STATUS_OK;
    slice_cut(patch->call.id, '/', &topic, &job_id);
    enum status status = topic_settings_read_for(topic, buffer_slice(&patch->settings), &settings);
    if (status == STATUS_INVALID)
        status = STATUS_UNREADABLE;
    if (status != STATUS_OK)
        return status;
    if (settings.lacks.size) {
        status = STATUS_LACKING;
    } else if (ending_is_exhausted(&patched->job, &settings, patch->app->schedule)) {
        struct ending_input input = {
            .cause = ENDING_CAUSE_EXHAUSTED,
            .id = patch->call.id,
            .nonce = slice_of(patch->tag), /* names the callback: one for this state of the job */
            .now_ms = patch->now_ms,
            .due_ms = patch->job.at_ms,
            .settings = &settings,
            .schedule = patch->app->schedule,
            .form = delivery_form_find(patch->app->forms, patched->job.form),
        };
        struct ending ending = ending_decide(&patched->job, &input);
        patch->is_buried = true;
        patch->attempts = ending.attempts;
        if (!ending_write(&ending, &input, &patched->job, SLICE(""), &patch->texts))
            status = STATUS_NO_MEMORY;
    }
    topic_settings_fini(&settings);
    return status;
}

static void write_change(struct patch *patch, struct job_patched *patched)
{
    const struct job *job = &patched->job;
    const struct callback_jobs *callbacks = &patch->texts.callbacks;
    enum status status = decide_death(patch, patched);
    buffer_clear(&patch->record);
    if (status == STATUS_OK && !patch->is_buried)
        job_write(job, &patch->record);
    if (status != STATUS_OK || patch->record.failed) {
        use_case_end(patch->app, patch->call.id, status == STATUS_OK ? STATUS_NO_MEMORY : status, NULL,
                     patch->fn, patch->arg);
        patch_free(patch);
        return;
    }
    patch->late_member = patched->late_member;
    patch->late_detail = patched->late_detail;
    patch->is_moved = patched->is_moved && patch->job.state != JOB_STATE_DEAD && !patch->is_buried;
    for (size_t i = 0; patch->is_buried && i < callbacks->count; i++)
        patch->follow_ups[i] = (struct shard_follow_up){.id = buffer_slice(&callbacks->items[i].id),
                                                        .delay_ms = callbacks->items[i].delay_ms,
                                                        .record = buffer_slice(&callbacks->items[i].record)};
    struct store_change call = {
        .id = patch->call.id,
        .tag = slice_of(patch->tag),
        .record = buffer_slice(patch->is_buried ? &patch->texts.record : &patch->record),
        .is_moved = patch->is_moved,
        .is_buried = patch->is_buried,
        .follow = {patch->follow_ups, patch->is_buried ? callbacks->count : 0},
        .when = {job->has_due_at, job->has_due_at ? job->due_at_ms : job->delay_ms},
    };
    store_change(patch->app->store, &call, on_changed, patch);
}

/* Creates the changed job from the job that was read. If that fails, calls back and returns false; the caller
 * must free the patch. */
static bool make_job(const struct patch *patch, const struct stored_job *stored, struct buffer *text,
                     struct job_patched *patched)
{
    struct job_errors errors;
    struct job_patch call = {
        .id = patch->call.id,
        .record = stored->record,
        .text = patch->call.text,
        .now_ms = stored->now_ms,
    };
    enum status status = job_patch(&call, text, patched, &errors);
    if (status == STATUS_OK && !app_resolve_due(patch->app, &patched->job, &errors)) {
        job_patched_fini(patched);
        status = STATUS_INVALID;
    }
    if (status == STATUS_INVALID)
        patch->fn(patch->arg, &(struct app_verdict){.end = STATUS_INVALID, .errors = &errors});
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

static bool has_mismatch(const struct patch *patch, const struct stored_job *stored)
{
    char tag[JOB_TAG_SIZE];
    job_tag_of(stored, tag);
    return !job_tags_match(patch->call.tags, tag);
}

static bool is_refused(struct patch *patch, enum status status, const struct stored_job *stored)
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

static void on_read(void *arg, enum status status, const struct stored_job *stored)
{
    struct patch *patch = arg;
    struct job_patched patched;
    struct buffer text;
    if (is_refused(patch, status, stored))
        return;
    patch->job = (struct stored_job){
        .id = patch->call.id, .state = stored->state, .at_ms = stored->at_ms, .until_ms = stored->until_ms};
    job_tag_of(stored, patch->tag);
    patch->now_ms = stored->now_ms;
    buffer_clear(&patch->settings);
    buffer_append(&patch->settings, stored->settings);
    buffer_init_fallible(&text, stored->record.size + patch->call.text.size + MORE_MAX);
    buffer_reserve(&text, text.max);
    if (text.failed) {
        refuse_patch(patch, STATUS_NO_MEMORY);
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
    buffer_init(&patch->settings, TOPIC_STORED_BYTES_MAX);
    ending_texts_init(&patch->texts);
    read_job(patch);
}

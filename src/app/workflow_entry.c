#include "app/workflow_entry_private.h"

#include "job/job.h"

void app_workflow_entry_init(struct app_workflow_entry *entry, enum app_workflow_role role)
{
    *entry = (struct app_workflow_entry){.role = role};
    buffer_init_fallible(&entry->stored, JOB_RECORD_MAX);
    buffer_init_fallible(&entry->element, JOB_RECORD_MAX);
    buffer_init_fallible(&entry->hook, APP_WORKFLOW_EVENT_MAX);
}

void app_workflow_entry_fini(struct app_workflow_entry *entry)
{
    buffer_fini(&entry->stored);
    buffer_fini(&entry->element);
    buffer_fini(&entry->hook);
}

bool app_workflow_entry_write(struct app_workflow_entry *entry, const struct job *job)
{
    struct buffer *stored = &entry->stored;
    buffer_append(stored, job->topic);
    buffer_append_byte(stored, '/');
    buffer_append(stored, job->job_id);
    entry->id_size = stored->size;
    job_write(job, stored);
    entry->is_absolute = job->has_due_at;
    entry->at_ms = job->has_due_at ? job->due_at_ms : job->delay_ms;
    return !stored->failed && !entry->element.failed;
}

/* ---- for the store ---- */

struct workflow_entry workflow_entry_stored(const struct app_workflow_entry *entry)
{
    static const enum workflow_role roles[] = {[APP_WORKFLOW_STEP] = WORKFLOW_STEP,
                                               [APP_WORKFLOW_CALL] = WORKFLOW_CALL,
                                               [APP_WORKFLOW_ANSWER] = WORKFLOW_ANSWER};
    if (!entry)
        return (struct workflow_entry){.role = WORKFLOW_STEP};
    struct slice stored = buffer_slice(&entry->stored);
    return (struct workflow_entry){
        .role = roles[entry->role],
        .job = slice_from(stored.data, entry->id_size),
        .when = {entry->is_absolute, entry->at_ms},
        .record = slice_skip(stored, entry->id_size),
        .element = buffer_slice(&entry->element),
        .hook = buffer_slice(&entry->hook),
        .step = slice_of(entry->step),
    };
}

void workflow_entry_count(const struct app *app, const struct workflow_entry *entry)
{
    struct slice topic, job_id;
    slice_cut(entry->job, '/', &topic, &job_id);
    metrics_accepted(app->metrics, topic);
}

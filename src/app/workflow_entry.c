#include "app/workflow_entry.h"

#include "job/job.h"

void app_workflow_entry_init(struct app_workflow_entry *entry, enum app_workflow_role role)
{
    *entry = (struct app_workflow_entry){.role = role};
    buffer_init_fallible(&entry->stored, JOB_RECORD_MAX);
    buffer_init_fallible(&entry->element, JOB_RECORD_MAX);
}

void app_workflow_entry_fini(struct app_workflow_entry *entry)
{
    buffer_fini(&entry->stored);
    buffer_fini(&entry->element);
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

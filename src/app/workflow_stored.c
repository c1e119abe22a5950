#include "app/workflow_stored.h"

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
    };
}

void workflow_entry_count(const struct app *app, const struct workflow_entry *entry)
{
    struct slice topic, job_id;
    slice_cut(entry->job, '/', &topic, &job_id);
    metrics_accepted(app->metrics, topic);
}

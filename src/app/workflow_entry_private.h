/* workflow_entry_private.h - converts an entry of a workflow for the store; only the files of app/ include
 * it. */
#ifndef DUEPOST_APP_WORKFLOW_ENTRY_PRIVATE_H
#define DUEPOST_APP_WORKFLOW_ENTRY_PRIVATE_H

#include "app/workflow_entry.h"
#include "store/workflow.h"

/* Converts an entry. The result is valid as long as the entry. If the entry is NULL, returns an entry without
 * a job. */
struct workflow_entry workflow_entry_stored(const struct app_workflow_entry *);

/* Counts an accepted job in the metrics. */
void workflow_entry_count(const struct app *, const struct workflow_entry *);

#endif

/* history_redrive.h - use case for POST /jobs/redrive of jobs that only the history may have. */
#ifndef DUEPOST_APP_HISTORY_REDRIVE_H
#define DUEPOST_APP_HISTORY_REDRIVE_H

#include "app/bulk.h"

/* Does what app_bulk does, for a REDRIVE of a list of the history: runs the dead jobs of one page again.
 * Skips a job if a later job had its id, or if the history does not have its body. The call can safely be
 * repeated. */
void app_redrive_history(struct app *, const struct app_caller *, const struct app_bulk *, app_verdict_fn *,
                         void *arg);

#endif

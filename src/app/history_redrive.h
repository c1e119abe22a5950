/* history_redrive.h - use case for POST /jobs/redrive of dead jobs in the history. */
#ifndef DUEPOST_APP_HISTORY_REDRIVE_H
#define DUEPOST_APP_HISTORY_REDRIVE_H

#include "app/bulk.h"

/* Like app_bulk, for a REDRIVE of a list of the history: runs the dead jobs of one page again. Skips a job if
 * a later job had the same id, or if the history does not have the job's body. The call can safely be
 * repeated. */
void app_redrive_history(struct app *, const struct app_caller *, const struct app_bulk *, app_verdict_fn *,
                         void *arg);

#endif

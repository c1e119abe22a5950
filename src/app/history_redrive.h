/* history_redrive.h - use case for POST /jobs/redrive of dead jobs in the history. */
#ifndef DUEPOST_APP_HISTORY_REDRIVE_H
#define DUEPOST_APP_HISTORY_REDRIVE_H

#include "app/bulk.h"

/* Runs the dead jobs of one page of a list of the history again, as app_bulk does with dead jobs in Redis.
 * Skips a job if a later job had the same id, or if the history does not have the job's body. The caller can
 * safely repeat the call. */
void app_redrive_history(struct app *, const struct app_caller *, const struct app_bulk *, app_verdict_fn *,
                         void *arg);

#endif

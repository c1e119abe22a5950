/* rerun.h - runs a job again that has left the pool; only the files of app/ include it. */
#ifndef DUEPOST_APP_RERUN_H
#define DUEPOST_APP_RERUN_H

#include "app/app.h"

/* Schedules the job that ended last under this id again, as a new job that is due now. Call if the pool has
 * no such job. is_resend: a job that was delivered
 * or cancelled is sent again, too. */
void rerun(struct app *, const struct app_caller *, struct slice id, bool is_resend, app_verdict_fn *,
           void *arg);

#endif

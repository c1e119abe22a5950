/* rerun.h - runs an ended job again, also a job that is only in the history; only the files of app/ include
 * this header. */
#ifndef DUEPOST_APP_RERUN_H
#define DUEPOST_APP_RERUN_H

#include "app/app.h"
#include "store/store.h"

/* A job to run again. If only the member id is set, the latest ended job with this id is run now. */
struct rerun_call {
    struct slice id;
    bool is_resend;       /* true: also run a job that was delivered or cancelled */
    bool is_one_of_many;  /* true: the run is logged at level debug, not as a line of its own in the audit log
                           */
    int64_t ended_ms;     /* if not 0: the verdict is STALE unless the job ended at this time */
    struct job_when when; /* when the job is due */
};

/* Schedules a job again, as a new job. Call it if Redis has no job with this id that can be run. If ended_ms
 * is set, also runs a dead job that Redis still has. Copies the struct, but borrows its id. */
void rerun(struct app *, const struct app_caller *, const struct rerun_call *, app_verdict_fn *, void *arg);

#endif

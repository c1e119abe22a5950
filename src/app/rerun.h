/* rerun.h - runs a job again that has left the pool; only the files of app/ include it. */
#ifndef DUEPOST_APP_RERUN_H
#define DUEPOST_APP_RERUN_H

#include "app/app.h"
#include "store/store.h"

/* A job to run again. If only id is set: the job with this id that ended last is run now. */
struct rerun_call {
    struct slice id;
    bool is_resend;         /* a job that was delivered or cancelled is sent again, too */
    bool is_one_of_many;    /* the job has no audit line, only a log line at level debug */
    int64_t ended_ms;       /* run the job only if it ended at this time, else MISMATCH; 0: any time */
    struct store_when when; /* when the job is due */
};

/* Schedules a job again, as a new job. Call it if the pool has no such job. If ended_ms is set, a dead job
 * that the pool still has is run, too. Copies the call, and borrows its id. */
void rerun(struct app *, const struct app_caller *, const struct rerun_call *, app_verdict_fn *, void *arg);

#endif

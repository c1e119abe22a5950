/* rerun.h - runs a job again that has left the pool; only the files of app/ include it. */
#ifndef DUEPOST_APP_RERUN_H
#define DUEPOST_APP_RERUN_H

#include "app/app.h"
#include "store/store.h"

/* A job to run again. All zeros but id: the job that ended last under this id, now. */
struct rerun_call {
    struct slice id;
    bool is_resend;         /* a job that was delivered or cancelled is sent again, too */
    bool is_one_of_many;    /* no audit line of its own, only a log line at level debug */
    int64_t ended_ms;       /* only a job that ended at this time is run, otherwise MISMATCH; 0: any time */
    struct store_when when; /* when the job is due */
};

/* Schedules a job again, as a new job. Call if the pool has no such job. With ended_ms, a dead job that the
 * pool still has is run, too. Copies the call, and borrows its id. */
void rerun(struct app *, const struct app_caller *, const struct rerun_call *, app_verdict_fn *, void *arg);

#endif

/* jobs.h - use cases of one job, by its id. */
#ifndef DUEPOST_APP_JOBS_H
#define DUEPOST_APP_JOBS_H

#include "app/app.h"

/* Reads a job of the pool, or one that ended and is kept. */
void app_read(struct app *, struct slice id, app_verdict_fn *, void *arg);

/* Reads the lines of its last attempts. */
void app_attempts(struct app *, struct slice id, app_verdict_fn *, void *arg);

struct app_replace {
    struct slice id;
    const struct job *job; /* needed during the call only */
    struct slice tags;     /* see job_tags_match */
};

/* Puts a job in the place of the one with the id, unless that is leased, or schedules a new one. */
void app_replace(struct app *, const struct app_caller *, const struct app_replace *, app_verdict_fn *,
                 void *arg);

struct app_patch {
    struct slice id;
    struct slice text; /* a merge patch, see job_patch.h */
    struct slice tags;
};

/* Changes some members of a job. It reads the job, makes the new one, and writes it unless the job has
 * changed meanwhile; then it begins again. */
void app_patch(struct app *, const struct app_caller *, const struct app_patch *, app_verdict_fn *,
               void *arg);

/* Cancels a job. From then on no attempt begins. */
void app_cancel(struct app *, const struct app_caller *, struct slice id, struct slice tags, app_verdict_fn *,
                void *arg);

/* Makes a job due now. A dead job starts over, without attempts. */
void app_run(struct app *, const struct app_caller *, struct slice id, app_verdict_fn *, void *arg);

#endif

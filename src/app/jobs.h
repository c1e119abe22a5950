/* jobs.h - use cases that read or change one job, by its id. */
#ifndef DUEPOST_APP_JOBS_H
#define DUEPOST_APP_JOBS_H

#include "app/app.h"

/* Reads a job, which may have ended: from Redis if Redis has the job, else from the history. If Redis does
 * not have the job and the history cannot be read, the verdict is HISTORY_UNAVAILABLE. */
void app_read(struct app *, struct slice id, app_verdict_fn *, void *arg);

/* Reads the lines of a job's last attempts (attempt_line.h). Reads Redis or the history, as app_read does. */
void app_attempts(struct app *, struct slice id, app_verdict_fn *, void *arg);

struct app_replace {
    struct slice id;
    const struct job *job; /* needed during the call only */
    struct slice tags;     /* see job_tags_match */
};

/* Schedules a job. If a job has this id and is not leased, the new job replaces it. */
void app_replace(struct app *, const struct app_caller *, const struct app_replace *, app_verdict_fn *,
                 void *arg);

struct app_patch {
    struct slice id;
    struct slice text; /* a merge patch, see job_parse.h */
    struct slice tags;
};

/* Changes some members of a job. Reads the job, creates the new job, and writes it. If another process has
 * changed the job since the read, begins again. */
void app_patch(struct app *, const struct app_caller *, const struct app_patch *, app_verdict_fn *,
               void *arg);

/* Cancels a job. After OK no attempt of the job begins. */
void app_cancel(struct app *, const struct app_caller *, struct slice id, struct slice tags, app_verdict_fn *,
                void *arg);

struct app_run {
    struct slice id;
    bool is_resend; /* true: a delivered or cancelled job of the history is also sent again */
};

/* Makes a job due now. A dead job starts again with all its attempts. A job that is only in the history is
 * scheduled again, see rerun.h. */
void app_run(struct app *, const struct app_caller *, const struct app_run *, app_verdict_fn *, void *arg);

/* ---- the record of a job, which may be damaged ---- */

/* Reads the job, which borrows its record. The caller frees it with job_fini. Returns false if the record
 * cannot be read. Then job has only the members that are known without it, and need not be freed. */
bool app_job_read(const struct stored_job *, struct job *);

/* Returns whether the job had a body that the history does not keep. job: the job that app_job_read has read.
 */
bool app_job_lacks_body(const struct stored_job *, const struct job *);

/* Returns why a dead job is dead. */
struct slice app_job_reason(const struct job *, int64_t at_ms);

#endif

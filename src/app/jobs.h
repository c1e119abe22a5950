/* jobs.h - use cases of one job: schedules a new one, alone or as one of many, and reads or changes it. */
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

/* ---- submission.c ---- */

/* The use case that schedules a new job, alone or as one of many. */

enum { APP_SUBMISSIONS_MAX = 100 }; /* maximum number of submissions that are sent together */

struct app_submission {
    struct app *app;
    struct slice id;      /* topic/jobId; set when the submission is sent */
    bool is_id_new;       /* the client sent no jobId */
    struct slice once;    /* fingerprint and idempotency key of the request; the caller may set both before it
                             sends the submission */
    struct buffer stored; /* id and record, which the store borrows */
    struct buffer gate;   /* text for throttle, with once, or for debounce; empty: neither */
    int64_t wait_ms;      /* not 0: the caller waits for the job's end next (wait.h); set before it is sent */
    bool has_due_at;      /* true: when_ms is the due time; false: when_ms is the delay */
    int64_t when_ms;
    bool has_ttl; /* the job expires by ttl, and not by expiresAt */
    bool is_debounced;
    struct stored_job same; /* with SAME: the job, as Redis already has it */
    app_verdict_fn *fn;
    void *arg;
};

/* Creates a submission, which will call back once. */
void app_submission_init(struct app_submission *, struct app *, app_verdict_fn *, void *arg);

/* Frees a submission that has called back, or that was never sent. */
void app_submission_fini(struct app_submission *);

/* Checks whether the job can be accepted now ("admits" the job). text_bytes is the size of the job in the
 * client's request. Returns false after a callback with NOT_REACHED, INVALID, UNAVAILABLE or NO_MEMORY. */
bool app_submission_admit(struct app_submission *, const struct app_caller *, const struct job *,
                          size_t text_bytes);

/* Sends an admitted job, which gets a jobId if it has none. With OK, the verdict's job has the id, the
 * state and the due time. The other possible verdicts are SAME, REPEATED, EXISTS, REUSED, INVALID (no
 * url, or the job would expire before it is due), FULL, NO_MEMORY, UNAVAILABLE and UNKNOWN. */
void app_submission_send(struct app_submission *, struct job *);

/* Writes the record of an admitted job, for app_submissions_send. If the job has no jobId, it gets one. */
void app_submission_write(struct app_submission *, struct job *);

/* Sends up to APP_SUBMISSIONS_MAX submissions that app_submission_write has written. Their topics must all
 * have the same owner. One script schedules either all new jobs or none. Each submission calls back, as after
 * app_submission_send. If a job cannot be scheduled, all submissions end with the same verdict: FULL, EXISTS,
 * REUSED, UNAVAILABLE or UNKNOWN. */
void app_submissions_send(struct app_submission *const *, size_t count);

#endif

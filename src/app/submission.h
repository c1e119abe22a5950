/* submission.h - the use case that schedules a new job, alone or as one of many. */
#ifndef DUEPOST_APP_SUBMISSION_H
#define DUEPOST_APP_SUBMISSION_H

#include "app/app.h"

enum { APP_SUBMISSIONS_MAX = 100 }; /* maximum number of submissions that are sent together */

struct app_submission {
    struct app *app;
    struct slice id;   /* topic/jobId, after the job was sent */
    bool is_id_new;    /* the job came without a jobId */
    struct slice once; /* the fingerprint and the idempotency key; the caller may set them before sending */
    struct buffer stored; /* id and record, which the store borrows */
    bool has_due_at;      /* when_ms is the due time, and not the delay */
    int64_t when_ms;
    struct app_job same; /* the same job that the pool already has */
    app_verdict_fn *fn;
    void *arg;
};

/* Begins a submission, which calls back once. */
void app_submission_init(struct app_submission *, struct app *, app_verdict_fn *, void *arg);

/* Frees a submission after its callback, or if it was never sent. */
void app_submission_fini(struct app_submission *);

/* Checks whether the job can be accepted now. text_bytes is the size of the job in the client's request.
 * Returns false after a callback with NOT_REACHED, INVALID, UNAVAILABLE or NO_MEMORY. */
bool app_submission_admit(struct app_submission *, const struct app_caller *, const struct job *,
                          size_t text_bytes);

/* Sends an admitted job, which gets a jobId if it has none. With DONE, the verdict's job has the id, the
 * state and the due time. The other possible verdicts are SAME, REPEATED, EXISTS, KEY_REUSED, INVALID (no
 * url), FULL, NO_MEMORY, UNAVAILABLE and UNKNOWN. */
void app_submission_send(struct app_submission *, struct job *);

/* Writes an admitted job, which gets a jobId if it has none, for app_submissions_send. */
void app_submission_write(struct app_submission *, struct job *);

/* Sends submissions that were written, at most APP_SUBMISSIONS_MAX, to topics with one owner. All new jobs
 * are scheduled in one script, or none. Each submission calls back, as after app_submission_send. If a job
 * cannot be scheduled, all submissions end with the same verdict: FULL, EXISTS, KEY_REUSED, UNAVAILABLE or
 * UNKNOWN. */
void app_submissions_send(struct app_submission *const *, size_t count);

#endif

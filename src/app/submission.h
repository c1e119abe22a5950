/* submission.h - the use case that schedules a new job, alone or as one of many. */
#ifndef DUEPOST_APP_SUBMISSION_H
#define DUEPOST_APP_SUBMISSION_H

#include "app/app.h"

enum { APP_SUBMISSIONS_MAX = 100 }; /* maximum number of submissions that are sent together */

struct app_submission {
    struct app *app;
    struct slice id;      /* topic/jobId; set when the submission is sent */
    bool is_id_new;       /* the client sent no jobId */
    struct slice once;    /* fingerprint and idempotency key of the request; the caller may set both before it
                             sends the submission */
    struct buffer stored; /* id and record, which the store borrows */
    bool has_due_at;      /* true: when_ms is the due time; false: when_ms is the delay */
    int64_t when_ms;
    bool has_ttl;           /* the job expires by ttl, and not by expiresAt */
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

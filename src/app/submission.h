/* submission.h - the use case that schedules a new job, alone or as one of many. */
#ifndef DUEPOST_APP_SUBMISSION_H
#define DUEPOST_APP_SUBMISSION_H

#include "app/app.h"

struct app_submission {
    struct app *app;
    struct slice id;      /* topic/jobId, once it was sent */
    bool is_id_new;       /* the job came without a jobId */
    struct slice once;    /* the fingerprint and the idempotency key; may be set before it is sent */
    struct buffer stored; /* id and record, as the store borrows them */
    app_verdict_fn *fn;
    void *arg;
};

/* Begins a submission, which brings one callback. */
void app_submission_init(struct app_submission *, struct app *, app_verdict_fn *, void *arg);

/* After its callback, or when it was never sent. */
void app_submission_fini(struct app_submission *);

/* Checks whether the job can be accepted now. text_bytes: how long the job was as the client spelt it. False:
 * the callback has come, with NOT_REACHED, INVALID, UNAVAILABLE or NO_MEMORY. */
bool app_submission_admit(struct app_submission *, const struct app_caller *, const struct job *,
                          size_t text_bytes);

/* Sends an admitted job; it gets a jobId if it has none. DONE: job has the id, the state and the due time.
 * SAME, REPEATED, EXISTS, KEY_REUSED, INVALID (no url), FULL, NO_MEMORY, UNAVAILABLE, UNKNOWN. */
void app_submission_send(struct app_submission *, struct job *);

#endif

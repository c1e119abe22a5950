/* submission.h - one job that is POSTed, from its text to what is said of it.
 *
 * The same for a request with one job and for each of many: they differ in where they put what is said. */
#ifndef DUEPOST_API_SUBMISSION_H
#define DUEPOST_API_SUBMISSION_H

#include "base/buffer.h"
#include "job/job.h"

struct exchange;

/* What is said of a job. */
struct verdict {
    unsigned status;      /* 200, 201, or that of a problem */
    struct slice key;     /* with 200 and 201: topic/jobId of the job that is there */
    struct slice members; /* of a JSON object, without its braces */
};

/* The verdict's slices are borrowed until it returns. */
typedef void submission_fn(void *arg, const struct verdict *);

struct submission {
    struct exchange *exchange;       /* that brought it; borrowed */
    struct slice text;               /* the job as the client spelt it; borrowed */
    struct slice once;               /* see store_schedule; borrowed */
    struct buffer stored;            /* key and record, as the store borrows them */
    struct slice key;                /* topic/jobId */
    bool is_id_ours;                 /* it came without a jobId */
    submission_fn *fn;
    void *arg;
};

void submission_init(struct submission *, struct exchange *, struct slice text, submission_fn *,
                     void *arg);

/* After its callback, or when it was never sent. */
void submission_fini(struct submission *);

/* Whether the job could be taken now. True: job borrows text, and is for job_fini. False: the verdict says
 * why not; its slices are borrowed until the next verdict. */
bool submission_check(struct submission *, struct job *, struct verdict *);

/* Brings one callback, later. */
void submission_send(struct submission *, struct job *);

#endif

/* callback_job.h - the jobs that report what has happened to a job. The functions are pure: no clock, no I/O.
 *
 * A callback of orders/17 is a job of the sibling topic orders~callbacks. The script that records the attempt
 * or the end also schedules the callback. The callback's jobId consists of the jobId of the job, the outcome,
 * and the nonce of the lease that ended with it, such as 17~delivered~4f1c. So each callback is created only
 * once.
 *
 *     onDelivered   the job was delivered
 *     onDead        the job died, for any reason
 *     onAttempt     an attempt was made, with any result
 *
 * The body is the document in docs/topics.md, unless the job's form of delivery (delivery_form.h) writes
 * callbacks of its own. Jobs of sibling topics (see job_id.h) have callbacks only if their form of delivery
 * writes them. A callback has no callbacks of its own, and a cancelled job is not reported. */
#ifndef DUEPOST_JOB_DELIVERY_CALLBACK_JOB_H
#define DUEPOST_JOB_DELIVERY_CALLBACK_JOB_H

#include "job/topic/topic_settings.h"

enum {
    CALLBACK_JOBS_MAX =
        2, /* maximum number of callbacks of one attempt: onAttempt, and onDelivered or onDead */
    CALLBACK_ANSWER_MAX = 64 * 1024, /* maximum size of the answer in the body of a callback */
};

#define CALLBACK_SIBLING "~callbacks"

struct delivery_form;

enum callback_outcome {
    CALLBACK_DELIVERED,
    CALLBACK_DEAD,
    CALLBACK_FAILED,
    CALLBACK_AGAIN, /* the receiver said "not yet": the job is to be sent again later */
};

/* The report of a callback: what has happened to the job. The struct borrows the data of its pointers and
 * slices. */
struct callback_report {
    struct slice id;    /* id of the job: topic/jobId */
    struct slice nonce; /* nonce of the lease that ends */
    enum callback_outcome outcome;
    struct slice reason;   /* DEAD */
    const struct job *job; /* NULL: the record of the job is unreadable */
    int attempts;          /* number of attempts in this round, including this one */
    int round;             /* number of the round, from 1; 0: the job has no rounds */
    const struct attempt_result *attempt, *previous; /* NULL: none */
    int64_t due_ms;                                  /* 0: unknown */
    int64_t claimed_ms, ended_ms;
    int64_t wait_ms;     /* outcomes FAILED and AGAIN: wait until the next attempt */
    struct slice result; /* result that a worker gave, JSON; empty: none */
    struct slice answer; /* answer of the attempt */
    struct slice
        headers; /* headers of the answer, one per line, if the job's form wants them; see delivery_form.h */
    const struct delivery_form *form; /* form of the job; NULL: unknown, or the standard form */
    bool is_answer_cut;
    /* A JSON array of the first elements of the job's workflow. It has at least one element, or the slice is
     * empty: then the elements are unknown, or the job has no workflow. */
    struct slice elements;
};

struct callback_job {
    struct buffer id;
    struct buffer record; /* see job_write */
    int64_t delay_ms;     /* delay from the end of the lease until the callback is due */
};

struct callback_jobs {
    struct callback_job items[CALLBACK_JOBS_MAX];
    size_t count;
};

void callback_jobs_init(struct callback_jobs *);
void callback_jobs_fini(struct callback_jobs *);
void callback_jobs_clear(struct callback_jobs *);

/* Returns whether the job or its topic has callbacks, so that the answer of an attempt may be reported.
 * settings are those of the job's topic, or NULL. */
bool callback_jobs_are_wanted(const struct job *, const struct topic_settings *);

/* Writes the callbacks of the report. Returns false if there is no memory. */
bool callback_jobs_write(struct callback_jobs *, const struct topic_settings *,
                         const struct callback_report *) MUST_USE;

#endif

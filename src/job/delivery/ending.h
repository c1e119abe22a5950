/* ending.h - decides how the lease of a claimed job ends, and writes the texts for that ending. The functions
 * are pure: no clock, no I/O.
 *
 *     ENDING_CAUSE_RESULT, 2xx                       complete
 *     ENDING_CAUSE_RESULT, 2xx and not yet           retry    after again_ms; a new round
 *                          JOB_ROUNDS_MAX rounds     bury     rounds
 *     ENDING_CAUSE_RESULT, 202 and deferred          defer    for defer_ms
 *     ENDING_CAUSE_RESULT, a final answer            bury     the form's reason, such as gone
 *     ENDING_CAUSE_RESULT, target refused            bury     target_refused
 *     ENDING_CAUSE_RESULT, first reset while idle    retry    due time unchanged; uses up no retry
 *     ENDING_CAUSE_RESULT, anything else             retry    after schedule or Retry-After, with jitter
 *                          no retries left           bury     retries_exhausted
 *                          rejected by a worker      bury     rejected
 *     ENDING_CAUSE_EXPIRED                           bury     expired; no attempt was made
 *     ENDING_CAUSE_EXHAUSTED                         bury     retries_exhausted; no attempt was made
 *     ENDING_CAUSE_DONE                              complete no attempt was made, no callbacks
 *     ENDING_CAUSE_OVER                              bury     workflow_ended; no callbacks
 *     ENDING_CAUSE_UNREADABLE                        bury     the record as it is
 *     ENDING_CAUSE_UNSENT                            release  due time unchanged
 *     ENDING_CAUSE_HELD                              release  after hold_ms, or earlier if the job expires
 *     ENDING_CAUSE_UNSERVED                          release  after hold_ms
 *     ENDING_CAUSE_NO_MEMORY                         release  after ENDING_NO_MEMORY_MS
 *
 * ending_decide returns the verdict and the numbers. ending_write writes the texts, including those of
 * the callbacks, and decides nothing more. */
#ifndef DUEPOST_JOB_DELIVERY_ENDING_H
#define DUEPOST_JOB_DELIVERY_ENDING_H

#include "job/delivery/callback_job.h"
#include "job/delivery/delivery_form.h"
#include "job/job.h"
#include "job/topic/topic_settings.h"

enum ending_cause {
    ENDING_CAUSE_RESULT,   /* an attempt was made, and has a result */
    ENDING_CAUSE_UNSENT,   /* nothing was sent, because the lease was lost or the process stops */
    ENDING_CAUSE_HELD,     /* the receiver's breaker or limit, the limit of name lookups, or the lack of a url
                              holds the job */
    ENDING_CAUSE_UNSERVED, /* only another version of duepost can serve the job */
    ENDING_CAUSE_NO_MEMORY,  /* no memory for the job's texts */
    ENDING_CAUSE_EXPIRED,    /* ttl or expiresAt has passed */
    ENDING_CAUSE_EXHAUSTED,  /* the job waited for a retry, and has none left now */
    ENDING_CAUSE_DONE,       /* an earlier attempt of a workflow's job has done its work */
    ENDING_CAUSE_OVER,       /* the workflow of the job has ended */
    ENDING_CAUSE_UNREADABLE, /* duepost did not write this record */
};

/* Everything apart from the job on which an ending depends. The struct borrows the data of its pointers and
 * slices. */
struct ending_input {
    enum ending_cause cause;
    struct slice id, nonce;                /* id and nonce of the lease */
    int64_t now_ms;                        /* time of the claim, by Redis's clock */
    int64_t due_ms;                        /* time at which the job was due; 0: unknown */
    const struct topic_settings *settings; /* NULL: the topic has no settings */
    const struct retry_schedule *schedule; /* used if neither job nor topic has one */
    /* ended jobs go to a history, or are kept for requests that wait, with their attempts */
    bool has_history;
    uint32_t random; /* 32 random bits for the topic's setting jitter */
    int64_t hold_ms; /* HELD, UNSERVED */
    /* RESULT */
    const struct attempt_result *result;
    struct form_judgement judgement;  /* how the job's form judges the answer */
    const struct delivery_form *form; /* form of the job; NULL: unknown */
    struct slice headers;             /* headers of the answer, see delivery_form.h */
    struct slice answer;              /* the beginning of the answer's body */
    bool is_answer_cut;
    struct slice elements; /* elements of the job's workflow, see callback_job.h */
    /* Only for the RESULT that a worker reports for a job that it has leased. */
    bool is_rejected;        /* the worker gave up the job */
    struct slice own_result; /* the result of the job, JSON; empty: none */
};

enum ending_verdict {
    ENDING_COMPLETE,
    ENDING_RETRY,
    ENDING_BURY,
    ENDING_RELEASE,
    ENDING_DEFER, /* the attempt continues: its lease becomes that of a worker */
};

struct ending {
    enum ending_verdict verdict;
    bool keeps_place;    /* RETRY, RELEASE: the due time does not change; wait_ms is 0 */
    int64_t wait_ms;     /* RETRY, RELEASE: delay from now; DEFER: length of the lease */
    struct slice reason; /* BURY: why the job is dead, a literal; empty if the record is unreadable */
    int attempts; /* new number of attempts, including this attempt if it was made; 0 if a new round begins */
    int uncounted;   /* new number of attempts of this round that used up no retry */
    int rounds;      /* new number of ended rounds, including this round if it has ended */
    bool is_round;   /* RETRY: the receiver said "not yet", which ends the round */
    bool has_record; /* a new record is written */
    bool has_line;   /* a line of the attempt is kept, see attempt_line.h */
};

/* The texts of an ending. The call of the store that ends the lease borrows them until its callback. */
struct ending_texts {
    struct buffer record; /* RETRY, BURY */
    struct buffer line; /* empty: no line is kept. COMPLETE: a newline and the result of the job may follow */
    struct callback_jobs callbacks; /* COMPLETE, RETRY, BURY */
};

void ending_texts_init(struct ending_texts *);
void ending_texts_fini(struct ending_texts *);

#define ENDING_RETRY_AFTER_MAX_MS (INT64_C(24) * 3600 * 1000)
enum { ENDING_NO_MEMORY_MS = 5000 }; /* a job that was released for lack of memory waits for this time */

/* Returns whether the job has made more attempts than it has now: after its last attempt failed, its owner or
 * its topic got fewer retries. Such a job dies instead of another attempt. "ours" is duepost's default
 * schedule. */
bool ending_is_exhausted(const struct job *, const struct topic_settings *,
                         const struct retry_schedule *ours);

/* Decides the ending. job is the claimed job; its number of attempts does not include this attempt yet. With
 * UNREADABLE, job is empty. */
struct ending ending_decide(const struct job *, const struct ending_input *);

/* Writes the texts and updates the job's numbers. raw is the record as the claim returned it; an ending with
 * UNREADABLE keeps this record. job borrows the detail of the result. Returns false if there is no memory for
 * the texts; the caller then ends the job by ENDING_CAUSE_NO_MEMORY. */
bool ending_write(const struct ending *, const struct ending_input *, struct job *, struct slice raw,
                  struct ending_texts *) MUST_USE;

#endif

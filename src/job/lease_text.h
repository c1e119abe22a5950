/* lease_text.h - leases of jobs of pull topics: requests of workers, and their results. */
#ifndef DUEPOST_JOB_LEASE_TEXT_H
#define DUEPOST_JOB_LEASE_TEXT_H

#include "base/buffer.h"
#include "base/status.h"
#include "job/job.h"
#include "job/text/job_errors.h"

enum {
    LEASE_JOBS_MAX = 100,  /* maximum number of jobs in one request */
    LEASE_TOKEN_MAX = 128, /* bytes */
    LEASE_ERROR_MAX = 256, /* bytes */
    LEASE_PROGRESS_MAX = 4 * 1024,
    LEASE_RESULT_MAX = 64 * 1024,
};
#define LEASE_MIN_MS      INT64_C(1000)
#define LEASE_MAX_MS      (INT64_C(12) * 3600 * 1000)
#define LEASE_DEFAULT_MS  INT64_C(30000)
#define LEASE_WAIT_MAX_MS INT64_C(60000)

/* A request for jobs. */
struct lease_request {
    int64_t max, lease_ms, wait_ms;
    bool has_key;
    struct slice key;  /* has_key: only jobs of this key, or if it is empty, jobs without a key */
    struct slice only; /* the same as scripts expect it: '=' and the key, or "" for jobs of any key */
    char room[1 + LANE_KEY_MAX];
};

/* Parses the body of a request for jobs. If the body is empty, all members have their defaults. If INVALID,
 * errors has all faults. The request must not be moved, because it borrows its own room. */
enum status lease_request_parse(struct slice text, struct lease_request *, struct job_errors *) MUST_USE;

/* ---- tokens of attempts ----
 *
 * A receiver that answers 202 with Duepost-Defer ends its attempt later, with a token that its request
 * carried. The token has the nonce of the attempt's lease, the time at which the attempt began, and a proof:
 * an HMAC-SHA256 of both and the job's id, with a secret that is in Redis. So nothing is stored for a token,
 * and the token of one job says nothing about other jobs of the same claim. */

enum { DEFER_TOKEN_MAX = 100, DEFER_SECRET_SIZE = 65 /* 32 random bytes in hex, and a NUL */ };

void defer_token_write(struct slice secret, struct slice id, struct slice nonce, int64_t began_ms,
                       struct buffer *);

/* Returns false unless defer_token_write has written the token for this id with this secret. */
bool defer_token_read(struct slice secret, struct slice id, struct slice token, struct slice *nonce,
                      int64_t *began_ms);

/* Returns whether the text looks like such a token. Tokens of leases that a worker has requested do not. */
bool defer_token_is_one(struct slice token);

/* ---- ends ---- */

enum lease_end_kind {
    LEASE_END_COMPLETE,
    LEASE_END_RETRY,
    LEASE_END_BURY,
    LEASE_END_EXTEND,
    LEASE_END_RELEASE,
};
enum { LEASE_END_COUNT = LEASE_END_RELEASE + 1 };

/* A job that a worker has leased. Borrows the slices and the job. */
struct pulled_job {
    const struct job *job;     /* job->attempts + 1 is the number of the attempt that has begun */
    struct slice id;           /* topic/jobId */
    struct slice settings;     /* settings of the job's topic, see topic_settings.h; empty: none */
    int64_t due_ms, leased_ms; /* due time, and start of the lease */
    int64_t until_ms;          /* deadline of the lease */
};

/* The end or the extension of a lease. The words before a colon name the kinds that use the member. Borrows
 * the slices and the schedule. */
struct lease_end {
    enum lease_end_kind kind;
    struct slice id;    /* topic/jobId */
    struct slice token; /* token as the worker sent it: any text */
    struct slice error; /* RETRY, BURY: description of the error, UTF-8; empty: unknown */
    bool has_delay;     /* RETRY: wait delay_ms instead of the time in the retry schedule */
    int64_t delay_ms;
    int64_t lease_ms;                      /* EXTEND: length of the lease from now on */
    struct slice progress;                 /* EXTEND: JSON; empty: none */
    struct slice result;                   /* COMPLETE: JSON; empty: none */
    const struct retry_schedule *schedule; /* RETRY: for jobs and topics without a retry schedule */
};

/* The result for one lease. If the token did not hold the lease of the job, nothing changed. */
struct lease_ended {
    int64_t now_ms;
    int64_t at_ms;       /* EXTEND: the new deadline; RETRY: when the next attempt is due */
    bool is_dead;        /* RETRY: no retries were left, and the job is dead now */
    struct slice reason; /* RETRY and BURY: why the job is dead, a literal; empty: it is not dead */
    bool is_repeated;    /* COMPLETE: the same token has already completed the job, within the last minute */
    /* If has_state, state is the job's current state. Otherwise the job does not exist, or its state could
     * not be read. */
    bool has_state;
    enum job_state state;
    bool was_replaced; /* not held: a client has replaced the job during this lease */
};

/* A worker's text of the end of one lease. Each kind of ending uses some of the members; the others are
 * empty. */
struct lease_end_text {
    struct slice job_id, token, error;
    struct slice progress, result; /* raw JSON */
    bool has_delay;
    int64_t delay_ms, lease_ms;
    struct buffer text; /* owned: unescaped strings */
};

/* Parses an object. If OK, the struct borrows text. After a failure the struct has nothing to free; errors
 * has all faults unless the status is NO_MEMORY. */
enum status lease_end_parse(enum lease_end_kind, struct slice text, struct lease_end_text *,
                            struct job_errors *) MUST_USE;
void lease_end_fini(struct lease_end_text *);

/* An array of objects, each of which lease_end_parse parses. */
struct lease_end_items {
    struct slice items[LEASE_JOBS_MAX];
    size_t count;
};

/* Returns whether the text is an array, by its first byte. */
bool lease_ends_are_many(struct slice text);

/* Cuts an array. Returns INVALID, with one error, unless the text is JSON and has 1 to LEASE_JOBS_MAX items.
 */
enum status lease_ends_cut(struct slice text, struct lease_end_items *, struct job_errors *) MUST_USE;

#endif

/* pull.h - leases of jobs of pull topics, for workers that request jobs over HTTP.
 *
 * The rules of store.h about calls, callbacks and statuses apply here, too. A job of a pull topic is leased
 * until a deadline. A worker proves with a token that it holds the lease. The token is the nonce (random
 * text) of the call that leased the job. All jobs of one call have the same token, so a token is valid only
 * together with the id of a job.
 *
 *     store_pull ──▶ leased ──▶ complete      the job is delivered
 *                      │ ▲ └──▶ retry, bury   a failed attempt
 *                      │ └extend              the lease gets a later deadline
 *                      ├──────▶ release       the job waits with its old due time; no attempt counts
 *                      └──────▶ deadline      a failed attempt with the error lease_expired
 *
 * The token of an attempt (lease_text.h) ends the attempt of a consumer in the same way: the lease then
 * becomes that of a worker, as it does when the receiver answers 202 (shard_defer).
 *
 * After the deadline, the carry worker ends the lease within a second (worker/recovery.h). Until then, the
 * token can still complete, retry, bury or release the job, but not extend the lease.
 *
 * Pause, maxInFlight, rate, order, ttl, callbacks and retention work as for jobs that are POSTed. Workers do
 * not get jobs that have expired or whose record cannot be read: these are buried. They do not get jobs that
 * need a later version of duepost, either: these are released.
 *
 * These functions also update the metrics and write the log lines of the attempts and deaths that they
 * cause. */
#ifndef DUEPOST_STORE_PULL_H
#define DUEPOST_STORE_PULL_H

#include "job/job.h"
#include "job/lease_text.h"
#include "store/store.h"

/* ---- leasing ---- */

struct store_pull {
    struct slice topic;
    struct slice only; /* '=' and a key: only jobs of this key, or without one; empty: jobs of any key */
    size_t max;        /* 1 to LEASE_JOBS_MAX */
    int64_t lease_ms;  /* LEASE_MIN_MS to LEASE_MAX_MS (lease_text.h) */
    /* How long the caller waits if no job can be leased now; 0: it does not wait. During this time, the
     * listener of store_on_pull_wake is called when the topic may have jobs. A caller that waits longer must
     * call store_pull again before this time is over. */
    int64_t wait_ms;
    /* If the request has an idempotency key: the request's fingerprint, a space and topic/idempotency key;
     * else empty. The answer to the first request with this key is kept as long as its leases last, but at
     * least a minute. A repeated request gets those jobs of this answer that are still leased with the
     * answer's token. */
    struct slice once;
    const struct retry_schedule *schedule; /* default for jobs and topics without one; borrowed */
};

struct store_pulled {
    int64_t now_ms;     /* time at which the script ran */
    struct slice token; /* lease token of all these jobs; empty if there are no jobs */
    const struct pulled_job *jobs;
    /* Number of jobs. It is less than max if no more jobs are due, a limit is reached, or the records
     * exceed 4 MiB. */
    size_t count;
    bool is_repeated; /* the jobs are those of an earlier call with the same idempotency key */
    bool has_more;    /* more jobs may be leased now */
    /* If there are no jobs: the earliest time at which a job may be leased, or -1 if this does not depend on
     * time alone. If a job may be leased before this time, the listener is called, see wait_ms. */
    int64_t next_ms;
};

/* Called with OK (also if there are no jobs), NOT_PULL (jobs of the topic are POSTed), REUSED (the
 * idempotency key belongs to another request), LACKING or UNREADABLE (the topic's settings need a later
 * version, or cannot be read), NO_MEMORY, UNAVAILABLE or UNKNOWN. The struct is NULL unless the status is
 * OK. If the status is UNKNOWN, jobs may have been leased. The store releases these jobs as soon as Redis
 * answers again, unless the call has an idempotency key. */
typedef void store_pull_fn(void *arg, enum status, const struct store_pulled *);

/* Leases due jobs of a pull topic. Borrows the slices until the callback. All calls of one turn of the
 * loop are sent in one script call, in their order. */
void store_pull(struct store *, const struct store_pull *, store_pull_fn *, void *arg);

/* Sets the listener; a store has only one. fn is called when a job of a pull topic may be leased, if a
 * call of store_pull for this topic had a wait_ms. fn gets an empty topic if messages may have been lost,
 * because then any topic may have jobs. When fn is called, another process may already have leased the
 * job. */
typedef void store_pull_wake_fn(void *arg, struct slice topic);
void store_on_pull_wake(struct store *, store_pull_wake_fn *, void *arg);

/* ---- ending ---- */

/* Called with OK, STALE (the token does not hold the job's lease; nothing changed), UNREADABLE or LACKING
 * (the job or its topic's settings cannot be read or need a later version; nothing changed), NO_MEMORY,
 * UNAVAILABLE, UNKNOWN or UNDURABLE (the change is made, but too few replicas have it). The struct is NULL
 * unless the status is OK, UNDURABLE or STALE. OK means that the change has the configured durability. */
typedef void store_pull_end_fn(void *arg, enum status, const struct lease_ended *);

/* Returns whether the token is that of an attempt at this job (lease_text.h). The attempt may be over. */
bool store_knows_token(struct store *, struct slice id, struct slice token);

/* Ends or extends a lease. Borrows the slices and the schedule until the callback. All calls of one turn
 * of the loop are sent together. */
void store_pull_end(struct store *, const struct lease_end *, store_pull_end_fn *, void *arg);

#endif

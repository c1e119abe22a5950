/* shard.h - one shard, for the parts of duepost that deliver its jobs.
 *
 * The rules of store.h about calls and callbacks apply here, too. Each shard has its own connections,
 * doorbell (wakes consumers when jobs can be claimed) and carry lock (its owner moves topics with due jobs to
 * the ready list, which is called carrying). No shard waits for another.
 *
 * A shard has five connections, so that a slow or blocked connection does not delay the others. The
 * connections are: changes (changes by the owners of jobs; a WAIT for replicas may follow a change and delays
 * all later replies), reads, worker (claims, outcomes, renewals, carrying), bell (BLPOP) and subscriber
 * (wake-ups). In one reactor of a process, shard 0 has a sixth one for the dashboard's figures
 * (live_channel.h). */
#ifndef DUEPOST_STORE_SHARD_H
#define DUEPOST_STORE_SHARD_H

#include "job/retry.h"
#include "store/store.h"

struct shard;

/* Returns a shard by its number, from 0. */
struct shard *store_shard(const struct store *, size_t number);

/* Returns the shard of a topic, an id or a receiver with this name. A sibling topic is in the shard of its
 * owner topic. */
struct shard *store_shard_of(const struct store *, struct slice id);

size_t shard_number(const struct shard *);

/* Returns whether the data in Redis has a newer format than this version supports, as far as known: a later
 * version of duepost has raised the format while this process runs. The scripts then refuse all changes
 * except those that end or renew the attempts of this process (scripts/lib/check.lua). */
bool shard_is_newer(const struct shard *);

/* ---- For the consumer ---- */

struct nonce {
    char text[STORE_NONCE_MAX + 1];
};

/* The right to deliver one job, valid as long as Redis has this nonce for the job. */
struct lease {
    struct slice id;
    struct nonce nonce;
};

struct shard_claimed {
    struct slice id, record;
    struct slice settings; /* settings of its topic, see topic_settings.h; empty: none */
    int64_t due_ms;
    int64_t free_ms; /* since when nothing holds the job: due_ms, or the end of its hold or of a pause */
};

/* Valid until the callback returns. */
struct shard_claim {
    const struct nonce *nonce;
    int64_t now_us; /* time at which the script ran, by Redis's clock */
    const struct shard_claimed *jobs;
    size_t count;
    size_t more;         /* number of topics that are still in the ready list */
    int64_t next_due_ms; /* if the claim has carried: earliest due time; -1: no job waits */
    int64_t receivers;   /* version of the shard's records of receivers, see store_news */
    /* The name and settings of a topic that the claim skipped, because its settings cannot be read or need a
     * later version. Both are empty if no topic was skipped. */
    struct slice passed, passed_settings;
    bool has_waiters; /* requests wait for ends of jobs, see shard_has_waiters */
};

typedef void shard_claim_fn(void *arg, enum status, const struct shard_claim *);

enum shard_claim_kind {
    SHARD_CLAIM_ONLY,
    SHARD_CLAIM_CARRY, /* carries first, as shard_carry does, because the carry worker has found that topics
                          are due */
    SHARD_CLAIM_CARRY_ALONE, /* the same, and no other process has a carry worker */
};

/* Leases up to max jobs for STORE_LEASE_MS, counted from a time before the call. The claim is sent together
 * with the outcomes of the same turn, after them. */
void shard_claim(struct shard *, size_t max, enum shard_claim_kind, shard_claim_fn *, void *arg);

enum { SHARD_NO_WAIT = -1 };

/* Data written with the end of a lease. The call borrows the data until its callback. */
struct shard_end {
    struct slice record; /* the job's new record; not used by shard_complete */
    /* The attempt's line to keep, see attempt_line.h; empty: none. With shard_complete, a newline and the
     * result of the job may follow (job.h). */
    struct slice attempt;
    struct slice progress; /* EXTEND: JSON; empty: none */
    /* jobs that the same script schedules, unless the status is STALE; max_jobs does not apply, and an
     * existing job with the same id is not changed */
    struct shard_follow_ups follow;
    /* shard_complete may wait up to SHARD_PATIENCE_US for another call, so that Redis syncs both together. */
    bool may_wait;
};

/* Returns whether requests may wait for the ends of jobs of the shard. Then give the line of the attempt with
 * the end of each job. */
bool shard_has_waiters(const struct shard *);

#define SHARD_PATIENCE_US INT64_C(5000)

/* The following calls end a lease. The status is STALE if another process has leased or changed the job, and
 * REPLACED if a client has replaced it during the attempt; the call then changes nothing. With NO_LINE, make
 * the call of shard_complete again with the line of the attempt, or with "-" if no attempt was made. These
 * calls borrow the lease's id until the callback. */
typedef void shard_done_fn(void *arg, enum status);
void shard_complete(struct shard *, const struct lease *, const struct shard_end *, shard_done_fn *,
                    void *arg);
/* wait_ms is the time until the next attempt. With SHARD_NO_WAIT the due time does not change. */
void shard_retry(struct shard *, const struct lease *, int64_t wait_ms, const struct shard_end *,
                 shard_done_fn *, void *arg);
void shard_bury(struct shard *, const struct lease *, const struct shard_end *, shard_done_fn *, void *arg);

/* How a job that was not sent is released. */
struct shard_hold {
    int64_t wait_ms;       /* how long the job is held; SHARD_NO_WAIT: the due time does not change */
    struct slice receiver; /* receiver whose circuit breaker holds the job, see shard_resume; empty: none.
                              Borrowed until the callback */
    /* The breaker holds the job only because the topic's setting "breaker" was true at the claim. */
    bool is_by_setting;
    bool lacks_url;     /* neither the job nor its topic has a url: held until the topic has one */
    int64_t claimed_ms; /* now_ms of the claim that leased the job */
};

/* Ends the lease of a job that was not attempted. */
void shard_release(struct shard *, const struct lease *, const struct shard_hold *, shard_done_fn *,
                   void *arg);

/* Resumes at most max jobs that the circuit breaker of receiver holds: each gets back the due time that it
 * had before the hold. count is the number of ids that were examined. This number is less than max if there
 * were no more ids. Borrows receiver until the callback. */
typedef void shard_resume_fn(void *arg, enum status, size_t count);
void shard_resume(struct shard *, struct slice receiver, size_t max, shard_resume_fn *, void *arg);

/* Renews a lease for STORE_LEASE_MS. The status is STALE if the lease is lost, NOT_FOUND if the job was
 * cancelled, and REPLACED if a client has replaced it. Such a job must not be sent any more. If its attempt
 * is still running, it counts as in flight as long as its lease is renewed. */
void shard_renew(struct shard *, const struct lease *, shard_done_fn *, void *arg);

/* Makes the lease that of a worker: the receiver ends the attempt later, with its token (store/pull.h). The
 * status is as with the ends of leases. If a request has already used the token, the status is OK, too, and
 * the lease does not become shorter. */
struct shard_deferral {
    int64_t lease_ms, began_ms;
    bool has_callbacks;
};
void shard_defer(struct shard *, const struct lease *, const struct shard_deferral *, shard_done_fn *,
                 void *arg);

/* Changes the nonce of a consumer's lease to that of the worker's lease that shard_defer, or the first use of
 * the token, makes of it. Returns false if the nonce is too long to be that of an attempt with a token. */
bool shard_defer_nonce(struct nonce *);

/* Writes the token with which the attempt of this lease can be ended, see lease_text.h. */
void shard_defer_token(const struct shard *, const struct lease *, int64_t began_ms, struct buffer *);

/* Calls fn when records of receivers have changed, see store_news. If the shard misses a change, the next
 * claim reports it. There is one listener. */
void shard_on_receivers(struct shard *, loop_fn *, void *arg);

/* Waits up to SHARD_BELL_SECONDS (BLPOP) until another consumer or the carry worker rings the doorbell of the
 * shard, because jobs can be claimed. The status is OK in both cases: after the ring, and after this time
 * without it. */
enum { SHARD_BELL_SECONDS = 5 };
void shard_wait_bell(struct shard *, shard_done_fn *, void *arg);

/* Calls fn when the connection for claims and outcomes came up. The caller can then try failed outcomes
 * and claims again. Redis may have lost its last confirmed changes. There are at most STORE_UP_LISTENERS
 * listeners. */
void shard_on_up(struct shard *, loop_fn *, void *arg);

/* Calls fn when the doorbell's connection came up. This connection is independent of the one for claims.
 * There is one listener. */
void shard_on_bell_up(struct shard *, loop_fn *, void *arg);

/* ---- For the carry worker and the janitor ---- */

struct shard_carry {
    struct slice me;   /* name of this process */
    bool is_tick;      /* raises the beat, which shows that the owner runs */
    bool is_unwatched; /* no other process can be running and watch the beat, so the beat is not raised */
    bool is_leaving;   /* releases the lock */
    /* If this process does not hold the lock, it carries only topics that have been overdue for this time. */
    int64_t patience_ms;
    /* Take over the lock from this owner if its beat is still stuck_beat; empty: do not take it. */
    struct slice stuck_owner;
    int64_t stuck_beat;
    int64_t expected_ms; /* time that Redis's clock should show; -1: unknown */
};

/* Says which calls have work to do, as shard_carry has found. All members except forgets are found only
 * once a second (is_tick). A process that does not hold the lock only receives has_turns. */
struct shard_chores {
    bool has_turns; /* a claim would find due jobs */
    bool rests;     /* the clock has stepped ahead, so nothing may be removed by age now */
    bool forgets, sweeps, reoffers, archives; /* shard_forget, shard_sweep, shard_reoffer, outbox_read */
    bool notes;                               /* trail_read (outbox.h) */
    bool opens;                               /* shard_openings lists topics */
    bool alerts;                              /* topics have alerts: shard_symptoms (store/alert.h) */
    bool expires; /* jobs expire within a second, or have expired: shard_list_expired */
};

struct shard_carried {
    int64_t now_us;
    struct slice owner; /* borrowed */
    int64_t beat;
    int64_t next_due_ms;   /* earliest due time of the shard; -1: no job waits */
    int64_t until_lost_ms; /* time until the next lease expires; 0: a lease has expired; -1: there are no
                              leases */
    bool is_full;          /* more topics may have due jobs, because the call reached its maximum */
    struct shard_chores chores;
    int64_t next_fire_ms; /* earliest time at which a schedule fires; -1: none */
};

typedef void shard_carry_fn(void *arg, enum status, const struct shard_carried *);
void shard_carry(struct shard *, const struct shard_carry *, shard_carry_fn *, void *arg);

/* When the windows of a topic open and close (job/schedule/windows.h). */
struct shard_opening {
    struct slice topic;
    struct slice settings; /* as they were listed */
    struct slice spans;    /* as in the script openings */
};

enum { SHARD_OPENINGS_MAX = 100 }; /* maximum number of topics in a list */

/* Called with the topics whose spans are needed next. */
typedef void shard_openings_fn(void *arg, enum status, const struct shard_opening *wanted, size_t count);

/* Stores spans, and lists topics. Borrows the slices until the callback. */
void shard_openings(struct shard *, const struct shard_opening *known, size_t count, shard_openings_fn *,
                    void *arg);

/* A lease belongs to a consumer of a duepost process, or to a worker (store/pull.h). */
enum lease_holder { LEASE_OF_CONSUMER, LEASE_OF_WORKER };

/* A job whose lease the caller has to end, because it has run out. Valid until the callback returns. */
struct shard_lost_job {
    struct slice id, record;
    struct slice settings; /* settings of its topic, see topic_settings.h; empty: none */
    struct nonce nonce;
    int64_t due_ms, leased_ms;
};

/* Valid until the callback returns. */
struct shard_lost {
    int64_t now_ms;
    const struct shard_lost_job *jobs;
    size_t count;
    size_t number; /* how many leases the script has looked at */
    bool is_full;  /* there may be more */
};

/* Looks at a limited number of leases that have run out. The job of a consumer becomes due again. If it has
 * lost too many consumers, it is listed, and leased to the caller for STORE_LEASE_MS, who must bury it. The
 * job of a worker is listed until its lease is ended, by shard_end_lost or by its worker. The listed jobs
 * have at most some MiB of records. A job whose lease is not ended is listed again. The status is STALE if
 * Redis's clock is more than a second away from expected_ms. */
typedef void shard_lost_fn(void *arg, enum status, const struct shard_lost *);
void shard_recover(struct shard *, enum lease_holder, int64_t expected_ms, shard_lost_fn *, void *arg);

/* Lists jobs that wait and have expired, as shard_recover does; leased_ms is the current time.
 * shard_end_lost buries such a job, unless it has changed or was leased in the meantime. A job that is not
 * buried is listed again after 5 s. */
void shard_list_expired(struct shard *, int64_t expected_ms, shard_lost_fn *, void *arg);

/* Ends a worker's lease that has run out. This counts as a failed attempt: the job is retried by its
 * schedule, or dies. schedule is used if neither the job nor its topic has a retry schedule. Copies the
 * texts. The status is STALE if the lease has already ended. If memory is short, nothing changes, and fn
 * is called with NO_MEMORY before this function returns. */
void shard_end_lost(struct shard *, const struct shard_lost_job *, int64_t now_ms,
                    const struct retry_schedule *schedule, shard_done_fn *, void *arg);

/* Removes a limited number of expired idempotency keys, and a limited number of entries of sends (jobs for
 * a group) whose jobs have ended. is_full: more of both may remain. */
typedef void shard_forget_fn(void *arg, enum status, bool is_full);
void shard_forget(struct shard *, shard_forget_fn *, void *arg);

/* Numbers of jobs that one step of limited size has removed: delivered and cancelled jobs (ended), and dead
 * jobs that were removed by their topic's retention, by dead_max_age_ms and by dead_max. */
struct shard_swept {
    size_t ended, by_retention, by_age, by_number;
    bool is_full;    /* there are more jobs to remove now */
    int64_t late_ms; /* how long the removal of the next job is overdue */
};
typedef void shard_sweep_fn(void *arg, enum status, const struct shard_swept *);
void shard_sweep(struct shard *, shard_sweep_fn *, void *arg);

/* One step of the survey, which counts due jobs in steps of limited size. The survey is needed while
 * takes_survey of store_counts is true. cursor is empty at first and at the end, and has at most
 * SHARD_SURVEY_CURSOR_MAX bytes. The other members are the result so far. */
enum { SHARD_SURVEY_CURSOR_MAX = 256 };
struct shard_survey {
    struct slice cursor;
    int64_t due_jobs;
    int64_t oldest_due_ms; /* -1: no job is due */
};
typedef void shard_survey_fn(void *arg, enum status, const struct shard_survey *);
void shard_survey(struct shard *, const struct shard_survey *, shard_survey_fn *, void *arg);

/* Decides again which topics can be claimed now, after the settings of patterns have changed, or after
 * Redis's clock has stepped by step_ms since the last call; then it also moves the deadlines of workers'
 * leases. Examines a limited number of topics and leases. is_full: more of them remain. */
typedef void shard_reoffer_fn(void *arg, enum status, size_t count, bool is_full);
void shard_reoffer(struct shard *, int64_t step_ms, shard_reoffer_fn *, void *arg);

/* Counts the jobs of this shard. */
void shard_audit(struct shard *, store_audit_fn *, void *arg);

/* Does one step of mend.lua, which walks through the data of Redis and repairs it. cursor is "0" at first
 * and at the end. */
typedef void shard_mend_fn(void *arg, enum status, struct slice cursor, const struct slice *mended,
                           size_t count);
void shard_mend(struct shard *, struct slice walk, struct slice cursor, shard_mend_fn *, void *arg);

/* Sets the only listener: fn is called when a topic gets a due time that is earlier than the due times of
 * all other topics. */
typedef void shard_wake_fn(void *arg, int64_t due_ms);
void shard_on_wake(struct shard *, shard_wake_fn *, void *arg);

/* Sets the only listener: fn is called when the time of a schedule becomes earlier than the times of all
 * other schedules. */
void shard_on_fire_wake(struct shard *, shard_wake_fn *fn, void *arg);

/* Sets the only listener: fn is called when the owner of the carry lock has released it. */
void shard_on_lock_left(struct shard *, loop_fn *, void *arg);

/* Sets the only listener: fn is called when topics come into the list of those whose openings are wanted. */
void shard_on_openings_wanted(struct shard *, loop_fn *, void *arg);

/* Sets the only listener: fn is called when the subscription to wake-ups begins, also after a reconnection.
 * Wake-ups that were published before are lost. */
void shard_on_subscribed(struct shard *, loop_fn *, void *arg);

#endif

/* shard.h - one shard, for the roles that deliver its jobs.
 *
 * The promises of store.h hold here, too. Each shard has its own connections, carry lock and doorbell; shards
 * do not wait for each other.
 *
 * A shard has five connections, so that a slow or blocked one delays no other: changes (by the owners of
 * jobs, with WAIT after them for replicas, which holds back all later replies), reads, worker (claims,
 * outcomes, renewals, carrying), bell (BLPOP) and subscriber (wake-ups). */
#ifndef DUEPOST_STORE_SHARD_H
#define DUEPOST_STORE_SHARD_H

#include "store/follow_up.h"
#include "store/store.h"

struct shard;

/* Returns a shard by its number, from 0. */
struct shard *store_shard(const struct store *, size_t number);

/* Returns the shard of a topic, of an id, or of a receiver with that name. A sibling topic lies with its
 * owner. */
struct shard *store_shard_of(const struct store *, struct slice id);

size_t shard_number(const struct shard *);

/* ---- For the consumer ---- */

struct nonce {
    char text[STORE_NONCE_MAX + 1];
};

/* The right to deliver one job, valid while nonce is its fence. */
struct lease {
    struct slice id;
    struct nonce nonce;
};

struct shard_claimed {
    struct slice id, record;
    struct slice settings; /* of its topic, see topic_settings.h; empty: none */
    int64_t due_ms;
};

/* Borrowed until the callback returns. */
struct shard_claim {
    const struct nonce *nonce;
    int64_t now_ms; /* when the script ran */
    const struct shard_claimed *jobs;
    size_t count;
    size_t more;       /* topics that are still ready */
    int64_t receivers; /* version of the shard's records of receivers, see store_news */
    /* A topic that was passed over, and its settings, which cannot be read or need a later version. Empty:
     * none. */
    struct slice passed, passed_settings;
};

typedef void shard_claim_fn(void *arg, enum status, const struct shard_claim *);

/* Leases up to max jobs, for STORE_LEASE_MS counted from before the call. The claim is sent with the outcomes
 * of the same turn, after them. */
void shard_claim(struct shard *, size_t max, shard_claim_fn *, void *arg);

enum { SHARD_NO_WAIT = -1 };

/* Data written with the end of a lease. Borrowed until the callback. */
struct shard_end {
    struct slice record;  /* the job's new record; not with complete */
    struct slice attempt; /* the attempt's line to keep, see attempt_line.h; empty: none */
    /* scheduled in the same script, unless STALE; max_jobs does not apply, and an existing id is left alone
     */
    struct shard_follow_ups follow;
};

/* End a lease. STALE: another process holds or changed the job; nothing changed. The lease's id is borrowed
 * until the callback. */
typedef void shard_done_fn(void *arg, enum status);
void shard_complete(struct shard *, const struct lease *, const struct shard_end *, shard_done_fn *,
                    void *arg);
/* wait_ms: until the next attempt; SHARD_NO_WAIT: the due time does not change. */
void shard_retry(struct shard *, const struct lease *, int64_t wait_ms, const struct shard_end *,
                 shard_done_fn *, void *arg);
void shard_bury(struct shard *, const struct lease *, const struct shard_end *, shard_done_fn *, void *arg);

/* Ends a lease without an attempt. wait_ms: the job was not sent and is held for this time; SHARD_NO_WAIT:
 * the due time does not change. claimed_ms: now_ms of its claim. */
void shard_release(struct shard *, const struct lease *, int64_t wait_ms, int64_t claimed_ms, shard_done_fn *,
                   void *arg);

/* STALE: the lease is lost. NOT_FOUND: the job was cancelled; it must not be sent any more, but its attempt
 * keeps its place in flight as long as it is renewed. */
void shard_renew(struct shard *, const struct lease *, shard_done_fn *, void *arg);

/* Calls fn when records of receivers have changed, see store_news. The next claim reports changes that were
 * missed. One listener. */
void shard_on_receivers(struct shard *, loop_fn *, void *arg);

/* Waits up to a second for the doorbell. status is OK whether it rang or not. */
void shard_wait_bell(struct shard *, shard_done_fn *, void *arg);

/* Calls fn when the connection of claims and outcomes came up. Outcomes and claims that failed can be tried
 * again, and Redis may have lost its last confirmed changes. At most STORE_UP_LISTENERS. */
void shard_on_up(struct shard *, loop_fn *, void *arg);

/* Calls fn when the doorbell's connection came up, which is independent of the other. One listener. */
void shard_on_bell_up(struct shard *, loop_fn *, void *arg);

/* ---- For the carry worker and the janitor ---- */

struct shard_carry {
    struct slice me;     /* this process */
    bool is_tick;        /* raise the beat */
    bool is_unwatched;   /* no other process can be running: the beat need not be raised */
    bool is_leaving;     /* give the lock back */
    int64_t patience_ms; /* without the lock: offer topics that are overdue by this time */
    struct slice
        stuck_owner; /* take the lock over from this owner if it is still at stuck_beat; else empty */
    int64_t stuck_beat;
};

struct shard_carried {
    int64_t now_us;
    struct slice owner; /* borrowed */
    int64_t beat;
    int64_t next_due_ms;   /* -1: no job waits */
    int64_t until_lost_ms; /* until the first lease runs out; 0: some have; -1: there are no leases */
    bool is_full;          /* the call reached its maximum of topics: there may be more */
    bool has_keys_to_forget;
};

typedef void shard_carry_fn(void *arg, enum status, const struct shard_carried *);
void shard_carry(struct shard *, const struct shard_carry *, shard_carry_fn *, void *arg);

/* The jobs of lost leases. Borrowed until the callback returns. */
struct shard_recovered {
    int64_t now_ms;
    size_t count; /* leases that ran out */
    /* Jobs that lost too many consumers: leased with this nonce for STORE_LEASE_MS, to be buried. Jobs that
     * are not buried are listed again once that lease has run out. due_ms is not set. */
    const struct nonce *nonce;
    const struct shard_claimed *doomed;
    size_t doomed_count;
    bool is_full; /* there may be more */
};

/* Returns jobs of lost leases: a bounded number, and some MiB of jobs to be buried. STALE: Redis's clock is
 * not at expected_ms. */
typedef void shard_recover_fn(void *arg, enum status, const struct shard_recovered *);
void shard_recover(struct shard *, int64_t expected_ms, shard_recover_fn *, void *arg);

/* Removes a bounded number of expired idempotency keys. is_full: there may be more. */
typedef void shard_forget_fn(void *arg, enum status, bool is_full);
void shard_forget(struct shard *, shard_forget_fn *, void *arg);

/* Numbers of jobs that one bounded step has removed: delivered and cancelled jobs, and dead jobs by the
 * retention of their topic, by dead_max_age_ms, by dead_max. */
struct shard_swept {
    size_t ended, by_retention, by_age, by_number;
    bool is_full;    /* there are more to remove now */
    int64_t late_ms; /* how long ago the next one should have been removed */
};
typedef void shard_sweep_fn(void *arg, enum status, const struct shard_swept *);
void shard_sweep(struct shard *, shard_sweep_fn *, void *arg);

/* One bounded step of counting due jobs, used while store_counts has takes_survey. cursor: empty at first,
 * and at the end; at most SHARD_SURVEY_CURSOR_MAX bytes. The other members are the result so far. */
enum { SHARD_SURVEY_CURSOR_MAX = 256 };
struct shard_survey {
    struct slice cursor;
    int64_t due_jobs;
    int64_t oldest_due_ms; /* -1: no job is due */
};
typedef void shard_survey_fn(void *arg, enum status, const struct shard_survey *);
void shard_survey(struct shard *, const struct shard_survey *, shard_survey_fn *, void *arg);

/* Counts the jobs of this shard. */
void shard_audit(struct shard *, store_audit_fn *, void *arg);

/* One bounded step of the walk in mend.lua. cursor is "0" at first and at the end. */
typedef void shard_mend_fn(void *arg, enum status, struct slice cursor, const struct slice *mended,
                           size_t count);
void shard_mend(struct shard *, struct slice walk, struct slice cursor, shard_mend_fn *, void *arg);

/* Calls fn when the earliest due time of any topic has moved forward. One listener. */
typedef void shard_wake_fn(void *arg, int64_t due_ms);
void shard_on_wake(struct shard *, shard_wake_fn *, void *arg);

/* Calls fn when an owner has given the carry lock back. One listener. */
void shard_on_lock_left(struct shard *, loop_fn *, void *arg);

#endif

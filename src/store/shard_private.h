/* shard_private.h - shared by the files of the store; other layers do not include it. */
#ifndef DUEPOST_STORE_SHARD_PRIVATE_H
#define DUEPOST_STORE_SHARD_PRIVATE_H

#include "base/buffer.h"
#include "store/batch.h"
#include "store/facts.h"
#include "store/shard.h"

enum {
    /* Maximum numbers of runs of one batch under way; further calls wait for the next run. */
    OWNER_RUNS_MAX = 1,
    LEASE_RUNS_MAX = 4,
    PULL_RUNS_MAX = 2,
    ABANDON_LOOK_MAX = 5000, /* maximum number of leases that abandon.lua examines */
};

/* The batches of a shard: name, script, maximum number of runs under way, whether clients rely on the
 * changes, what adds the arguments that all calls share, and connection. The batches are sent in this order
 * at the end of a turn. Outcomes come before the claim, because the claim uses the slots that they free. */
#define SHARD_BATCHES(BATCH)                                                                                 \
    BATCH(SCHEDULE, SCHEDULE, OWNER_RUNS_MAX, true, shard_add_limits, changes)                               \
    BATCH(SCHEDULE_ALL, SCHEDULE_ALL, OWNER_RUNS_MAX, true, shard_add_limits, changes)                       \
    BATCH(REPLACE, REPLACE, OWNER_RUNS_MAX, true, shard_add_max_jobs, changes)                               \
    BATCH(CANCEL, CANCEL, OWNER_RUNS_MAX, true, NULL, changes)                                               \
    BATCH(RUN, RUN, OWNER_RUNS_MAX, true, shard_add_max_jobs, changes)                                       \
    BATCH(CHANGE, CHANGE, OWNER_RUNS_MAX, true, NULL, changes)                                               \
    BATCH(SETTINGS, SETTINGS, OWNER_RUNS_MAX, true, NULL, changes)                                           \
    BATCH(GROUP, GROUP, OWNER_RUNS_MAX, true, NULL, changes)                                                 \
    BATCH(SEND, SEND, OWNER_RUNS_MAX, true, shard_add_limits, changes)                                       \
    BATCH(REPLACE_SEND, REPLACE_SEND, OWNER_RUNS_MAX, true, shard_add_max_jobs, changes)                     \
    BATCH(UNSEND, UNSEND, OWNER_RUNS_MAX, true, NULL, changes)                                               \
    BATCH(PATTERNS, SET_PATTERNS, OWNER_RUNS_MAX, true, NULL, changes)                                       \
    BATCH(DEFINE, DEFINE, OWNER_RUNS_MAX, true, NULL, changes)                                               \
    BATCH(UNDEFINE, UNDEFINE, OWNER_RUNS_MAX, true, NULL, changes)                                           \
    BATCH(RUN_RECURRING, FIRE, OWNER_RUNS_MAX, true, shard_add_limits, changes)                              \
    BATCH(BEGIN, BEGIN, OWNER_RUNS_MAX, true, shard_add_max_jobs, changes)                                   \
    BATCH(APPEND, APPEND, OWNER_RUNS_MAX, true, shard_add_max_jobs, changes)                                 \
    BATCH(CONCLUDE, CONCLUDE, OWNER_RUNS_MAX, true, NULL, changes)                                           \
    BATCH(WAIT, WAIT, OWNER_RUNS_MAX, true, shard_add_max_jobs, changes)                                     \
    BATCH(NOTIFY, NOTIFY, OWNER_RUNS_MAX, true, NULL, changes)                                               \
    BATCH(CLOSE, REPORT, OWNER_RUNS_MAX, true, shard_add_first_wait, changes)                                \
    BATCH(TRIAL, TRIAL, OWNER_RUNS_MAX, true, NULL, changes)                                                 \
    BATCH(PULL_COMPLETE, COMPLETE, OWNER_RUNS_MAX, true, NULL, changes)                                      \
    BATCH(PULL_RETRY, RETRY, OWNER_RUNS_MAX, true, NULL, changes)                                            \
    BATCH(PULL_BURY, BURY, OWNER_RUNS_MAX, true, NULL, changes)                                              \
    BATCH(PULL_RELEASE, RELEASE, OWNER_RUNS_MAX, true, NULL, changes)                                        \
    BATCH(PULL_EXTEND, EXTEND, OWNER_RUNS_MAX, true, NULL, changes)                                          \
    BATCH(READ, READ, OWNER_RUNS_MAX, false, NULL, reads)                                                    \
    BATCH(PULLED, PULLED, OWNER_RUNS_MAX, false, NULL, reads)                                                \
    BATCH(ARRIVE, ARRIVE, LEASE_RUNS_MAX, false, NULL, reads)                                                \
    BATCH(COMPLETE, COMPLETE, LEASE_RUNS_MAX, false, NULL, worker)                                           \
    BATCH(RETRY, RETRY, LEASE_RUNS_MAX, false, NULL, worker)                                                 \
    BATCH(BURY, BURY, LEASE_RUNS_MAX, false, NULL, worker)                                                   \
    BATCH(RELEASE, RELEASE, LEASE_RUNS_MAX, false, NULL, worker)                                             \
    BATCH(RENEW, RENEW, LEASE_RUNS_MAX, false, shard_add_lease_ms, worker)                                   \
    BATCH(PULL, LEASE, PULL_RUNS_MAX, false, NULL, worker)                                                   \
    BATCH(REPORT, REPORT, OWNER_RUNS_MAX, false, shard_add_first_wait, worker)                               \
    BATCH(FIRE, FIRE, OWNER_RUNS_MAX, false, shard_add_limits, worker)

#define SHARD_BATCH_NAME(name, ...) SHARD_BATCH_##name,
enum shard_batch { SHARD_BATCHES(SHARD_BATCH_NAME) SHARD_BATCH_COUNT };
#undef SHARD_BATCH_NAME

struct claim {
    bool is_wanted; /* the claim is sent at the end of this turn */
    size_t max;
    enum shard_claim_kind kind;
    struct nonce nonce;
    struct shard *shard;
    shard_claim_fn *fn;
    void *arg;
};

/* Events from a shard to its store. */
struct shard_events {
    loop_fn *on_change; /* called when the result of shard_is_ready or the facts may have changed */
    /* on_peer, on_error and on_recheck are NULL when no Sentinel or Cluster names the primary. */
    void (*on_peer)(void *arg, const struct redis_node *); /* called when the shard connects to this node */
    void (*on_error)(void *arg, struct slice error);       /* called with an error in a reply of Redis */
    loop_fn *on_recheck; /* the primary may have changed, because a connection was lost or replicas do not
                            confirm changes */
    bool (*find)(void *find_arg, struct redis_node *, struct problem *why);
    void *find_arg;
    void *arg;
};

struct shard {
    struct loop *loop;
    const struct store_options *options; /* owned by the store */
    size_t number;
    struct shard_events events;
    struct buffer jobs_key; /* KEYS[1] of all scripts */
    struct buffer ready_key, wake_channel, live_channel;
    /* There are separate connections, so that a blocked or slow connection does not delay the others. */
    struct redis_link *changes; /* changes by the owners of jobs; WAIT delays later replies */
    struct redis_link *reads;
    struct redis_link *worker;   /* claims, outcomes, carrying */
    uint64_t worker_connections; /* how often the connection worker has come up */
    struct redis_link *bell;     /* blocked by BLPOP */
    struct redis_link *subscriber;
    struct redis_link *live; /* see live_channel.h; NULL: not used */
    struct batch_owner batch_owner;
    struct batch batches[SHARD_BATCH_COUNT];
    struct list cancels; /* cancels without a result, see change.c */
    struct claim claim;
    uint64_t claims;         /* a counter for nonces */
    struct nonce lost_claim; /* nonce of a claim without a reply, which may have leased jobs; empty: none */
    char nonce_prefix[17];
    struct list lost_pulls; /* see pull_abandon_lost */
    size_t lost_pull_count;
    struct facts *facts;
    struct hook *gather;
    struct timer *patience; /* runs while items wait for another call, see batch_may_wait */
    bool is_patience_over;
    struct {
        loop_fn *fn;
        void *arg;
    } on_up[STORE_UP_LISTENERS];
    struct {
        loop_fn *fn;
        void *arg;
    } on_bell_up;
    struct {
        shard_wake_fn *fn;
        void *arg;
    } on_wake;
    struct {
        loop_fn *fn;
        void *arg;
    } on_lock_left, on_subscribed;
    struct {
        shard_wake_fn *fn;
        void *arg;
    } on_fire_wake;
    struct {
        loop_fn *fn;
        void *arg;
    } on_receivers;
    struct {
        void (*fn)(void *arg, struct slice topic); /* see store_on_pull_wake */
        void *arg;
    } on_pull_wake;
    struct {
        void (*fn)(void *arg, struct slice text); /* see store_listen_live */
        void *arg;
    } on_live;
};

/* Borrows options. */
struct shard *shard_new(struct loop *, const struct store_options *, size_t number,
                        const struct shard_events *);

/* Connects to the channel of live_channel.h. */
void shard_listen_live(struct shard *, void (*fn)(void *arg, struct slice text), void *arg);

/* Ends the connections and all waiting calls. Calls of the shard are still allowed until it is freed, and end
 * with UNAVAILABLE. */
void shard_close(struct shard *);
void shard_free(struct shard *);

/* Returns Redis Cluster's slot of the shard with this number. */
uint16_t shard_slot(size_t number);

/* Connects to the node that find() of shard_events now returns. Replies that the old node has not
 * sent yet are lost. */
void shard_move(struct shard *);

/* Returns whether this shard can confirm changes now, see store_is_ready. */
bool shard_is_ready(const struct shard *, struct problem *);

/* As shard_is_ready, but also while replicas are missing. */
bool shard_is_recording(const struct shard *, struct problem *);

/* Reads a job. The status is NOT_FOUND for an ended job, too, unless may_be_kept. */
void shard_read(struct shard *, struct slice id, bool may_be_kept, store_read_fn *, void *arg);

/* Sets the member settings of the claimed jobs of this topic. Returns false if there are no such jobs. */
bool claim_give_settings(struct shard_claimed *, size_t count, struct slice topic, struct slice settings);

/* Creates a nonce that no process has used. The nonce begins with mark. */
void shard_next_nonce(struct shard *, const char *mark, struct nonce *);

/* Sends the claim of this turn, if there is one. */
void claim_flush(struct shard *);

/* Releases the jobs that calls of store_pull without a reply may have leased. */
void pull_abandon_lost(struct shard *);

/* Drops the list of calls of store_pull without a reply. */
void pull_forget_lost(struct shard *);

/* Each adds arguments that all calls of a batch share: this shard's part of max_jobs; also the time for which
 * idempotency keys are kept; the length of a lease; the first wait of a receiver that is opened. */
void shard_add_max_jobs(const struct shard *, struct script_args *);
void shard_add_limits(const struct shard *, struct script_args *);
void shard_add_lease_ms(const struct shard *, struct script_args *);
void shard_add_first_wait(const struct shard *, struct script_args *);

/* Divides a limit for all shards by the number of shards, and returns this shard's part. */
int64_t shard_part(const struct shard *, int64_t bound);

/* Sets until_ms of a dead job to the time when --dead-max-age removes the job, if that time is earlier. */
void shard_bound_age(const struct shard *, struct stored_job *);

/* Begins a call of a batch, or one that is sent alone. */
struct store_call *store_call_new(struct shard *, enum shard_batch, store_call_end_fn *, any_fn *, void *arg);
struct store_call *store_call_alone(struct shard *, enum script_id, struct redis_link *, store_call_end_fn *,
                                    any_fn *, void *arg);

/* The same for a struct that begins with the call. All of it must be zero, and free() must be able to free
 * it. */
void store_call_init(struct store_call *, struct shard *, enum shard_batch, store_call_end_fn *, any_fn *,
                     void *arg);
void store_call_init_alone(struct store_call *, struct shard *, enum script_id, struct redis_link *,
                           store_call_end_fn *, any_fn *, void *arg);

#endif

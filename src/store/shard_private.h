/* shard_private.h - shared by the files of the store; other layers do not include it. */
#ifndef DUEPOST_STORE_SHARD_PRIVATE_H
#define DUEPOST_STORE_SHARD_PRIVATE_H

#include "base/buffer.h"
#include "store/batch.h"
#include "store/facts.h"
#include "store/shard.h"

enum {
    OWNER_CALLS_MAX =
        1, /* maximum number of calls of one batch under way; further items wait for the next call */
    ABANDON_LOOK_MAX = 5000, /* maximum number of leases that abandon.lua examines */
};

/* The batches of a shard: name, kind, and connection. The batches are sent in this order at the end of a
 * turn. Outcomes come before the claim, because the claim uses the slots that they free. */
#define SHARD_BATCHES(BATCH)                                                                                 \
    BATCH(SCHEDULE, schedule_kind, changes)                                                                  \
    BATCH(SCHEDULE_ALL, schedule_all_kind, changes)                                                          \
    BATCH(REPLACE, replace_kind, changes)                                                                    \
    BATCH(CANCEL, cancel_kind, changes)                                                                      \
    BATCH(RUN, run_kind, changes)                                                                            \
    BATCH(CHANGE, change_kind, changes)                                                                      \
    BATCH(SETTINGS, settings_kind, changes)                                                                  \
    BATCH(GROUP, group_kind, changes)                                                                        \
    BATCH(SEND, send_kind, changes)                                                                          \
    BATCH(REPLACE_SEND, replace_send_kind, changes)                                                          \
    BATCH(UNSEND, unsend_kind, changes)                                                                      \
    BATCH(PATTERNS, patterns_kind, changes)                                                                  \
    BATCH(DEFINE, define_kind, changes)                                                                      \
    BATCH(UNDEFINE, undefine_kind, changes)                                                                  \
    BATCH(RUN_RECURRING, run_recurring_kind, changes)                                                        \
    BATCH(BEGIN, begin_kind, changes)                                                                        \
    BATCH(APPEND, append_kind, changes)                                                                      \
    BATCH(CONCLUDE, conclude_kind, changes)                                                                  \
    BATCH(WAIT, wait_kind, changes)                                                                          \
    BATCH(NOTIFY, notify_kind, changes)                                                                      \
    BATCH(CLOSE, close_kind, changes)                                                                        \
    BATCH(TRIAL, trial_kind, changes)                                                                        \
    BATCH(PULL_COMPLETE, pull_complete_kind, changes)                                                        \
    BATCH(PULL_RETRY, pull_retry_kind, changes)                                                              \
    BATCH(PULL_BURY, pull_bury_kind, changes)                                                                \
    BATCH(PULL_RELEASE, pull_release_kind, changes)                                                          \
    BATCH(PULL_EXTEND, pull_extend_kind, changes)                                                            \
    BATCH(READ, read_kind, reads)                                                                            \
    BATCH(PULLED, pulled_kind, reads)                                                                        \
    BATCH(ARRIVE, arrive_kind, reads)                                                                        \
    BATCH(COMPLETE, complete_kind, worker)                                                                   \
    BATCH(RETRY, retry_kind, worker)                                                                         \
    BATCH(BURY, bury_kind, worker)                                                                           \
    BATCH(RELEASE, release_kind, worker)                                                                     \
    BATCH(RENEW, renew_kind, worker)                                                                         \
    BATCH(PULL, pull_kind, worker)                                                                           \
    BATCH(REPORT, report_kind, worker)                                                                       \
    BATCH(FIRE, fire_kind, worker)

#define SHARD_BATCH_NAME(name, kind, link) SHARD_BATCH_##name,
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

#define SHARD_BATCH_KIND(name, kind, link) extern const struct batch_kind kind;
SHARD_BATCHES(SHARD_BATCH_KIND)
#undef SHARD_BATCH_KIND

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

/* Adds this shard's part of max_jobs as an argument. */
void shard_add_max_jobs(const struct shard *, struct script_call *);

/* Adds this shard's part of max_jobs, and the time for which idempotency keys are kept. */
void shard_add_limits(const struct shard *, struct script_call *);

/* Divides a limit for all shards by the number of shards, and returns this shard's part. */
int64_t shard_part(const struct shard *, int64_t bound);

/* Sets until_ms of a dead job to the time when --dead-max-age removes the job, if that time is earlier. */
void shard_bound_age(const struct shard *, struct store_job *);

/* Creates a call that is not part of a batch. The call's first argument is max_in_flight_topic. */
struct script_call *shard_call(struct shard *, enum script_id);

#endif

/* shard_private.h - what the files of the store share; nobody else includes it. */
#ifndef DUEPOST_STORE_SHARD_PRIVATE_H
#define DUEPOST_STORE_SHARD_PRIVATE_H

#include "base/buffer.h"
#include "store/batch.h"
#include "store/facts.h"
#include "store/shard.h"

enum { OWNER_CALLS_MAX = 1 }; /* of one kind under way at once: the next one gathers while it runs */

/* The order in which they leave at the end of a turn. */
enum shard_batch {
    SHARD_BATCH_SCHEDULE,
    SHARD_BATCH_REPLACE,
    SHARD_BATCH_CANCEL,
    SHARD_BATCH_RUN,
    SHARD_BATCH_CHANGE,
    SHARD_BATCH_SETTINGS,
    SHARD_BATCH_CLOSE,
    SHARD_BATCH_READ, /* on a connection of its own */
    /* On the worker's connection: outcomes stand before the claim that uses their slots. */
    SHARD_BATCH_COMPLETE,
    SHARD_BATCH_RETRY,
    SHARD_BATCH_BURY,
    SHARD_BATCH_RELEASE,
    SHARD_BATCH_RENEW,
    SHARD_BATCH_REPORT,
    SHARD_BATCH_COUNT,
};

struct claim {
    bool is_wanted; /* leaves at the end of this turn */
    size_t max;
    struct nonce nonce;
    struct shard *shard;
    shard_claim_fn *fn;
    void *arg;
};

/* What a shard asks and tells its store. */
struct shard_events {
    loop_fn *on_change; /* shard_is_ready or the facts may be different */
    /* The other three are NULL where nothing else says where the primary is. */
    void (*on_peer)(void *arg, const struct redis_node *); /* a connection goes there */
    void (*on_error)(void *arg, struct slice error);       /* in a reply of Redis's */
    loop_fn *on_recheck; /* a connection was lost, or replicas do not follow: who is the primary? */
    bool (*find)(void *find_arg, struct redis_node *);
    void *find_arg;
    void *arg;
};

struct shard {
    struct loop *loop;
    const struct store_options *options; /* the store's */
    size_t number;
    struct shard_events events;
    struct buffer jobs_key; /* KEYS[1] of all scripts */
    struct buffer ready_key, wake_channel;
    /* A blocked or slow connection holds up nobody else. */
    struct redis_link *changes; /* by the owners of jobs; WAIT holds back what comes behind it */
    struct redis_link *reads;
    struct redis_link *worker; /* claims, outcomes, carrying */
    struct redis_link *bell;   /* BLPOP blocks it */
    struct redis_link *subscriber;
    struct batch batches[SHARD_BATCH_COUNT];
    struct claim claim;
    uint64_t claims;         /* counts up, for nonces */
    struct nonce lost_claim; /* may have leased jobs that nobody knows of; empty: none */
    char nonce_prefix[17];
    struct facts *facts;
    struct hook *gather;
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
    } on_lock_left;
    struct {
        loop_fn *fn;
        void *arg;
    } on_receivers;
};

extern const struct batch_kind schedule_kind, replace_kind, cancel_kind, run_kind, change_kind, settings_kind,
    read_kind;
extern const struct batch_kind complete_kind, retry_kind, bury_kind, release_kind, renew_kind, report_kind,
    close_kind;

/* Borrows options. */
struct shard *shard_new(struct loop *, const struct store_options *, size_t number,
                        const struct shard_events *);

/* Ends the connections and whatever waits; the shard can still be asked, and is away. Then it is freed. */
void shard_close(struct shard *);
void shard_free(struct shard *);

/* Redis Cluster's slot of a shard with this number. */
uint16_t shard_slot(size_t number);

/* find has a new answer. What the old place still answers would be lost with it. */
void shard_move(struct shard *);

/* Another Redis may be the primary now. */
void shard_recheck(const struct shard *);

/* See store_is_ready. */
bool shard_is_ready(const struct shard *, struct problem *);

/* Reads a job. STATUS_NOT_FOUND: also one that has ended, unless may_be_kept. */
void shard_read(struct shard *, struct slice id, bool may_be_kept, store_read_fn *, void *arg);

/* What claim.lua replies to a claim of max jobs, all but the nonce. False: that is not what it replies. */
bool claim_read(const struct redis_reply *, size_t max, struct shard_claimed jobs[STORE_CLAIM_MAX],
                struct shard_claim *);

/* Gives these settings to the jobs of the topic; false: there are none. */
bool claim_give_settings(struct shard_claimed *, size_t count, struct slice topic, struct slice settings);

/* Makes a nonce that no process has used. mark: what it begins with. */
void shard_next_nonce(struct shard *, const char *mark, struct nonce *);

/* Sends the claim of this turn, if there is one. */
void claim_flush(struct shard *);

/* This shard's part of max_jobs, as an argument. */
void shard_add_max_jobs(const struct shard *, struct script_call *);

/* This shard's part of a bound that is for all. */
int64_t shard_part(const struct shard *, int64_t bound);

/* Sets until_ms of a dead job to the time when its age removes it, if that is earlier. */
void shard_bound_age(const struct shard *, struct store_job *);

/* A call that travels alone, with the limit as its first argument. */
struct script_call *shard_call(struct shard *, enum script_id);

#endif

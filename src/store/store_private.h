/* store_private.h - shared by the files of the store; other layers do not include it. */
#ifndef DUEPOST_STORE_STORE_PRIVATE_H
#define DUEPOST_STORE_STORE_PRIVATE_H

#include "base/buffer.h"
#include "job/target/url.h"
#include "job/delivery/ending.h"
#include "job/lease_text.h"
#include "store/call.h"
#include "store/shard.h"

struct claim {
    bool is_wanted; /* the claim is sent at the end of this turn */
    size_t max;
    enum shard_claim_kind kind;
    struct nonce nonce;
    int64_t sent_us; /* CLOCK_BOOTTIME */
    struct shard *shard;
    shard_claim_fn *fn;
    void *arg;
};

/* Events from a shard to its store. */
struct shard_events {
    loop_fn *on_change; /* called when the result of shard_is_ready or the information may have changed */
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
    struct batch batches[SHARD_BATCH_COUNT];
    struct list cancels; /* cancels without a result, see change.c */
    struct claim claim;
    bool has_waiters;         /* requests wait for ends of jobs, as the last claim has found */
    struct topic_quota quota; /* see store_quota */
    uint64_t claims;          /* a counter for nonces */
    char nonce_prefix[17];
    struct list lost_claims; /* see claim_note_lost; without those for which abandon.lua is under way */
    size_t lost_claim_count; /* with them */
    struct redis_state *redis_state;
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
    } on_lock_left, on_openings_wanted, on_subscribed;
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
        store_job_wake_fn *fn;
        void *arg;
    } on_job_wake;
    struct {
        store_stream_wake_fn *fn;
        void *arg;
    } on_stream_wake;
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

/* Notes a claim without a reply, for a consumer or a worker: Redis may have leased jobs with this nonce,
 * which no process has received. sent_us: when the claim was sent (CLOCK_BOOTTIME). */
void claim_note_lost(struct shard *, enum lease_holder, const struct nonce *, int64_t lease_ms,
                     int64_t sent_us);

/* Releases the jobs of the claims that were noted. Called before each claim, and when the connection for
 * claims came up. */
void claim_abandon_lost(struct shard *);

/* Drops the list of these claims. */
void claim_forget_lost(struct shard *);

/* Asks for the primary again, because it may have changed. */
void shard_recheck(const struct shard *);

/* Divides a limit for all shards by the number of shards, and returns this shard's part. */
int64_t shard_part(const struct shard *, int64_t bound);

/* Sets until_ms of a dead job to the time when --dead-max-age removes the job, if that time is earlier. */
void shard_bound_age(const struct shard *, struct stored_job *);

/* A shard and its store. */
struct store_member {
    struct store *store;
    struct shard *shard;
};

struct store {
    struct loop *loop;
    struct store_options options;
    struct store_member *members; /* options.shards members */
    /* The source of the primaries' addresses. If both are NULL, the configured address is the primary. */
    struct sentinel *sentinel;
    struct cluster *cluster;
    struct redis_nodes *redis_nodes;
    struct redis_info info;      /* sum of all shards */
    const struct shard *refused; /* a shard that this duepost cannot use at all; NULL: none */
    struct {
        loop_fn *fn;
        void *arg;
    } on_change;
};

/* ---- leases (lease.c) ---- */

enum { COMPLETED_BEFORE = 2 /* result of complete.lua: the same token has completed the job before */ };

/* Called with the status of the call. code is the script's result for the item. */
typedef void lease_confirmed_fn(void *arg, enum status, int64_t code, int64_t now_us);

/* Makes the lease of a consumer that of a worker, see shard_defer. */
void lease_take(struct shard *, const struct lease *, const struct shard_deferral *, lease_confirmed_fn *,
                void *arg);

/* Ends or extends a lease with the configured durability. ms is the wait before the next attempt (RETRY) or
 * the length of the lease (EXTEND). end may be NULL. Borrows all arguments until the callback. */
void lease_confirm(struct shard *, enum lease_end_kind, const struct lease *, int64_t ms,
                   const struct shard_end *end, lease_confirmed_fn *, void *arg);

/* ---- records of receivers (receiver.c) ---- */

/* Reads a record as report.lua writes it. The result borrows the slices. */
struct receiver_record receiver_record_read(struct slice name, struct slice record, int64_t now_us);

/* ---- ending workers' leases (pull_ending.c) ---- */

/* A job that a worker has leased, as scripts return it. Valid until the callback returns. */
struct pulled {
    struct slice id, record;
    struct slice settings; /* settings of the job's topic */
    struct nonce nonce;
    int64_t due_ms, leased_ms;
};

enum pull_cause {
    PULL_CAUSE_COMPLETED,
    PULL_CAUSE_FAILED,   /* the worker requested a retry */
    PULL_CAUSE_REJECTED, /* the worker gave up the job */
    PULL_CAUSE_LAPSED,   /* the lease ran out */
    PULL_CAUSE_UNFIT,    /* the job was not given to a worker: it has expired, has no retry left, or cannot be
                            read */
};

/* The words before a colon name the causes that use the member. */
struct pull_ending_facts {
    enum pull_cause cause;
    int64_t now_ms;
    struct slice error;  /* FAILED or REJECTED: the worker's description of the error; empty: none */
    struct slice result; /* COMPLETED: JSON; empty: none */
    bool has_delay;      /* FAILED: wait delay_ms instead of the time in the retry schedule */
    int64_t delay_ms;
    /* FAILED, LAPSED or UNFIT: default retry schedule for jobs and topics that have none. */
    const struct retry_schedule *schedule;
    bool is_confirmed; /* a client waits for the answer: the change gets the configured durability. If the job
                          or its topic's settings cannot be read or need a later version, nothing changes */
};

/* ending is NULL unless the status is OK or UNDURABLE. now_us is the time of Redis at the end of the lease;
 * it is set only with these statuses and if is_confirmed was true. The statuses are those of shard_done_fn,
 * and also UNREADABLE, LACKING and NO_MEMORY, after which nothing has changed. */
typedef void pull_ended_fn(void *arg, enum status, const struct ending *ending, int64_t now_us);

/* Copies all texts. fn may be NULL, and may be called before pull_end returns. */
void pull_end(struct shard *, const struct pulled *, const struct pull_ending_facts *, pull_ended_fn *fn,
              void *arg);

/* ---- the state of Redis (redis_state.c)
 *
 * properties of the connected Redis: version, role, eviction, persistence, rights, and the layout
 * of the data, which is its format and its number of shards.
 *
 * These properties are queried when the connection comes up and every few seconds after that, and more often
 * while Redis cannot be used. */

struct redis_state;

/* Borrows link, key and options. may_lay_out: if the data has no layout, duepost writes the layout that
 * this process uses. Calls on_change after each round of queries. */
struct redis_state *redis_state_new(struct loop *, struct redis_link *, struct slice jobs_key,
                                    const struct store_options *, bool may_lay_out, loop_fn *on_change,
                                    void *arg);
void redis_state_free(struct redis_state *);

/* Sets may_lay_out. Called for the other shards when the first shard's data is known to have the
 * configured number of shards. */
void redis_state_lay_out(struct redis_state *);

/* Call redis_state_start when the link has come up, and redis_state_stop when it was lost. */
void redis_state_start(struct redis_state *);
void redis_state_stop(struct redis_state *);

/* Call redis_state_note_denial when Redis has denied a right, and redis_state_note_subscription with the
 * result of subscribing to the wake-up channel. */
void redis_state_note_denial(struct redis_state *);
void redis_state_note_subscription(struct redis_state *, bool is_denied);

/* Queries the information now. Called when Redis has refused a command, because the information may be out of
 * date. */
void redis_state_recheck(struct redis_state *);

/* Queries the information now, at most once a second. Called for the metrics. */
void redis_state_refresh(struct redis_state *);

const struct redis_info *redis_state_get(const struct redis_state *);

/* Returns whether Redis provides the configured durability, as far as known. */
bool redis_state_give_durability(const struct redis_state *);

/* Returns the secret of the tokens of attempts (lease_text.h); empty: not known yet. */
struct slice redis_state_secret(const struct redis_state *);

/* Returns Redis's error while Redis refuses writes, as far as known, or NULL while Redis accepts writes. The
 * text is valid until the next round of queries. */
const char *redis_state_trouble(const struct redis_state *);

/* Returns whether the data has the layout of this duepost, as far as known. */
bool redis_state_is_laid_out(const struct redis_state *);

/* Returns the denied rights, as far as known, or NULL if no right is denied. The text is valid until the next
 * round of queries. */
const char *redis_state_denial(const struct redis_state *);

/* Returns why this Redis cannot be used at all, as far as known, or NULL when it can be used. The text is
 * valid until the next round of queries. */
const char *redis_state_refusal(const struct redis_state *);

/* Returns one shard's part of a limit that is divided among all shards, rounded up. */
static inline int64_t store_options_part(const struct store_options *options, int64_t bound)
{
    int64_t shards = (int64_t)options->shards;
    return (bound + shards - 1) / shards;
}

/* ---- rights (rights.c)
 *
 * checks that the ACL of Redis grants this user all rights that duepost needs.
 *
 * If a command is denied in the middle of a script, the earlier writes of the script remain, because Redis
 * does not roll back. So before any script runs, this file tries each command of the scripts, and the
 * channel for wake-ups, in a way that changes nothing. */

struct rights;

enum { RIGHTS_LINE_MAX = 448, RIGHTS_TEXT_MAX = 640 };

/* Borrows all arguments. Calls on_known after each round (a set of queries) that Redis has
 * answered. */
struct rights *rights_new(struct redis_link *, struct slice jobs_key, const struct store_options *,
                          loop_fn *on_known, void *arg);
void rights_free(struct rights *); /* NULL is ignored */

/* Tries all rights that duepost needs, unless a round is under way. */
void rights_ask(struct rights *);

/* Returns whether a new round is useful, because nothing is known yet or a right was denied. */
bool rights_need_recheck(const struct rights *);

/* Called when the link came up or Redis has denied a right, because the result may be out of date. */
void rights_recheck(struct rights *);

/* Stores whether the subscription to the wake-up channel, which uses another connection, was permitted. */
void rights_note_subscription(struct rights *, bool is_denied);

/* Returns the denied rights and the command that grants them, as far as known, or NULL if no right is denied.
 * The text is valid until the next round. */
const char *rights_refusal(struct rights *);

/* Returns whether this error of Redis reports a missing right. */
bool rights_deny(struct slice error);

/* Writes the ACL line that grants the rights that duepost needs. */
void rights_format_line(const struct store_options *, char text[RIGHTS_LINE_MAX]);

/* ---- nodes of Redis (redis_nodes.c)
 *
 * addresses of Redis that this process found while running. No job may be sent to these
 * addresses.
 *
 * The target policy already refuses the addresses of the configured Redis that were resolved at the start.
 * This file adds the nodes that Sentinels or a Cluster announce later, and the nodes that connections reach.
 * Each node is added once. A host name is resolved once; only the addresses found then are refused. If a node
 * has an address of this host, its port is refused on all addresses of the host. */

struct redis_nodes;

struct redis_nodes *redis_nodes_new(struct loop *);
void redis_nodes_free(struct redis_nodes *);

/* Adds a node. Copies the node. */
void redis_nodes_note(struct redis_nodes *, const struct redis_node *);

/* Returns whether a job to this address would reach one of the nodes. */
bool redis_nodes_have(const struct redis_nodes *, const struct address *, uint16_t port);

/* ---- leased jobs (leased.c) ---- */

/*Pages of the ids of leased jobs, in the order of ids.
 *
 * Pages are not in the order of deadlines, because renewals change the deadlines of leases all the time. For
 * each page, a walk reads all leases of a shard, in steps that take Redis a short time, and keeps the first
 * ids after the previous page. */

struct leased_page {
    const struct slice *ids; /* valid until the callback returns */
    size_t count;
    bool has_more; /* there may be further ids after this page */
};

/* page is NULL unless the status is OK. */
typedef void leased_fn(void *arg, enum status, const struct leased_page *page);

/* Finds at most max ids of leased jobs. If topic is not empty, finds only jobs of this topic. If behind is
 * not empty, finds only ids after it. Borrows topic and behind until the callback. */
void leased_find(struct shard *, struct slice topic, struct slice owner, struct slice behind, size_t max,
                 leased_fn *, void *arg);

#endif

/* store_private.h - what the files of the store share; nobody else includes it. */
#ifndef DUEPOST_STORE_STORE_PRIVATE_H
#define DUEPOST_STORE_STORE_PRIVATE_H

#include "base/buffer.h"
#include "store/batch.h"
#include "store/facts.h"
#include "store/store.h"

/* The order in which they leave at the end of a turn. */
enum store_batch {
    STORE_BATCH_SCHEDULE,
    STORE_BATCH_CANCEL,
    STORE_BATCH_RUN,
    STORE_BATCH_READ, /* on a connection of its own */
    /* On the worker's connection: outcomes stand before the claim that uses their slots. */
    STORE_BATCH_COMPLETE,
    STORE_BATCH_RETRY,
    STORE_BATCH_BURY,
    STORE_BATCH_RELEASE,
    STORE_BATCH_RENEW,
    STORE_BATCH_COUNT,
};

struct store_claim {
    bool is_wanted; /* leaves at the end of this turn */
    size_t max;
    struct nonce nonce;
    store_claim_fn *fn;
    void *arg;
};

struct store {
    struct loop *loop;
    struct store_options options;
    struct buffer jobs_key; /* KEYS[1] of all scripts */
    struct buffer ready_key, wake_channel;
    /* A blocked or slow connection holds up nobody else. */
    struct sentinel *sentinel;  /* NULL: the address says where Redis is */
    struct redis_link *changes; /* by the owners of jobs; WAIT holds back what comes behind it */
    struct redis_link *reads;
    struct redis_link *worker; /* claims, outcomes, carrying */
    struct redis_link *bell;   /* BLPOP blocks it */
    struct redis_link *subscriber;
    struct batch batches[STORE_BATCH_COUNT];
    struct store_claim claim;
    uint64_t claims; /* counts up, for nonces */
    char nonce_prefix[17];
    struct facts *facts;
    struct hook *gather;
    struct {
        loop_fn *fn;
        void *arg;
    } on_change, on_up[STORE_UP_LISTENERS];
    struct {
        store_wake_fn *fn;
        void *arg;
    } on_wake;
};

extern const struct batch_kind schedule_kind, cancel_kind, run_kind, read_kind;
extern const struct batch_kind complete_kind, retry_kind, bury_kind, release_kind, renew_kind;

/* Sends the claim of this turn, if there is one. */
void claim_flush(struct store *);

/* A call that travels alone, with the limit as its first argument. */
struct script_call *store_call(struct store *, enum script_id);

#endif

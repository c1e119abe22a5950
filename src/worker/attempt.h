/* attempt.h - one POST of one job, from its claim to the record of its ending.
 *
 * The states and the events that move an attempt stand at the top of attempt.c. The lease is held throughout;
 * nothing is sent without it. An ending that Redis did not take is kept, and given to Redis again, until
 * Redis has taken it or says that the lease is another's. The request itself is never repeated. */
#ifndef DUEPOST_WORKER_ATTEMPT_H
#define DUEPOST_WORKER_ATTEMPT_H

#include "base/list.h"
#include "io/http_client.h"
#include "job/ending.h"
#include "job/topic_defaults.h"
#include "store/shard.h"
#include "worker/attempt_policy.h"
#include "worker/hold.h"
#include "worker/permit.h"

struct attempt;

/* All attempts of a consumer on one shard share this. Borrowed. */
struct attempt_context {
    struct store *store;
    struct shard *shard;
    struct http_client *client;
    const struct attempt_policy *policy;
    struct receivers *receivers;
    struct unserved *unserved;
    struct metrics *metrics;
    /* The attempt is over: Redis has taken its ending, or the lease is another's. The callback frees it. */
    void (*on_end)(void *arg, struct attempt *);
    /* Redis did not take the ending; attempt_record tries again. */
    void (*on_unrecorded)(void *arg, struct attempt *);
    void *arg;
};

enum attempt_state {
    ATTEMPT_READING,
    ATTEMPT_ASKING,
    ATTEMPT_SENDING,
    ATTEMPT_RECORDING,
    ATTEMPT_UNRECORDED,
    ATTEMPT_OVER,
    ATTEMPT_STATES,
};

enum attempt_lease_state { ATTEMPT_LEASE_HELD, ATTEMPT_LEASE_LINGERING, ATTEMPT_LEASE_LOST };

/* Times are CLOCK_BOOTTIME. */
struct attempt {
    struct list link; /* of the consumer's */
    const struct attempt_context *context;
    enum attempt_state state;
    struct lease lease;
    enum attempt_lease_state lease_state;
    int64_t renewed_us;   /* before the claim or renewal that Redis confirmed last was sent */
    int64_t renewing_us;  /* before the renewal under way was sent; 0: none is */
    struct buffer record; /* as claimed */
    struct buffer payload, header_text;
    struct job job;
    struct topic_settings *settings; /* of the topic; owned; NULL: none */
    char *settings_text;             /* owned: settings borrow it */
    struct slice host;               /* of the url */
    int64_t claimed_ms;              /* by Redis's clock */
    int64_t late_ms;                 /* from its due time to the claim */
    struct permit permit;
    struct http_call *call;        /* while SENDING */
    char refusal[TARGET_WHY_SIZE]; /* of the address that was refused last */
    struct ending ending;          /* from RECORDING on */
    struct ending_texts texts;
};

/* Copies claimed. claim_us: CLOCK_BOOTTIME before the claim was sent. */
struct attempt *attempt_start(const struct attempt_context *, const struct shard_claimed *,
                              const struct nonce *, int64_t claim_us, int64_t now_ms);

/* Right after its start: nothing is sent, the job is given back. */
bool attempt_was_held(const struct attempt *);

/* Sends a renewal, unless one is under way or the lease is lost. */
void attempt_renew(struct attempt *);

/* CLOCK_BOOTTIME of the renewal under way, else of the last one. */
int64_t attempt_last_renewal_us(const struct attempt *);

/* Gives an ending that Redis did not take to Redis again. */
void attempt_record(struct attempt *);

/* Ends an attempt that waits for its permit or its answer. Where the status is known already, it counts;
 * otherwise the lease is given back. */
void attempt_cut(struct attempt *);

/* In any state, at the end of the process, without a callback. */
void attempt_free(struct attempt *);

#endif

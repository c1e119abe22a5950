/* attempt.h - one POST of one job, from its claim to the record of its outcome.
 *
 * Steps: read the record, get a permit, POST, decide, record; a job that has expired is recorded as dead
 * without a POST, one that gets no permit, or that this process cannot serve, is given back. The lease is
 * held throughout; nothing is sent without it. An outcome that Redis did not take is kept, and given to it
 * again, until Redis has taken it or says that the lease is another's. */
#ifndef DUEPOST_WORKER_ATTEMPT_H
#define DUEPOST_WORKER_ATTEMPT_H

#include "base/list.h"
#include "io/http_client.h"
#include "job/ending.h"
#include "job/topic_defaults.h"
#include "store/shard.h"
#include "worker/attempt_policy.h"
#include "worker/permit.h"
#include "worker/unserved.h"

struct attempt;

/* What all attempts of a consumer on one shard share. Borrowed. */
struct attempt_context {
    struct store *store;
    struct shard *shard;
    struct http_client *client;
    const struct attempt_policy *policy;
    struct receivers *receivers;
    struct unserved *unserved;
    struct metrics *metrics;
    /* The attempt is over, its outcome recorded or lost to another holder; whoever is told frees it. */
    void (*on_end)(void *arg, struct attempt *);
    /* Redis did not take the outcome; attempt_record tries again. */
    void (*on_unrecorded)(void *arg, struct attempt *);
    void *arg;
};

/* The consumer keeps its attempts in lists. */
struct attempt {
    struct list link;
    const struct attempt_context *context;
    struct lease lease;
    int64_t renewed_us; /* CLOCK_BOOTTIME, before the claim or renewal that Redis confirmed was sent */
    bool is_renewing;
    int64_t renewal_us;   /* when the renewal under way was sent */
    bool is_lease_lost;   /* nothing may be sent any more */
    bool is_lingering;    /* its job was cancelled; renewals keep its place in flight */
    bool is_running;      /* the POST has not ended yet */
    bool is_over;         /* recorded; waits for its renewal's callback only */
    struct buffer record; /* as claimed */
    struct buffer payload, header_text;
    struct job job;
    struct topic_settings *settings; /* of the topic; owned; NULL: none */
    char *settings_text;             /* owned: what settings borrow */
    struct slice host;               /* of the url */
    int64_t claimed_ms;              /* by Redis's clock */
    int64_t late_ms;                 /* so much after it was due */
    struct permit permit;
    struct http_post *post;
    char refusal[TARGET_WHY_SIZE]; /* of the address that was refused last */
    struct ending ending;          /* once the POST is over */
    struct ending_texts texts;
};

/* Copies claimed. claim_us: CLOCK_BOOTTIME before the claim was sent. */
struct attempt *attempt_start(const struct attempt_context *, const struct shard_claimed *,
                              const struct nonce *, int64_t claim_us, int64_t now_ms);

/* The job goes back without an attempt. */
bool attempt_is_released(const struct attempt *);

/* Sends a renewal. */
void attempt_renew(struct attempt *);

/* Gives Redis the outcome, again. */
void attempt_record(struct attempt *);

/* Ends a running POST, with the outcome if its status is known; else without, and gives the lease back, also
 * when it waits for its permit. */
void attempt_cut(struct attempt *);

/* At the end of the process, without a word to anyone. */
void attempt_free(struct attempt *);

#endif

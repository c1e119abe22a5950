/* attempt.h - delivers one claimed job with one POST and records how the attempt ended.
 *
 * The head of attempt.c lists the states of an attempt, and the events that change them. The process holds
 * the job's lease during the whole attempt; without the lease nothing is sent. If Redis does not confirm an
 * ending, the attempt keeps the ending and sends it again, until Redis has stored it or reports that another
 * process has the lease. The request itself is never repeated. */
#ifndef DUEPOST_WORKER_ATTEMPT_H
#define DUEPOST_WORKER_ATTEMPT_H

#include "base/list.h"
#include "io/http/client.h"
#include "job/delivery/delivery_form.h"
#include "job/delivery/ending.h"
#include "job/delivery/signature.h"
#include "job/retry.h"
#include "job/target/receiver.h"
#include "job/target/target.h"
#include "job/target/url.h"
#include "job/topic/topic_settings.h"
#include "store/workflow.h"
#include "store/shard.h"
#include "worker/hold.h"
#include "worker/identity.h"
#include "worker/permit.h"

/* ---- options ----
 *
 * Options for attempts. A reload may change them. */

struct attempt_policy {
    const struct target_policy *targets;
    const struct retry_schedule *schedule; /* default for jobs and topics without a retry schedule */
    const struct delivery_forms *forms;
    const struct signing_keys *keys; /* signing keys for topics without their own keys; may be empty */
    const struct identity_keys *identity_keys; /* keys that sign tokens; NULL: none */
    bool is_breaker_on;                        /* default for topics without a setting of their own */
    struct tracer *tracer;                     /* NULL: no spans are recorded */
    struct slice own_url; /* url of this server for receivers, without a slash at its end; empty: unknown */
    bool has_history;     /* there is a history, so the last attempt of a delivered job is also kept */
};

/* ---- an attempt ----
 *
 * One attempt: its context, its states and its data.
 *
 * attempt.c moves an attempt from state to state, attempt_request.c sends its request, and attempt_report.c
 * logs its result. */

struct attempt;
struct attempt_span;

/* The settings of a topic, read from the text that a claim had, see settings_share_find. The attempts of the
 * topic share them. */
struct settings_share {
    size_t users;         /* number of attempts, and the table */
    char *text;           /* owned; name and settings point into this text */
    struct slice topic;   /* name of the topic */
    struct slice written; /* the settings as the claim had them */
    struct topic_settings settings;
    struct url url; /* parts of the topic's url; an empty host means that there is no url */
    char receiver[RECEIVER_HOST_SIZE]; /* name of its receiver, for log lines */
    bool has_broken_url;
};

/* The settings that attempts used last. Topics rarely change, so most claims have a text that was read
 * before. */
enum { SETTINGS_SHARES_MAX = 16 };
struct settings_shares {
    struct settings_share *items[SETTINGS_SHARES_MAX]; /* by the hash of the topic's name; NULL: none */
};
void settings_shares_fini(struct settings_shares *);

/* The context that all attempts of a consumer on one shard share and borrow. */
struct attempt_context {
    struct store *store;
    struct shard *shard;
    struct identities *identities; /* also has the client */
    const struct attempt_policy *policy;
    struct receivers *receivers;
    struct unserved *unserved;
    struct settings_shares *shares;
    struct metrics *metrics;
    /* Returns whether few attempts are in flight, compared with the limits of the process and of a topic. */
    bool (*has_room)(const void *arg);
    /* Called when the attempt is over: Redis has stored its ending, or another process has the lease. The
     * callback frees the attempt. */
    void (*on_end)(void *arg, struct attempt *);
    /* Called when Redis did not confirm the ending. attempt_record sends the ending again. */
    void (*on_unrecorded)(void *arg, struct attempt *);
    void *arg;
};

enum attempt_state {
    ATTEMPT_READING,
    ATTEMPT_GATHERED,
    ATTEMPT_ASKING,
    ATTEMPT_ARRIVING,
    ATTEMPT_SENDING,
    ATTEMPT_RECORDING,
    ATTEMPT_UNRECORDED,
    ATTEMPT_OVER,
    ATTEMPT_STATES,
};

enum attempt_lease_state { ATTEMPT_LEASE_HELD, ATTEMPT_LEASE_LINGERING, ATTEMPT_LEASE_LOST };

/* Times are CLOCK_BOOTTIME. */
struct attempt {
    struct list link; /* link in a list of the consumer */
    const struct attempt_context *context;
    enum attempt_state state;
    struct lease lease;
    enum attempt_lease_state lease_state;
    int64_t renewed_us;  /* time at which the last confirmed claim or renewal was sent */
    int64_t renewing_us; /* time at which the renewal under way was sent; 0: none */
    struct slice record; /* record as claimed, in room or in large_record; without data: no memory */
    char *large_record;  /* owned; NULL: the record is small, or was freed */
    size_t bytes;        /* size of the record, also after it was freed */
    struct buffer payload, header_text;
    enum workflow_input_kind input_kind; /* which data of the workflow the request contains */
    struct buffer elements;              /* see shard_arrive */
    int64_t workflow_ms;                 /* time at which the workflow was created */
    bool is_cut;                         /* see attempt_cut */
    bool was_answered;                /* the receiver's answer, and not the lack of one, ends the attempt */
    const struct delivery_form *form; /* how the request is built; set in READING */
    struct settings_share *share;     /* a use of it; NULL: no settings */
    const struct topic_settings *settings; /* settings of the topic, in share; NULL: the topic has none */
    struct url url; /* the url's parts; they point into record or share; an empty host means that there is
                       no url */
    char *host;     /* owned; from RECORDING on: the host in url, if it was in the record, which is freed */
    int64_t claimed_ms; /* time of the claim, by Redis's clock */
    int64_t late_ms;    /* time between the job's due time and the claim */
    int64_t held_ms;    /* part of late_ms in which a hold or a pause kept the job from being claimed */
    struct permit permit;
    struct identity_use identity;
    struct identity_use *used_identity; /* the identity of the request: its own, or that of its company */
    bool lacks_url;                     /* the job is held because neither it nor its topic has a url */
    /* Owned; if the job is held: name of the receiver that holds it (see permit.h). */
    char *held_by;
    struct company *company;   /* GATHERED, SENDING: the jobs that are sent together; NULL: the job is sent
                                  alone */
    bool was_in_company;       /* the request was that of a company */
    struct http_call *call;    /* HTTP call, while SENDING alone */
    struct attempt_span *span; /* owned; set when SENDING begins; NULL: no span */
    char refusal[TARGET_WHY_SIZE]; /* why the last address was refused */
    struct ending ending;          /* set from RECORDING on */
    struct ending_texts texts;
    struct shard_follow_up follow_ups[CALLBACK_JOBS_MAX]; /* the callbacks; slices point into texts */
    struct job job; /* after all others, because it is not zeroed as a whole, see job_init */
    char room[];    /* the id in lease, and a small record */
};

/* ---- what happens to an attempt ---- */

/* Starts an attempt for a claimed job. Copies claimed. claim_us is a time by CLOCK_BOOTTIME, taken before the
 * claim was sent. */
struct attempt *attempt_start(const struct attempt_context *, const struct shard_claimed *,
                              const struct nonce *, int64_t claim_us, int64_t now_ms);

/* ---- companies ----
 *
 * The attempts of jobs that are sent in one request (job/delivery/batch.h). Each attempt keeps its lease and
 * its ending; permit, request and answer are those of the company. */

struct company;

/* Called for each attempt of a claim, right after attempt_start, in the order of the claim. Adds the attempt
 * to *company if it belongs there; otherwise sends *company, and makes a new one if the attempt may be sent
 * with others. *company is NULL at first, and at the end of the claim, attempt is NULL. */
void company_gather(struct company **, struct attempt *);

/* Cuts the request of an attempt, alone or with its company, see attempt_cut. */
void company_cut(struct attempt *);

/* Takes an attempt that is freed in any state out of its company, if it has one. */
void company_leave(struct attempt *);

/* Returns the size of the job's record. The attempt holds about as many bytes until it has ended. */
size_t attempt_bytes(const struct attempt *);

/* Returns true if the attempt releases its job instead of sending a request. Call it right after
 * attempt_start. */
bool attempt_was_held(const struct attempt *);

/* Sends a renewal of the lease, unless a renewal is under way or the lease is lost. */
void attempt_renew(struct attempt *);

/* Returns the time (CLOCK_BOOTTIME) at which the latest renewal was sent. Redis may not have answered it
 * yet. */
int64_t attempt_last_renewal_us(const struct attempt *);

/* Sends the ending to Redis again. Call it after on_unrecorded. */
void attempt_record(struct attempt *);

/* Ends an attempt that waits for its permit or for the receiver's answer. If the status of the answer is
 * already known, this status is the attempt's result. Otherwise the lease is released. */
void attempt_cut(struct attempt *);

/* Frees an attempt in any state, without a callback. Used at the end of the process. */
void attempt_free(struct attempt *);

#endif

/* world.h - a fake environment for the roles of worker/: clock, loop, shards, HTTP client, metrics and log. A
 * program that links world.c does not use the real functions. The test causes all events: time passes by
 * world_pass, Redis answers by world_answer_<call>, and a receiver answers by world_answer_post. An answer
 * runs the role's callback at once; the hooks at the end of a turn run by world_end_turn, and after each
 * timer. */
#ifndef DUEPOST_TESTS_WORKER_WORLD_H
#define DUEPOST_TESTS_WORKER_WORLD_H

#include "base/metrics.h"
#include "history/history.h"
#include "io/http/client.h"
#include "store/workflow.h"
#include "store/outbox.h"
#include "store/recurring.h"
#include "store/shard.h"

#define WORLD_RECEIVER "h:80"

/* Resets the world: one shard, clocks at their start, no calls under way. */
void world_begin(void);

/* Sets the number of shards. Call it before the roles are created. */
void world_set_shards(size_t);
struct shard *world_shard(size_t number);

/* Returns the time of the last call of history_prune. */
int64_t world_pruned_ms(void);

/* Lets the data of all shards have a newer format than this version supports, or not. */
void world_raise_format(bool is_newer);

/* ---- the clock and the loop ---- */

/* Advances the clocks. Timers whose time comes fire, each at its time. */
void world_pass(int64_t us);

/* Lets Redis's clock step. */
void world_step_redis_clock(int64_t ms);
int64_t world_redis_ms(void);

void world_end_turn(void);

/* Returns the time until the next timer fires, in us; -1: no timer runs. */
int64_t world_next_timer_us(void);

/* ---- calls to a shard ---- */

enum world_kind {
    WORLD_CLAIM,
    WORLD_COMPLETE,
    WORLD_RETRY,
    WORLD_BURY,
    WORLD_RELEASE,
    WORLD_RESUME,
    WORLD_RENEW,
    WORLD_DEFER,
    WORLD_END_LOST,
    WORLD_BELL,
    WORLD_ARRIVE,
    WORLD_CARRY,
    WORLD_RECOVER,
    WORLD_RECOVER_WORKERS,
    WORLD_EXPIRED,
    WORLD_FORGET,
    WORLD_SWEEP,
    WORLD_SURVEY,
    WORLD_REOFFER,
    WORLD_FIRES,
    WORLD_FIRE,
    WORLD_GROUP,
    WORLD_MEND_PATTERNS,
    WORLD_AUDIT,
    WORLD_MEND,
    WORLD_OUTBOX_READ,
    WORLD_OUTBOX_REMOVE,
    WORLD_APPEND, /* append to the history; counts as a call of shard 0 */
    WORLD_TRAIL,
    WORLD_NOTE, /* as WORLD_APPEND */
    WORLD_KINDS,
};

struct world_call {
    enum world_kind kind;
    bool is_under_way;
    size_t shard;
    int64_t at_us;
    /* The arguments of the call; its kind decides which are set. Texts are copies, which are valid until
     * world_begin. */
    size_t max; /* read of the outbox: number of texts that the caller has; removal: number of texts in the
                   batch; append: number of entries */
    enum shard_claim_kind claim_kind;
    char id[64], nonce[STORE_NONCE_MAX + 1];
    int64_t wait_ms, claimed_ms, expected_ms;
    char receiver[256];            /* release, resume: the receiver */
    bool is_by_setting, lacks_url; /* release: as in struct shard_hold */
    bool may_wait;                 /* complete: as in struct shard_end */
    char record[1024], line[1024], walk[64], cursor[256];
    char follow_id[128],
        follow_record[1024]; /* id and record of the last follow-up of an ending; empty: none */
    char me[64], stuck_owner[64];
    struct shard_carry carry;
    struct store_fire fire; /* slices are copies; with a group, record has 'endpoint record' for each job */
    char job[128];
    union {
        shard_claim_fn *claim;
        shard_resume_fn *resume;
        shard_done_fn *done;
        workflow_input_fn *arrive;
        shard_carry_fn *carry;
        shard_lost_fn *lost;
        shard_forget_fn *forget;
        shard_sweep_fn *sweep;
        shard_survey_fn *survey;
        shard_reoffer_fn *reoffer;
        shard_fires_fn *fires;
        store_fire_fn *fire;
        store_topics_fn *topics;
        store_mend_patterns_fn *mend_patterns;
        store_audit_fn *audit;
        shard_mend_fn *mend;
        outbox_read_fn *outbox_read;
        outbox_removed_fn *outbox_removed;
        history_done_fn *append;
        trail_read_fn *trail;
    } fn;
    void *arg;
};

/* Returns the oldest call of this kind that is under way. If there is no such call, the test fails. */
const struct world_call *world_call(enum world_kind);

/* Return the number of calls under way, and the number of calls since world_begin. */
size_t world_under_way(enum world_kind);
size_t world_made(enum world_kind);

/* Each of these functions answers the oldest call of its kind. */
void world_answer(enum world_kind, enum status); /* for COMPLETE to BELL, which have only a status */
void world_answer_claim(enum status, const struct shard_claimed *, size_t count, size_t more);
void world_answer_arrive(enum status, struct workflow_input);
void world_answer_carry(const char *owner,
                        struct shard_carried); /* owner NULL: the caller. now_us is filled in */
void world_answer_resume(enum status, size_t count);
void world_fail_carry(enum status);
void world_answer_recover(enum status, struct shard_lost);
void world_answer_recover_workers(enum status, struct shard_lost);
void world_answer_forget(enum status, bool is_full);
void world_answer_sweep(enum status, struct shard_swept);
void world_answer_reoffer(enum status, size_t count, bool is_full);
void world_answer_fires(enum status, struct shard_fires); /* now_ms is filled in */
void world_answer_fire(enum status);

/* Answers a read of a group. text is empty if there is no such group. */
void world_answer_group(enum status, const char *text);
void world_answer_mend_patterns(enum status, size_t count);
void world_answer_survey(enum status, const char *cursor);
void world_answer_audit(enum status, struct store_counts);
void world_answer_mend(enum status, const char *cursor, size_t mended);
void world_answer_outbox_read(enum status, const struct outbox_read *);
void world_answer_outbox_remove(enum status, size_t removed);
void world_answer_append(enum status, const char *why);
void world_answer_trail(enum status, const struct trail_read *);
void world_answer_note(enum status, const char *why);

/* Events of a shard. */
void world_come_up(size_t shard);
void world_wake(size_t shard, int64_t due_ms);
void world_leave_lock(size_t shard);
void world_want_openings(size_t number); /* topics came into the list of those whose openings are wanted */
void world_subscribe(size_t shard);      /* wake-ups arrive from now on */
void world_wake_fire(size_t shard, int64_t next_ms);

/* Returns a job as a claim returns it: due now, in topic t. The job is valid until world_begin. */
/* store_max_in_flight_topic returns this number; 256 after world_begin. */
void world_set_max_in_flight_topic(int64_t);

struct shard_claimed world_job(const char *id, const char *record, const char *settings);

/* ---- the HTTP client ---- */

/* Return the number of HTTP calls under way, and how many requests were passed to the network. */
size_t world_posts(void);
size_t world_sent(void);

/* Lets the oldest unsent HTTP call send its request. Returns false if the attempt refused to send; the call
 * has then ended. */
bool world_send(void);

/* Ends the oldest HTTP call with an answer that has this status. */
void world_answer_post(int status);
void world_end_post(struct http_outcome);

/* Begins the answer to the oldest HTTP call: its status is known, and its body is incomplete. */
void world_begin_answer(int status);

/* Returns the request of the oldest HTTP call. */
const struct http_call_request *world_request(void);

/* ---- metrics and log ---- */

uint64_t world_counter(enum metrics_counter);
size_t world_ends(enum metrics_end);
size_t world_in_flight(void);
size_t world_logged(const char *event);

/* ---- receivers ---- */

/* The report under way, at most one. fn is NULL if no report is under way. */
struct world_asked {
    struct store_report report;
    store_report_fn *fn;
    void *arg;
};
const struct world_asked *world_asked(void);

/* The read of changed records under way, at most one. fn is NULL if no read is under way. */
struct world_reading {
    int64_t version;
    store_news_fn *fn;
    void *arg;
};
const struct world_reading *world_reading(void);

/* Return Redis's record of a receiver with a closed breaker, an open breaker, or a limit. */
struct receiver_record world_closed(void);
struct receiver_record
world_open(int64_t probe_in_ms); /* its breaker opened at the start of the fake clock */
struct receiver_record world_limited(int64_t limit);

/* Answers a report. version is the version of the shard. probe is the number of the granted probe, or 0. */
void world_answer_report(enum status, int64_t version, int64_t probe, struct receiver_record);
void world_answer_reading(enum status, int64_t version, struct receiver_record);

#endif

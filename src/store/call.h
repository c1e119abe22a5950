/* call.h - calls of a shard's scripts, alone or many of one kind together. Only for the store.
 *
 * A call has its arguments, and a function that reads its result. All calls of a kind that are made in one
 * turn of the loop go to Redis in one run of the kind's script. While the kind's maximum number of runs is
 * under way, calls collect for the next run, so that a busy Redis gets few large runs. A full run may be sent
 * in addition to that number. A run has a maximum number of calls, of bytes and of topics. */
#ifndef DUEPOST_STORE_CALL_H
#define DUEPOST_STORE_CALL_H

#include "base/list.h"
#include "job/text/sealed.h"
#include "store/script.h"
#include "store/shard.h"

/* Maximum numbers of runs of one batch under way; further calls wait for the next run. */
enum { OWNER_RUNS_MAX = 1, LEASE_RUNS_MAX = 4, PULL_RUNS_MAX = 2 };

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
    BATCH(LIMIT, LIMIT_SET, OWNER_RUNS_MAX, true, NULL, changes)                                             \
    BATCH(KEY, KEY_SET, OWNER_RUNS_MAX, true, NULL, changes)                                                 \
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
    BATCH(IMPORT, IMPORT, OWNER_RUNS_MAX, true, shard_add_max_jobs, changes)                                 \
    BATCH(RESEAL, RESEAL, OWNER_RUNS_MAX, true, NULL, changes)                                               \
    BATCH(TRIAL, TRIAL, OWNER_RUNS_MAX, true, NULL, changes)                                                 \
    BATCH(NOTE, NOTE, OWNER_RUNS_MAX, true, NULL, changes)                                                   \
    BATCH(PULL_COMPLETE, COMPLETE, OWNER_RUNS_MAX, true, NULL, changes)                                      \
    BATCH(PULL_RETRY, RETRY, OWNER_RUNS_MAX, true, NULL, changes)                                            \
    BATCH(PULL_BURY, BURY, OWNER_RUNS_MAX, true, NULL, changes)                                              \
    BATCH(PULL_RELEASE, RELEASE, OWNER_RUNS_MAX, true, NULL, changes)                                        \
    BATCH(PULL_DEFER, DEFER, OWNER_RUNS_MAX, true, NULL, changes)                                            \
    BATCH(PULL_RENEW, RENEW, OWNER_RUNS_MAX, true, NULL, changes)                                            \
    BATCH(AWAIT, AWAIT, OWNER_RUNS_MAX, false, NULL, reads)                                                  \
    BATCH(STREAM, STREAM, OWNER_RUNS_MAX, false, NULL, reads)                                                \
    BATCH(READ, READ, OWNER_RUNS_MAX, false, NULL, reads)                                                    \
    BATCH(PULLED, PULLED, OWNER_RUNS_MAX, false, NULL, reads)                                                \
    BATCH(ARRIVE, ARRIVE, LEASE_RUNS_MAX, false, NULL, reads)                                                \
    BATCH(COMPLETE, COMPLETE, LEASE_RUNS_MAX, false, NULL, worker)                                           \
    BATCH(RETRY, RETRY, LEASE_RUNS_MAX, false, NULL, worker)                                                 \
    BATCH(BURY, BURY, LEASE_RUNS_MAX, false, NULL, worker)                                                   \
    BATCH(RELEASE, RELEASE, LEASE_RUNS_MAX, false, NULL, worker)                                             \
    BATCH(RENEW, RENEW, LEASE_RUNS_MAX, false, NULL, worker)                                                 \
    BATCH(DEFER, DEFER, LEASE_RUNS_MAX, false, NULL, worker)                                                 \
    BATCH(PULL, LEASE, PULL_RUNS_MAX, false, NULL, worker)                                                   \
    BATCH(REPORT, REPORT, OWNER_RUNS_MAX, false, shard_add_first_wait, worker)                               \
    BATCH(FIRE, FIRE, OWNER_RUNS_MAX, false, shard_add_limits, worker)

#define SHARD_BATCH_NAME(name, ...) SHARD_BATCH_##name,
enum shard_batch { SHARD_BATCHES(SHARD_BATCH_NAME) SHARD_BATCH_COUNT };
#undef SHARD_BATCH_NAME

enum {
    BATCH_CALLS_MAX = 256,
    BATCH_TOPICS_MAX = 192, /* a new job takes up to 0.05 ms of Redis's time if no other job of the run has
                               its topic, and a run should take at most 10 ms */
    /* The end of an attempt counts as this many topics. In a fifo topic, ending an attempt takes twice the
     * time of a new job, because the script decides again whether the topic may be served (turns.lua). */
    BATCH_END_WEIGHT = 2,
    BATCH_BYTES_MAX = 4 * 1024 * 1024, /* a run gets no more calls when its calls have reached this size */
    BATCH_CALL_OVERHEAD = 64,          /* estimated bytes of a call in addition to its texts */
    /* Each new job of a call that may have many counts as this size in addition. So 512 jobs are a full
     * run, which takes Redis about 5 ms. A script with many thousand jobs would fail halfway, because Lua's
     * unpack has room for about 8,000 values, two for each job. */
    BATCH_JOB_WEIGHT = BATCH_BYTES_MAX / 512,
    /* Each burial counts as this size in addition. It takes Redis about 0.07 ms, so 128 of them stay below 10
       ms. */
    BATCH_BURY_WEIGHT = BATCH_BYTES_MAX / 128,
    /* Each row of an import counts as these sizes in addition, so that a run has at most 128 rows, or 4,096
     * members, which are the entries of workflows' lists and hashes. */
    BATCH_ROW_WEIGHT = BATCH_BYTES_MAX / 128,
    BATCH_MEMBER_WEIGHT = BATCH_BYTES_MAX / 4096,
};

struct store_call;

/* Reads the result of a call and calls back; afterwards the call is freed, unless it was sent again. result
 * is the call's part of the reply, or for a call alone the whole reply, if status is OK or, for a kind that
 * is confirmed, UNDURABLE. Otherwise it is NULL or has no meaning. The status is UNKNOWN if Redis may have
 * run the script. A call whose result is RESULT_AGAIN is sent again before this function sees it. */
typedef void store_call_end_fn(struct store_call *, enum status, const struct redis_reply *result);

/* The callback of a call has the type that its store_call_end_fn knows. */
typedef void any_fn(void);
#define ANY_FN(fn)          ((any_fn *)(fn))
#define CALL_FN(call, type) ((type *)(call)->fn)

/* A call that needs more members is a struct whose first member is this one; see store_call_init. */
struct store_call {
    struct list link;
    struct shard *shard;
    struct batch *batch; /* NULL: the call is sent alone, as one run of this script on this connection */
    enum script_id script;
    struct redis_link *connection;
    struct script_args args;
    size_t bytes;        /* size of the arguments, and other weights */
    struct slice topic;  /* borrowed; empty: the cost of the call does not depend on its topic */
    size_t topic_weight; /* number of topics that the call counts as in BATCH_TOPICS_MAX; 0 means 1 */
    bool may_wait;       /* the call may wait a moment for others, see batch_may_wait */
    bool takes_reply;    /* the call fills a run, and its result is the whole reply */
    bool is_kept;        /* end keeps the call, to send it again or to free it later */
    struct shard_follow_ups follow; /* jobs that the script schedules when it ends a lease */
    struct sealed_values secrets;   /* arguments of store_call_secret */
    store_call_end_fn *end;
    int64_t now_us; /* time of Redis at the script's end, set before end is called */
    int64_t note;   /* a number for end */
    any_fn *fn;
    void *arg;
};

struct batch_kind {
    enum script_id script;
    unsigned max_runs; /* maximum number of runs under way; a full run may exceed it by one */
    bool is_confirmed; /* clients rely on the changes: a call ends when its change has the configured
                          durability */
    /* Adds the arguments that the script needs once for all calls. NULL if it needs only ARGV[1], the
     * default limit of a topic's jobs in flight. */
    void (*add_shared)(const struct shard *, struct script_args *);
};

struct batch {
    const struct batch_kind *kind;
    struct shard *shard; /* borrowed */
    struct redis_link *link;
    struct list calls; /* calls that wait for the next run */
    size_t count;
    size_t urgent; /* number of calls that may not wait */
    unsigned runs;
};

void batch_init(struct batch *, const struct batch_kind *, struct shard *, struct redis_link *);

/* Returns whether the next run would have only calls that may wait, and few of them. The shard then waits up
 * to SHARD_PATIENCE_US for a call of any kind: when Redis gets both in one turn of its loop, it
 * wakes up and syncs its append-only file only once. */
bool batch_may_wait(const struct batch *);

/* Sends the waiting calls, up to the maximum number of runs. Called at the end of a turn. */
void batch_flush(struct batch *);

/* Ends waiting calls with UNAVAILABLE. Must not be called while runs are under way. */
void batch_fini(struct batch *);

/* ---- making a call ---- */

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

/* Returns the argument with this index. */
struct slice store_call_argument(const struct store_call *, size_t index);

/* Each adds an argument. The text is borrowed until the end of the call. */
void store_call_text(struct store_call *, struct slice text);
void store_call_number(struct store_call *, int64_t number);

/* The same for a text that is sealed for this owner if the process has keys. */
void store_call_secret(struct store_call *, struct slice owner, struct slice text);
void store_call_when(struct store_call *, struct job_when); /* "@ms" for a time, "ms" for a delay */

/* Gives the call a run of its own. If the script has one result for each call, the result of the call is the
 * first; takes_reply says that it is the whole reply, as for a call alone. */
void store_call_fill_run(struct store_call *, bool takes_reply);

/* Sets the jobs that the script schedules when it ends the call's lease. The jobs are borrowed until the end
 * of the call. */
void store_call_follow(struct store_call *, const struct shard_follow_ups *);

/* Sends the call, which belongs to this function from now on: a call of a batch at the end of the turn, a
 * call alone at once. */
void store_call_send(struct store_call *);

/* Drops the arguments of a call that is to be sent again with others. */
void store_call_clear(struct store_call *);

void store_call_free(struct store_call *);

/* ---- arguments that all calls of a batch share ---- */

/* Each adds arguments that all calls of a batch share: this shard's part of max_jobs; also the time for which
 * idempotency keys are kept; the first wait of a receiver that is opened. */
void shard_add_max_jobs(const struct shard *, struct script_args *);
void shard_add_limits(const struct shard *, struct script_args *);
void shard_add_first_wait(const struct shard *, struct script_args *);

/* ---- parts of replies that several scripts return in the same form ---- */

/* Reads the number of entries from the reply's element with the index "at" into *count. The entries begin
 * at the index "first"; "parts" is the number of elements of each entry. Returns false if the number is
 * above max, or if the reply has fewer entries. */
bool reply_count(const struct redis_reply *, size_t at, size_t first, size_t parts, size_t max,
                 size_t *count);

/* Returns whether this version accepts the name of a job or topic. If not, logs that another program or a
 * later version has written the name; the caller leaves the entry out of its page. */
bool reply_has_id(struct slice id);
bool reply_has_topic(struct slice topic);

/* Logs that this script cannot have sent the reply: another program has answered or has changed the data.
 * Returns UNKNOWN. */
enum status reply_refuse(const char *script);

/* Returns whether the result of an item refuses new jobs because of their topic's quota
 * (scripts/lib/quotas.lua). If so, store_quota returns this quota until the shard's next such result. */
bool reply_names_quota(struct shard *, const struct redis_reply *result);

/* Reads the word of a state. Returns false if the word is not a state. */
bool reply_read_state(struct slice word, enum job_state *);

/* Reads {state, time, record[, lost consumers[, settings of its topic[, end of its retention, its last
 * attempt]]]}. Leaves id unchanged. Returns false if the reply does not describe a job. */
bool reply_read_job(const struct redis_reply *, struct stored_job *);

#endif

/* store.h - jobs in Redis. Only this layer and its scripts know the keys.
 *
 * A store belongs to one reactor. No call blocks, and no callback runs before its call has returned. Each
 * call leads to exactly one callback. All calls of one turn of the reactor's loop are sent to Redis together.
 *
 * The status UNAVAILABLE means that Redis is unreachable or refuses the call; nothing changed. UNKNOWN means
 * that the command was sent but no answer came, so it may or may not have been executed. FULL means that
 * Redis is out of memory, or max_jobs is reached; nothing changed.
 *
 * A store has one shard or, in a Redis Cluster, many. A topic is in one shard. One shard may be unavailable
 * while the others are available. This header has the calls for the owners of jobs; these calls find the
 * shard of the topic. shard.h has the calls for the parts of duepost that deliver jobs.
 *
 * An id is topic/jobId. Times are ms since 1970 by the clock of Redis. A call borrows its texts (slices)
 * until its callback. */
#ifndef DUEPOST_STORE_STORE_H
#define DUEPOST_STORE_STORE_H

#include "base/metrics.h"
#include "base/slice.h"
#include "base/status.h"
#include "io/loop.h"
#include "io/redis/redis.h"
#include "job/data_row.h"
#include "job/job.h"
#include "job/listing.h"
#include "job/target/receiver.h"
#include "job/target/url.h"
#include "job/topic/topic.h"

struct store;

enum {
    STORE_FORMAT = 2,          /* format of new data; older formats are converted */
    STORE_FORMAT_MAX = 6,      /* newest format that this version reads; newer formats are refused */
    STORE_FORMAT_PATTERNS = 3, /* format of data with settings of patterns, which format 2 does not support */
    STORE_FORMAT_PULL = 4,     /* format of data with leases of workers, which format 3 does not support */
    STORE_FORMAT_QUOTAS = 5,   /* format of data with quotas of topics, which format 4 does not support */
    STORE_FORMAT_LIMITS = 5,   /* format of data with shared limits, which format 4 does not support */
    STORE_FORMAT_LANES =
        6, /* format of data with keys or priorities of jobs, which format 5 does not support */
    STORE_LEASE_MS = 5000,  /* how long a lease lasts without renewal */
    STORE_NONCE_MAX = 32,   /* maximum size of a nonce in bytes */
    STORE_CLAIM_MAX = 128,  /* maximum number of jobs in one claim */
    STORE_LIST_MAX = 1000,  /* maximum number of jobs in one page */
    STORE_UP_LISTENERS = 2, /* maximum number of calls of shard_on_up for one shard */
    STORE_SHARDS_MAX = 256,
    STORE_PATTERNS_MAX = 100, /* maximum number of patterns with settings */
};

/* ---- durability ----
 *
 * The durability that a change has when it is confirmed. A change is confirmed when its script has replied.
 * With "appendfsync always", Redis replies after the write to disk. If replicas are required, duepost also
 * sends WAIT on the connection that made the change, and confirms the change when WAIT reports enough
 * replicas. */

/* A zeroed struct means that the change is in Redis's memory only. */
struct durability {
    bool is_synced;    /* Redis has written the change to disk, with "appendfsync always" */
    unsigned replicas; /* number of replicas that have the change, as WAIT counts them */
};

enum { DURABILITY_REPLICAS_MAX = 16, DURABILITY_TEXT_MAX = 32 };

/* Parses "memory", "fsync", "replicated:N" or "fsync+replicated:N", with N from 1. Returns false for other
 * texts. */
bool durability_parse(struct slice text, struct durability *);
void durability_format(struct durability, char text[DURABILITY_TEXT_MAX]);

/* Returns whether the durability given includes the durability wanted. */
bool durability_covers(struct durability given, struct durability wanted);

/* ---- the store ---- */

struct store_options {
    const struct redis_address *redis; /* borrowed */
    const char *prefix;                /* prefix of all keys; borrowed */
    size_t shards;                     /* 1, unless redis is a Cluster */
    int64_t max_in_flight_topic; /* maximum number of concurrent attempts of one topic, in all processes */
    int64_t max_jobs; /* maximum number of waiting and leased jobs, divided among the shards; 0: no limit */
    int64_t dead_max; /* maximum number of dead jobs, divided among the shards; 0: no limit */
    int64_t dead_max_age_ms;       /* maximum age of a dead job; 0: no limit */
    int64_t idempotency_window_ms; /* time that an idempotency key is kept */
    int64_t breaker_wait_ms;       /* first wait of an open breaker; doubles with each failed probe */
    /* maximum size of the outbox, which has ended jobs that wait for the history; 0: there is no history */
    int64_t history_backlog_bytes;
    /* A literal: the history keeps all bodies ("on"), those of jobs that were not delivered ("errors"), or
     * none ("off"). */
    const char *history_bodies;
    struct durability durability; /* durability that each confirmed change must have */
    bool is_durability_set; /* the operator configured the durability; otherwise Redis's own durability is
                               required */
    bool trusts_durability; /* if Redis does not show whether it syncs each write, assume that it does */
    bool is_read_only;      /* does not give data a layout, and does not convert an older format */
    /* Borrowed. Points to a literal that says why Redis does not run, or to NULL while the reason is
     * unknown. outage itself is NULL if nothing reports such reasons. */
    const char *_Atomic *outage;
    struct metrics *metrics; /* borrowed */
};

struct store *store_new(struct loop *, const struct store_options *);

/* Sets new values of max_in_flight_topic, max_jobs, dead_max and dead_max_age_ms, from the next call on. */
void store_set_limits(struct store *, const struct store_options *);
int64_t store_max_in_flight_topic(const struct store *);

/* Ends pending calls with UNAVAILABLE or UNKNOWN. NULL is ignored. */
void store_free(struct store *);

size_t store_shards(const struct store *);

/* Returns the number of the shard that has this topic. */
size_t store_shard_number(const struct store *, struct slice topic);

/* ---- state of Redis ---- */

struct redis_info {
    bool is_known;
    char version[32];
    char role[16];
    char eviction[32];
    struct durability
        in_force; /* durability that Redis provides now; replicas counts the replicas that are online */
    bool is_fsync_hidden;   /* CONFIG is forbidden, so the fsync setting is unknown */
    bool is_trusted;        /* in_force.is_synced was not checked, see trusts_durability */
    bool has_aof;           /* appendonly yes, and the last write of the file succeeded */
    int64_t format, shards; /* layout of the data; 0: no data yet, or not read yet */
    int64_t clock_us;       /* Redis's clock minus clock_boot_us of this host; 0: not read yet */
    bool is_clock_manual;   /* the data follows a manual clock, see clock.h */
    int64_t born_ms;        /* time when the data got its layout; 0: unknown */
    unsigned losses;        /* how often the data disappeared, or was replaced by other data */
    /* Memory of the fullest node, some seconds ago; max_bytes 0: no limit. */
    int64_t used_bytes, max_bytes;
    int64_t system_bytes; /* memory of the host of Redis; 0: unknown */
    int64_t cpu_us; /* processor time of Redis and its children, some seconds ago; 0: unknown, or several
                       shards */
};

/* Writes the configured durability as a word: "auto" if the operator configured none. */
void store_durability_configured(const struct store *, char text[DURABILITY_TEXT_MAX]);

/* Writes in_force as a word: "unknown" while Redis is unreachable, or while the fsync setting is hidden
 * and no replica is online. */
void redis_info_durability(const struct redis_info *, char text[DURABILITY_TEXT_MAX]);

/* Return STATUS_INVALID if duepost cannot use a Redis with this information at all; problem then has the
 * reason. */
enum status store_check_version(const struct redis_info *, struct problem *) MUST_USE;
enum status store_check_eviction(const struct redis_info *, struct problem *) MUST_USE;
enum status store_check_layout(const struct redis_info *, size_t shards, struct problem *) MUST_USE;

/* Returns the reason why a crash of Redis could lose confirmed changes, or NULL if it could not. */
const char *redis_info_risk(const struct redis_info *);

/* Returns the information. With several shards, it is known when that of each shard is known, and in_force
 * is the durability that all shards provide. */
const struct redis_info *store_redis_info(const struct store *);
/* Queries the information again if there is one shard, at most once a second. store_redis_info returns the
 * new one when Redis has answered. */
void store_refresh_redis_info(struct store *);

const struct redis_info *store_redis_info_of(const struct store *, size_t shard);

/* Returns the time by the clock of the first shard's Redis, as of a few seconds ago, or by this host's clock
 * while Redis was never reached. Times that a client sends are compared with this time. A step of the clock
 * of this host does not change it. */
int64_t store_now_ms(const struct store *);

/* Returns whether all shards can confirm changes now. If not, problem has the reason. */
bool store_is_ready(const struct store *, struct problem *);

/* Returns whether the shard of a topic or an id can confirm changes now; other shards may be unavailable. */
bool store_is_ready_for(const struct store *, struct slice id, struct problem *);

/* As store_is_ready_for, but also while replicas are missing. Changes then end with UNDURABLE. For changes
 * that record what a worker has done: to refuse them would only cause the work to be done again. */
bool store_is_recording_for(const struct store *, struct slice id, struct problem *);

/* Returns whether this duepost cannot use this Redis at all, because Redis is too old, evicts keys or denies
 * rights, or its data has another format or layout. Waiting does not help. */
bool store_is_refused(const struct store *, struct problem *);

/* Returns whether the Redis of a shard denies rights that duepost needs; problem then names the rights. */
bool store_is_denied(const struct store *, struct problem *);

/* Tests whether a shard confirms changes: writes a key and removes it in the same script, with the configured
 * durability. now_us is the time of the script by the clock of Redis, if the status is OK. */
typedef void store_try_fn(void *arg, enum status, int64_t now_us);
void store_try_write(struct store *, size_t shard, store_try_fn *, void *arg);

/* Calls fn when the information, or the results of store_is_ready, store_is_refused and store_is_denied, may
 * have changed. There is one listener. */
void store_on_change(struct store *, loop_fn *, void *arg);

/* Returns whether a Redis that the store has found since its start, from Sentinels or the Cluster, has this
 * address. A job's url must not lead to this address. */
bool store_is_redis(const struct store *, const struct address *, uint16_t port);

/* ---- For the owners of jobs ---- */

/* A call with tags (job.h) changes the job only if the job's tag is one of them. With empty tags, a call
 * changes the job in any case. "*" matches any existing job. If the tags of store_replace begin with
 * JOB_TAGS_EXCLUDED, the tags after it protect jobs of the pool: a job with one of these tags is not changed,
 * and after "*" no job is changed. The status is STALE if the tags do not allow the change, or if the job
 * does not exist. */

/* Returns the quota because of which a call for this id or topic has ended with QUOTA. Call it only in the
 * callback with this status; the slices are valid until the callback returns. */
const struct topic_quota *store_quota(const struct store *, struct slice id);

/* Called with due_ms if the status is OK, with the job that has the id if EXISTS, and with due_ms and job->id
 * of the first answer if REPEATED, or of the job that stands for the new one if THROTTLED. Called without
 * them if FULL, QUOTA, REUSED, NO_URL, UNAVAILABLE or UNKNOWN. */
typedef void store_scheduled_fn(void *arg, enum status, int64_t due_ms, const struct stored_job *job);

struct store_schedule {
    struct slice id;
    struct job_when when;
    struct slice record; /* see job_write */
    /* Fingerprint of the request, a space and topic/idempotency key; empty: no key. With throttle, a line
     * from job_write_throttle follows, and the first line may be "-". */
    struct slice once;
};

/* Schedules a job unless its id is taken. If the record is empty, schedules nothing, but keeps an answer with
 * the id and the time "when" under the idempotency key "once". Borrows the slices until the callback. */
void store_schedule(struct store *, const struct store_schedule *, store_scheduled_fn *, void *arg);

enum { STORE_SCHEDULE_ALL_MAX = 100 }; /* maximum number of jobs that are scheduled together */

/* The result for one job. Slices are valid until the callback returns. */
struct store_scheduled {
    int64_t due_ms;
    struct slice repeated; /* id of the first answer under the idempotency key; empty: the job is new */
};

/* Called with a result for each job if the status is OK. Called without results if FULL, EXISTS (an id is
 * taken), REUSED, UNAVAILABLE or UNKNOWN. */
typedef void store_scheduled_all_fn(void *arg, enum status, const struct store_scheduled *);

/* Schedules all new jobs, or none, in one script. The jobs are in one shard, and each has a url, or its topic
 * has one. Borrows the jobs and their slices until the callback. */
void store_schedule_all(struct store *, const struct store_schedule *jobs, size_t count,
                        store_scheduled_all_fn *, void *arg);

/* The times of the new job, and whether the new job replaced another job. If it replaced a leased job, the
 * attempt of that job continues, and that job counts as cancelled. */
struct store_replaced {
    struct slice id; /* with debounce: the id of the job, which may be that of an earlier one; else empty */
    bool was_there, was_leased;
    int64_t due_ms, created_ms;
    int64_t now_ms;
};

/* Called with OK, STALE, FULL, NO_URL, UNAVAILABLE or UNKNOWN. The struct is NULL unless the status is OK. */
typedef void store_replaced_fn(void *arg, enum status, const struct store_replaced *);

struct store_replace {
    struct slice id;
    struct job_when when;
    struct slice record; /* see job_write */
    struct slice tags;   /* or a text from job_write_debounce */
};

/* Schedules a job. If a job has this id and has not ended, the new job replaces it. Borrows the slices until
 * the callback. */
void store_replace(struct store *, const struct store_replace *, store_replaced_fn *, void *arg);

/* Called with OK, STALE, FULL, NO_URL, UNAVAILABLE or UNKNOWN. due_ms is set if the due time was changed.
 * The status is STALE if the job has another tag, is leased or does not exist any more. */
typedef void store_changed_fn(void *arg, enum status, int64_t due_ms, int64_t now_ms);

/* A follow-up: a job, such as a callback, that a script schedules when it ends the lease of another job. Its
 * topic is a sibling of the other job's topic (as orders~callbacks is of orders). */
struct shard_follow_up {
    struct slice id;
    int64_t delay_ms;    /* counted from the time at which Redis runs the script */
    struct slice record; /* see job_write */
};

struct shard_follow_ups {
    const struct shard_follow_up *jobs;
    size_t count;
};

struct store_change {
    struct slice id;
    struct slice tag;    /* tag of the job that was read */
    struct slice record; /* the whole new record, as job_write writes it; empty: the record stays as it is */
    bool is_moved;       /* false: the job keeps its due time, or stays dead */
    bool is_buried;      /* the job dies with the new record, and follow is scheduled; not with is_moved */
    struct job_when when;
    struct shard_follow_ups follow;
};

/* Changes the record or the due time of a job that is not leased, or buries a job that waits. Without a new
 * record, the status is also STALE if the job would expire before it is due. Borrows the slices until the
 * callback. */
void store_change(struct store *, const struct store_change *, store_changed_fn *, void *arg);

/* Called with OK, NOT_FOUND or STALE. After OK no attempt of the job begins. If the job belongs to a
 * workflow, the workflow is cancelled with all its jobs. Cancels of these jobs that have already begun then
 * end with OK, too. Tags may also be JOB_TAGS_ALIVE. */
typedef void store_cancelled_fn(void *arg, enum status, bool was_leased);
void store_cancel(struct store *, struct slice id, struct slice tags, store_cancelled_fn *, void *arg);

/* Called with OK and due_ms, or with NOT_FOUND, LEASED, STALE, FULL, UNAVAILABLE or UNKNOWN. A dead job
 * starts over, without attempts. For a dead job, the status is also EXPIRED if the job would expire before it
 * is due, EXISTS if another job has its id, and UNREADABLE or LACKING if its record cannot be rewritten. */
typedef void store_run_fn(void *arg, enum status, int64_t due_ms);
void store_run(struct store *, struct slice id, struct slice tags, struct job_when, store_run_fn *,
               void *arg);

/* Called with OK or NOT_FOUND. A dead job is found if no job of the pool has its id. */
typedef void store_read_fn(void *arg, enum status, const struct stored_job *job);
void store_read(struct store *, struct slice id, store_read_fn *, void *arg);

/* Reads a job like store_read. If there is no such job, also finds a delivered or cancelled job that had the
 * id and is kept. */
void store_read_kept(struct store *, struct slice id, store_read_fn *, void *arg);

/* A request that waits for the end of a job, or for its next change. */
struct store_await {
    struct slice id; /* borrowed until the callback */
    int64_t wait_ms; /* how long the listener of store_on_job_wake is called for this job */
    bool is_new;     /* the caller schedules this job next */
};

/* Called with OK, or with UNAVAILABLE or UNKNOWN if nothing may be noted. is_there: the job has not ended. */
typedef void store_awaited_fn(void *arg, enum status, bool is_there);

/* Notes the wait, unless there is no such job. When the job ends within this time, it can be read with
 * store_read_kept for at least a minute. All calls of one turn of the loop are sent together. */
void store_await(struct store *, const struct store_await *, store_awaited_fn *, void *arg);

/* Sets the listener; a store has only one. fn is called when awaited jobs, of any process, have ended or
 * changed. ids: the jobs, separated by newlines; empty if messages may have been lost. */
typedef void store_job_wake_fn(void *arg, struct slice ids, bool have_ended);
void store_on_job_wake(struct store *, store_job_wake_fn *, void *arg);

/* ---- events of jobs (scripts/lib/stream.lua) ---- */

enum { STORE_EVENTS_MAX = 256, STORE_EVENT_ID_SIZE = 48 };

struct store_event {
    struct slice id;   /* milliseconds, '-' and a number */
    struct slice type; /* accepted, begun, progress, delivered, retried, dead, cancelled or fired */
    int64_t at_ms;
    struct slice job_id, key; /* key: empty if the job has none */
    struct slice
        data; /* delivered, retried, dead: the line of the attempt; progress, fired: JSON; else empty */
};

struct store_stream {
    struct slice topic, after; /* after: id of the last event that the caller has; empty: none. Borrowed until
                                  the callback */
    int64_t wait_ms;           /* how long the listener of store_on_stream_wake is called for the topic */
};

struct store_streamed {
    bool is_on;        /* the topic has the setting events */
    bool has_gap;      /* events after the one of the call were removed */
    struct slice last; /* id of the topic's last event */
    bool has_more;     /* there may be more events */
    const struct store_event *events;
    size_t count;
};

/* The struct is NULL unless the status is OK. */
typedef void store_streamed_fn(void *arg, enum status, const struct store_streamed *);
void store_stream(struct store *, const struct store_stream *, store_streamed_fn *, void *arg);

/* Sets the listener; a store has only one. topic: the topic has new events; empty: messages may have been
 * lost. */
typedef void store_stream_wake_fn(void *arg, struct slice topic);
void store_on_stream_wake(struct store *, store_stream_wake_fn *, void *arg);

/* Called with OK or NOT_FOUND. lines has the last attempts of the job, or of a kept job, see attempt_line.h.
 * The text is valid until the callback returns. */
typedef void store_attempts_fn(void *arg, enum status, struct slice lines);

/* Borrows the id until the callback. */
void store_attempts(struct store *, struct slice id, store_attempts_fn *, void *arg);

struct store_list {
    struct job_filter filter;
    bool is_newest_first; /* leased jobs are always in the order of their ids */
    /* For store_see: leave out waiting jobs that became due, or whose last attempt began, after the list
     * began. */
    bool leaves_begun;
    size_t max; /* 1 to STORE_LIST_MAX */
    struct list_cursor from;
};

/* Returns the state with which a walk through these states begins: the first of leased, ready, delayed, dead,
 * delivered and cancelled. */
enum job_state store_first_state(unsigned states);

/* Called with a page of jobs. A page may have fewer jobs than max although next.has_more is true, because one
 * call examines a limited number of entries and bytes, and a page ends at the end of its shard. */
typedef void store_list_fn(void *arg, enum status, const struct stored_job *jobs, size_t count,
                           struct list_cursor next);
void store_list(struct store *, const struct store_list *, store_list_fn *, void *arg);

/* A job that a walk has found, with its tag. A later call can change the job only if it still has this tag:
 * see job_tag_of. */
struct store_seen {
    struct slice id, tag;
};

/* Called with a page that has only ids and tags, which were read at now_ms. */
typedef void store_seen_fn(void *arg, enum status, const struct store_seen *jobs, size_t count,
                           struct list_cursor next, int64_t now_ms);
void store_see(struct store *, const struct store_list *, store_seen_fn *, void *arg);

/* Called with the number of matching jobs. The member max of store_list is ignored. */
typedef void store_count_fn(void *arg, enum status, int64_t count, struct list_cursor next);
void store_count(struct store *, const struct store_list *, store_count_fn *, void *arg);

/* ---- For operators ---- */

enum { STORE_FAILING_MAX = 20 };

struct store_topics {
    struct slice topic; /* the only topic to return, even if it has no jobs; empty: any */
    size_t max;         /* 1 to STORE_LIST_MAX */
    struct topic_cursor from;
    /* Return only the most urgent topics of shard from.shard: those whose jobs have been overdue longest, or
     * are due next. Topics that fail follow, at most STORE_FAILING_MAX. The search examines a limited number
     * of topics. */
    bool is_urgent;
    /* Return only topics that fail, those with the most failures first: one page for each shard. */
    bool are_failing;
    /* Return groups instead of topics. The settings of a result are the text of the group (see group.h), and
     * the other members are 0. */
    bool are_groups;
};

/* Called with a page of topics. Pages go shard by shard, and by name within a shard. A page may have fewer
 * topics than max although next.has_more is true, because one call examines a limited number of topics. */
typedef void store_topics_fn(void *arg, enum status, const struct topic *topics, size_t count,
                             struct topic_cursor next);
void store_topics(struct store *, const struct store_topics *, store_topics_fn *, void *arg);

/* Called after a change of the settings of a topic or of patterns, or of a group. */
typedef void store_set_text_fn(void *arg, enum status);

/* Writes the settings of a topic. Empty new_settings remove the settings. If the settings are no longer
 * old_settings, the status is STALE and nothing changes. The status is NO_LIMIT if they name a limit that
 * does not exist. Borrows the slices until the callback. */
void store_set_topic(struct store *, struct slice topic, struct slice old_settings, struct slice new_settings,
                     store_set_text_fn *, void *arg);

/* The settings of all patterns. Each shard has a copy of them, with a version. Slices are valid until the
 * callback returns. */
struct store_pattern {
    struct slice name; /* such as "orders-*" */
    struct slice text; /* see topic_layers.h */
};
struct store_patterns {
    int64_t version;
    const struct store_pattern *patterns;
    size_t count;
};
typedef void store_patterns_fn(void *arg, enum status, const struct store_patterns *);

/* Reads the patterns from the shard to which changes are written first. */
void store_patterns(struct store *, store_patterns_fn *, void *arg);

/* Replaces the patterns in all shards. If their version has changed, the status is STALE and nothing changes.
 * The status is NO_LIMIT if a pattern names a limit that does not exist.
 * After UNKNOWN or UNAVAILABLE some shards may have the new patterns; the pattern keeper then copies them to
 * the others. Borrows patterns until the callback. */
void store_set_patterns(struct store *, const struct store_patterns *, store_set_text_fn *, void *arg);

/* Copies the patterns with the highest version to the shards with lower versions. count is the number of
 * these shards. */
typedef void store_mend_patterns_fn(void *arg, enum status, size_t count);
void store_mend_patterns(struct store *, store_mend_patterns_fn *, void *arg);

/* Returns the number of the shard to which changes of patterns are written first. */
size_t store_patterns_shard(const struct store *);

/* ---- Lines of the audit log for the history ---- */

/* Adds a line to the trail (scripts/note.lua), in the shard of this topic or topic/jobId, or in the first
 * shard if name is empty. The archiver moves it to the history. If OK, Redis has the line with the configured
 * durability. Borrows the line until the callback. */
typedef void store_note_fn(void *arg, enum status);
void store_note(struct store *, struct slice name, struct slice line, store_note_fn *, void *arg);

/* ---- Last uses of clients' tokens ---- */

/* Writes the last use of each token, ms (scripts/used.lua), or, if times is NULL, reads them: the callback
 * then has a time for each name, or 0. Borrows names and times until the callback. */
typedef void store_token_uses_fn(void *arg, enum status, const int64_t *times);
void store_token_uses(struct store *, const struct slice *names, const int64_t *times, size_t count,
                      store_token_uses_fn *, void *arg);

/* ---- Access tokens that processes share ---- */

enum store_access_answer {
    STORE_ACCESS_TOKEN, /* there is a token */
    STORE_ACCESS_FETCH, /* the caller must get one from the token server */
    STORE_ACCESS_BUSY,  /* another process gets one */
    STORE_ACCESS_WAIT,  /* the token server has failed and may not be asked yet */
    STORE_ACCESS_DONE,
};

struct store_access {
    enum store_access_answer answer;
    int64_t ms;         /* TOKEN: how long it may be used; BUSY, WAIT: how long to wait */
    int64_t fails;      /* FETCH: number of failures in a row */
    int64_t age_ms;     /* TOKEN: how long ago the token server gave it */
    struct slice token; /* TOKEN; valid until the callback returns */
};

typedef void store_access_fn(void *arg, enum status, const struct store_access *);

/* Each is one call of access.lua, in the first shard. digest: the settings that the token belongs to, in hex.
 * Borrow the slices until the callback. */
void store_access_ask(struct store *, struct slice digest, int64_t busy_ms, store_access_fn *, void *arg);
void store_access_keep(struct store *, struct slice digest, struct slice token, int64_t ms, store_access_fn *,
                       void *arg);
void store_access_fail(struct store *, struct slice digest, int64_t fails, store_access_fn *, void *arg);
void store_access_drop(struct store *, struct slice digest, struct slice token, store_access_fn *, void *arg);

/* ---- Limits that several topics share ---- */

enum {
    STORE_LIMIT_TOPICS_MAX = 100, /* maximum number of waiting topics that a limit is read with */
    STORE_LIMIT_NAMES_MAX = 10,   /* maximum number of names that a refused removal returns */
};

/* All limits are in the first shard. A store with several shards has none, because the topics of a limit
 * could be in different shards, and a script sees only one of them. */

/* Called with a page of limits, in the order of their names. A limit that was requested by name and does not
 * exist is missing. Slices are valid until the callback returns. */
typedef void store_limits_fn(void *arg, enum status, const struct limit *, size_t count, bool has_more);

/* Reads the limit with this name; if it is empty, at most max limits whose names are after "after". */
void store_limits(struct store *, struct slice name, struct slice after, size_t max, store_limits_fn *,
                  void *arg);

/* names: with IN_USE, the first topics and patterns that name the limit */
typedef void store_set_limit_fn(void *arg, enum status, const struct slice *names, size_t count);

/* Writes the settings of a limit. An empty new_text removes the limit; the status is IN_USE if a topic or
 * pattern names it. If the text has changed since old_text (empty: no limit) was read, the status is STALE
 * and nothing changes. Borrows the slices until the callback. */
void store_set_limit(struct store *, struct slice name, struct slice old_text, struct slice new_text,
                     store_set_limit_fn *, void *arg);

/* ---- Keys of a topic ---- */

enum {
    STORE_LANES_MAX = 100, /* maximum number of keys in one call */
    STORE_LANE_PLACE_MAX = LANE_KEY_MAX + 24,
};

struct store_lanes {
    struct slice topic;
    bool is_one; /* reads this key only, which may be empty */
    struct slice key;
    struct slice after; /* a page: the place where the page before ended; empty: the beginning */
    size_t max;
};

/* Called with a page of keys, the one with the most pending jobs first. after: the place where the next page
 * begins; empty: there are no more. A key that was requested by name is missing if it has neither jobs nor
 * settings. Slices are valid until the callback returns. */
typedef void store_lanes_fn(void *arg, enum status, const struct topic_lane *, size_t count,
                            struct slice after);
void store_lanes(struct store *, const struct store_lanes *, store_lanes_fn *, void *arg);

/* Writes the settings of a key. An empty new_text removes them. If the text has changed since old_text
 * (empty: none) was read, the status is STALE and nothing changes. Borrows the slices until the callback. */
void store_set_lane(struct store *, struct slice topic, struct slice key, struct slice old_text,
                    struct slice new_text, store_set_text_fn *, void *arg);

/* ---- Groups ---- */

/* Writes a group, which is in the shard of its name. An empty new_text removes the group. If the text has
 * changed since old_text (empty: no group) was read, the status is STALE and nothing changes. Borrows the
 * slices until the callback. store_topics reads groups. */
void store_set_group(struct store *, struct slice name, struct slice old_text, struct slice new_text,
                     store_set_text_fn *, void *arg);

enum { STORE_SEND_MAX = 100 }; /* maximum number of jobs of one send */

/* A job for an endpoint. The jobId of the job is the jobId of the send, '~', and the name of the endpoint. */
struct store_send_job {
    struct slice endpoint, record; /* see job_write */
};

struct store_send {
    struct slice id; /* topic/jobId */
    struct slice group;
    struct slice mark; /* a text that identifies the content of the send */
    struct job_when when;
    struct slice once; /* as in store_schedule */
    const struct store_send_job *jobs;
    size_t count;     /* number of jobs; 0: only looks for an earlier send */
    bool is_only_new; /* for store_replace_sent: do not send if one of the jobs is in the pool */
};

struct store_sent {
    struct slice id;
    bool is_same;          /* the same job was sent before */
    struct sent_job *jobs; /* see group.h */
    size_t count;
    struct slice taken;         /* EXISTS: the id that another job has */
    bool was_there;             /* after store_replace_sent: jobs were replaced or cancelled */
    size_t replaced, cancelled; /* numbers of these jobs */
    size_t replaced_leased;     /* how many of the replaced jobs were leased, and so count as cancelled */
};

/* Called with OK, REPEATED (the request was answered before), EXISTS, NOT_FOUND (count was 0, and there was
 * no earlier send), REUSED (the idempotency key belongs to another request), FULL, UNAVAILABLE or UNKNOWN. */
typedef void store_sent_fn(void *arg, enum status, const struct store_sent *);

/* Schedules all jobs of a send, or none. If the same content was sent before and one of its jobs is still in
 * the pool, schedules nothing. Borrows the call's slices and jobs until the callback. */
void store_send(struct store *, const struct store_send *, store_sent_fn *, void *arg);

/* Schedules all jobs of a send, or none. Replaces jobs that have the same ids and have not ended. Cancels
 * jobs that an earlier send under this id has sent to other endpoints. Called with OK, STALE (is_only_new is
 * set, and one of the jobs is in the pool), FULL, UNAVAILABLE or UNKNOWN. The call has at least one job. */
void store_replace_sent(struct store *, const struct store_send *, store_sent_fn *, void *arg);

/* Reads the jobs that were sent to this group under this id. Called with OK, NOT_FOUND or UNAVAILABLE. */
void store_read_sent(struct store *, struct slice id, struct slice group, store_sent_fn *, void *arg);

struct store_unsent {
    size_t cancelled; /* number of cancelled jobs */
    size_t leased;    /* cancelled jobs whose attempt still runs */
};

/* Cancels the jobs that were sent to this group under this id and have not been delivered or cancelled; dead
 * jobs are removed. The status is NOT_FOUND if no such job is left. */
typedef void store_unsent_fn(void *arg, enum status, const struct store_unsent *);
void store_unsend(struct store *, struct slice id, struct slice group, store_unsent_fn *, void *arg);

/* ---- all data, as rows (job/data_row.h), for a move to another Redis ---- */

/* Slices are valid until the callback returns. */
struct store_rows {
    const struct data_row *rows;
    size_t count;
    struct slice place; /* where the next step begins; empty: the part ends here */
    int64_t unpaused;   /* topics with jobs that are not paused, of those at which this step began */
};

/* Does a step of the walk through a part of the data: 0 is what all shards share, and n the shard n - 1. A
 * step is short (scripts/export.lua), and may have no rows. place: where the step before ended; empty: the
 * beginning of the part. max: maximum number of rows, 1 to STORE_LIST_MAX. */
typedef void store_export_fn(void *arg, enum status, const struct store_rows *);
void store_export(struct store *, size_t part, struct slice place, size_t max, store_export_fn *, void *arg);

/* Writes a row to the shard of its name, unless something has this name. Called with OK, SAME (Redis has the
 * same row), EXISTS (something else has the name), INVALID (why says what is wrong with the row), FULL,
 * UNAVAILABLE, UNKNOWN or UNDURABLE. Patterns are written by store_set_patterns instead. Borrows the row's
 * slices until the callback. */
typedef void store_import_fn(void *arg, enum status, struct slice why);
void store_import(struct store *, const struct data_row *, store_import_fn *, void *arg);

/* ---- Texts that may be encrypted ---- */

/* A text in Redis. key has no prefix. field is the field of a hash, or the index in a list. */
struct store_secret {
    struct slice key, field, text;
};

/* Reads a page of the texts of a shard that may be encrypted (scripts/secrets.lua). next: where the next page
 * begins; empty: there are no more. OK or UNAVAILABLE. Borrows its slices until the callback. */
struct store_secrets {
    const struct store_secret *items;
    size_t count;
    struct slice next;
};
typedef void store_secrets_fn(void *arg, enum status, const struct store_secrets *);
void store_secrets(struct store *, size_t shard, struct slice what, struct slice cursor, size_t max,
                   store_secrets_fn *, void *arg);

/* Replaces a text if it is still the same one. OK, STALE (it has changed since), FULL, UNAVAILABLE, UNKNOWN
 * or UNDURABLE. Borrows its slices until the callback. */
typedef void store_reseal_fn(void *arg, enum status);
void store_reseal(struct store *, size_t shard, const struct store_secret *, struct slice fresh,
                  store_reseal_fn *, void *arg);

/* ---- Receivers: the HTTP servers behind the urls of jobs ---- */

/* The record of a receiver, which is in the shard of the receiver's name. The record exists for an hour after
 * a failure was reported, or after the receiver asked for fewer attempts. Slices are valid until the
 * callback returns. */
struct store_receivers {
    struct slice name; /* the only receiver to return; empty: any */
    size_t max;        /* 1 to STORE_LIST_MAX */
    struct receiver_cursor from;
};

/* Called with a page of receivers. Pages go shard by shard; within a shard, the receiver that was reported
 * last comes last. A page may have fewer receivers than max although there are more. */
typedef void store_receivers_fn(void *arg, enum status, const struct receiver_record *, size_t count,
                                struct receiver_cursor next);
void store_receivers(struct store *, const struct store_receivers *, store_receivers_fn *, void *arg);

/* Called with the records of a shard that are newer than the requested version, up to a maximum number.
 * version is the version of the last of these records. last is the highest version in the shard; it is
 * higher than version if there are more records. */
typedef void store_news_fn(void *arg, enum status, const struct receiver_record *, size_t count,
                           int64_t version, int64_t last);
void store_news(struct store *, size_t shard, int64_t version, store_news_fn *, void *arg);

/* Results of attempts at a receiver since the last report, and whether the reactor asks for the right to
 * probe. */
struct store_report {
    struct slice name;
    struct slice cause; /* cause of the last failure or of an inconclusive probe; else empty */
    bool is_reachable;  /* before the failures below, an attempt found the receiver healthy, see
                           receiver_health */
    int64_t failures;   /* consecutive failures */
    int64_t crowd;      /* attempts in flight when the receiver asked for fewer attempts; 0: it did not ask */
    int64_t delivered;  /* number of answers with 2xx */
    /* Number of the probe that this report ends; 0: none. A report without results gives up the right to
     * probe. If such a report has no cause, the probe was not sent, and the next probe may begin at once. If
     * it has a cause, the next probe begins after the current wait. */
    int64_t probe;
    bool wants_probe; /* requests the right to probe */
};

struct store_reported {
    int64_t probe; /* number of the probe that is granted; 0: none */
    bool has_opened, has_closed,
        has_halved;  /* whether this report has opened or closed the breaker, or halved the limit */
    int64_t version; /* highest version in the shard when the script ran, see store_news_fn */
    /* The receiver's record after this report; NULL: there is no record. */
    const struct receiver_record *receiver;
};

/* Called with OK, UNAVAILABLE or UNKNOWN. Borrows the slices of the report until the callback. */
typedef void store_report_fn(void *arg, enum status, const struct store_reported *);
void store_report(struct store *, const struct store_report *, store_report_fn *, void *arg);

/* Notes until when the certificate of the receiver host:port is valid. Borrows name until the callback. */
typedef void store_certificate_fn(void *arg, enum status);
void store_note_certificate(struct store *, struct slice name, int64_t until_ms, store_certificate_fn *,
                            void *arg);

/* Closes the breaker of a receiver and the breakers of its paths, and removes the receiver's limit. The
 * callback gets OK with the new record of the receiver, or NOT_FOUND if there is no record. Borrows name
 * until the callback. */
typedef void store_close_fn(void *arg, enum status, const struct receiver_record *);
void store_close_receiver(struct store *, struct slice name, store_close_fn *, void *arg);

/* ---- counts ---- */

struct store_counts {
    int64_t jobs, waiting, leased, dead;
    int64_t pulled; /* jobs that workers have leased; leased includes them */
    int64_t topics; /* topics with waiting jobs */
    int64_t ready;  /* waiting jobs that are due */
    /* Waiting jobs that are held, see store_topic; some of them may also be counted in ready. */
    int64_t held;
    int64_t late_ms;    /* time since the first ready job was due; 0: no job is due */
    int64_t due_age_ms; /* time since ready and late_ms were counted; -1: not counted yet */
    int64_t histories;  /* jobs of the pool whose last attempts are kept */
    int64_t kept; /* ended jobs that can still be read, including dead jobs; jobs does not include them */
    int64_t outbox, outbox_bytes; /* texts in the outbox: ended jobs that the history does not have yet */
    int64_t outbox_dropped;       /* texts dropped by the limit of the outbox since the data was created */
    int64_t outbox_age_ms;        /* time since the first job of the outbox ended; 0: it is empty */
    /* The last three members are set only if the store has a single shard. */
    int64_t outbox_listed;  /* ids in the outbox's lists; not fewer than its texts, if the data is intact */
    int64_t kept_with_time; /* kept jobs with a time of removal: all except the dead jobs, if the data is
                               intact */
    bool takes_survey;      /* more topics may have due jobs than one call counts: see shard_survey */
};

/* Called with the sums over all shards. The status is OK if each shard has answered. */
typedef void store_audit_fn(void *arg, enum status, const struct store_counts *);
void store_audit(struct store *, store_audit_fn *, void *arg);

/* ---- a channel of figures ---- */

/* A Pub/Sub channel of Redis on which processes exchange their current figures (app/live.h).
 * Redis stores no messages, and messages may be lost, so duepost must work without them.
 *
 * The channel "live" is in the first shard and has a connection of its own. While Redis denies the use of
 * the channel or is unreachable, no messages come, and published messages are lost. */

typedef void store_live_fn(void *arg, struct slice text);

/* Calls fn for each message of any process, this one included, until the store is freed. Call it once. */
void store_listen_live(struct store *, store_live_fn *, void *arg);

/* Copies the text. */
void store_publish_live(struct store *, struct slice text);

/* ---- numbers of waiting jobs by due time ----
 *
 * A walk counts the jobs of all shards once, in steps (forecast.c). */

struct forecast_walk;

struct forecast_walk *forecast_walk_new(void);

/* Must not be called during a step, except in the step's callback. NULL is ignored. */
void forecast_walk_free(struct forecast_walk *);

/* Called after a step. forecast is NULL until the walk is complete. After a complete walk, or if the status
 * is not OK, the next step begins a new walk. */
typedef void forecast_fn(void *arg, enum status, const struct forecast *forecast);

/* Does the next step of the walk. Borrows the walk and the store until the callback. */
void forecast_walk_step(struct forecast_walk *, struct store *, forecast_fn *, void *arg);

/* ---- waiting jobs of each topic by due time ----
 *
 * A walk through all topics, for the forecast, in steps (demand.c). Each step is one call of one shard, which
 * takes Redis a few ms. Nothing is written. */

struct demand_walk {
    struct slice topic; /* only this topic; empty: all topics. Borrowed until the walk is over */
    /* Jobs are counted by due time, in cells of this length. The first one begins at origin_ms. */
    int64_t origin_ms, cell_ms;
    size_t cells;
    /* A step has this number of cells. Up to 100 jobs of a step count in its middle, if their topic has no
     * settings. */
    size_t cells_of_step;
    /* The walk sets the following members, which are 0 at first. */
    bool is_begun, is_over;
    size_t shard;
    int64_t cell; /* the cell of the topic "after" with which the next step begins; -1: the step begins after
                     it */
    size_t after_size;
    char after[JOB_TOPIC_NAME_MAX + 1];
};

struct demand_topic {
    struct slice name;
    struct slice settings; /* see topic_settings_read; empty: none */
    int64_t line_ms;       /* fifo topic: the time before which its first job may not be attempted; 0: none */
    int64_t rate_spent_us; /* the time up to which the tokens of its rate are spent; 0: unknown, or no such
                              rate */
    int64_t rate_began_ms; /* rate with windows: when the current window began; 0: none */
    int64_t rate_begun;    /* rate with windows: attempts in the current window */
    int64_t overdue_since_ms; /* when its first overdue job was due; 0: none, or an earlier step had it */
    struct slice counts;      /* see demand_take_count */
};

/* Called with the topics of a step: those with settings, and those with jobs in the cells. A topic with very
 * many jobs comes in several steps, with different cells. */
typedef void demand_fn(void *arg, enum status, const struct demand_topic *, size_t count);

/* Does a step of a walk. Borrows the walk until the callback. */
void demand_walk_step(struct store *, struct demand_walk *, demand_fn *, void *arg);

/* Takes the next count from the front of the counts of a topic. Returns false at the end. cell: -1 for
 * overdue jobs. */
bool demand_take_count(struct slice *counts, int64_t *cell, int64_t *jobs);

#endif

/* store.h - jobs in Redis; with the scripts beside it the only place that knows keys.
 *
 * A store belongs to one reactor. No call blocks, and no callback runs before its
 * call has returned. Each call brings exactly one callback. What several calls of
 * one turn bring to Redis travels together.
 *
 * UNAVAILABLE: Redis is away or refuses; nothing changed. UNKNOWN: the command was
 * sent and no answer came; it is done or not done. FULL: Redis has no memory left,
 * or max_jobs is reached; nothing changed.
 *
 * A store has one shard or, in a Redis Cluster, many: a topic lives whole in one of them, and each is there
 * or away by itself. Calls by owners of jobs are made here and find the shard of their topic; what the roles
 * that deliver ask of one shard is in shard.h.
 *
 * An id is topic/jobId. Times are ms since 1970 by Redis's clock. Slices that a call is given
 * are borrowed until its callback. */
#ifndef DUEPOST_STORE_STORE_H
#define DUEPOST_STORE_STORE_H

#include "base/metrics.h"
#include "base/slice.h"
#include "base/status.h"
#include "io/loop.h"
#include "io/redis.h"
#include "job/address.h"
#include "job/job_state.h"
#include "job/job_tag.h"
#include "store/durability.h"

struct store;

enum {
    STORE_FORMAT = 2,       /* of the data; a newer one is refused, an older one is taken over */
    STORE_LEASE_MS = 5000,  /* a consumer's right without renewal */
    STORE_NONCE_MAX = 32,   /* bytes */
    STORE_CLAIM_MAX = 128,  /* jobs in one claim */
    STORE_LIST_MAX = 1000,  /* jobs in one page */
    STORE_UP_LISTENERS = 2, /* of one shard */
    STORE_SHARDS_MAX = 256,
};

struct store_options {
    const struct redis_address *redis; /* borrowed */
    const char *prefix;                /* of all keys; borrowed */
    size_t shards;                     /* 1, unless redis is a Cluster */
    int64_t max_in_flight_topic;       /* attempts of one topic at once, over all processes */
    int64_t max_jobs;                  /* in the pool, of which each shard has its part; 0: no bound */
    int64_t dead_max;                  /* dead jobs, of which each shard has its part; 0: no bound */
    int64_t dead_max_age_ms;           /* of a dead job; 0: no bound */
    int64_t idempotency_window_ms;     /* how long an idempotency key is kept */
    int64_t breaker_wait_ms;           /* of a breaker that opens; it doubles with each probe that fails */
    struct durability durability;      /* what a confirmed change must have reached */
    bool is_durability_set;            /* asked for by the operator, or only taken from what Redis gives */
    struct metrics *metrics;           /* borrowed */
};

struct store *store_new(struct loop *, const struct store_options *);

/* Takes new values of max_in_flight_topic, max_jobs, dead_max and dead_max_age_ms; from the next call on. */
void store_set_limits(struct store *, const struct store_options *);

/* Pending callbacks come now, with UNAVAILABLE or UNKNOWN. NULL is fine. */
void store_free(struct store *);

size_t store_shards(const struct store *);

/* ---- Is it there? ---- */

struct store_facts {
    bool is_known;
    char version[32];
    char role[16];
    char eviction[32];
    struct durability in_force; /* replicas: that are online; each answer is proven by WAIT */
    bool is_fsync_hidden;       /* CONFIG is forbidden: only what an answer proves counts */
};

/* What confirmed changes are to have reached, as a word: "auto" for what Redis gives. */
void store_durability_configured(const struct store *, char text[DURABILITY_TEXT_MAX]);

/* in_force as a word: "unknown" while Redis is away, and where it hides that. */
void store_facts_durability(const struct store_facts *, char text[DURABILITY_TEXT_MAX]);

/* Of several shards: known when those of each are; in_force is what all of them give. */
const struct store_facts *store_facts(const struct store *);

/* Whether confirmed changes can be promised now; if not, problem says why. */
bool store_is_ready(const struct store *, struct problem *);

/* The same for the shard of one topic, or of an id's: the others may be away. */
bool store_is_ready_for(const struct store *, struct slice id, struct problem *);

/* Redis can be used by no duepost like this one: it is too old, evicts keys or denies rights, or its data
 * have another format or layout. Waiting does not cure it. */
bool store_is_refused(const struct store *, struct problem *);

/* fn is called when any of these may have changed. One listener. */
void store_on_change(struct store *, loop_fn *, void *arg);

/* Whether this is the address of a Redis that the store has learned of since it was made (from Sentinels, or
 * from the Cluster): no job may lead there. */
bool store_is_redis(const struct store *, const struct address *, uint16_t port);

/* ---- For the owners of jobs ---- */

/* A job as it is. Slices are borrowed until the callback returns. */
struct store_job {
    enum job_state state;
    struct slice id;
    struct slice record;
    int64_t at_ms;         /* delayed, ready: due time; leased: end of the lease; else: when it ended so */
    int64_t losses;        /* consumers lost in a row with it */
    struct slice settings; /* of its topic, when it was read or listed; see topic_settings.h. Empty: none */
    int64_t now_ms;        /* when it was so */
    /* Of a job that has left the pool; else 0 and empty. */
    int64_t until_ms;        /* when it goes; 0: a dead one that no bound of time removes */
    struct slice last_lines; /* of its last attempt, if known: see attempt_line.h */
};

/* Names a job as it is: see job_tag.h. Not its lease's end, which moves all the time. Calls that take tags
 * change the job only if one of them is its; empty: however it is; "*": any job. store_replace also takes
 * them behind JOB_TAGS_EXCLUDED: it leaves a job of the pool alone if one of them is its, or with "*". STALE:
 * it is another one, or none. */
void store_job_tag(const struct store_job *, char tag[JOB_TAG_SIZE]);

/* OK: due_ms. EXISTS: job has the id. REPEATED: due_ms and job->id are those of the first answer.
 * FULL, REUSED, NO_URL, UNAVAILABLE, UNKNOWN: neither. */
typedef void store_scheduled_fn(void *arg, enum status, int64_t due_ms, const struct store_job *job);

struct store_when {
    bool is_absolute;
    int64_t ms; /* a time, or a delay from when Redis runs the script */
};

struct store_schedule {
    struct slice id;
    struct store_when when;
    struct slice record; /* see job_write */
    struct slice once;   /* the request's fingerprint, a space, topic/idempotency key; or empty */
};

/* Borrows the slices until the callback. */
void store_schedule(struct store *, const struct store_schedule *, store_scheduled_fn *, void *arg);

/* Where a new job was put, in the place of another one or not. */
struct store_replaced {
    bool was_there;
    int64_t due_ms, created_ms;
    int64_t now_ms;
};

/* OK, LEASED, STALE, FULL, NO_URL, UNAVAILABLE, UNKNOWN; the place is NULL unless OK. */
typedef void store_replaced_fn(void *arg, enum status, const struct store_replaced *);

struct store_replace {
    struct slice id;
    struct store_when when;
    struct slice record; /* see job_write */
    struct slice tags;
};

/* Schedules a job, in the place of one that has the id, unless that is leased. Borrows the slices until the
 * callback. */
void store_replace(struct store *, const struct store_replace *, store_replaced_fn *, void *arg);

/* OK: due_ms when the job was moved. STALE: its tag is another one now, or it is leased, or gone. FULL,
 * NO_URL, UNAVAILABLE, UNKNOWN. */
typedef void store_changed_fn(void *arg, enum status, int64_t due_ms, int64_t now_ms);

struct store_change {
    struct slice id;
    struct slice tag;    /* of the job that was read */
    struct slice record; /* the whole new one, as job_write writes it */
    bool is_moved;       /* else it stays where it is, also when that is among the dead */
    struct store_when when;
};

/* Writes another record for a job that is not leased. Borrows the slices until the callback. */
void store_change(struct store *, const struct store_change *, store_changed_fn *, void *arg);

/* OK, NOT_FOUND or STALE. From then on no attempt begins. */
typedef void store_cancelled_fn(void *arg, enum status, bool was_leased);
void store_cancel(struct store *, struct slice id, struct slice tags, store_cancelled_fn *, void *arg);

/* OK, NOT_FOUND, LEASED, STALE, EXPIRED: it is dead, and would be at once again. EXISTS: it is dead, and
 * another job has its id. UNREADABLE, LACKING: it is dead, and its record cannot be written anew. FULL,
 * UNAVAILABLE, UNKNOWN. due_ms with OK. A dead job starts over, without attempts. */
typedef void store_run_fn(void *arg, enum status, int64_t due_ms);
void store_run(struct store *, struct slice id, struct slice tags, struct store_when, store_run_fn *,
               void *arg);

/* OK or NOT_FOUND. A dead job is found where no job of the pool has its id. */
typedef void store_read_fn(void *arg, enum status, const struct store_job *job);
void store_read(struct store *, struct slice id, store_read_fn *, void *arg);

/* The same, but where there is no such job, any one that had the id and is kept. */
void store_read_kept(struct store *, struct slice id, store_read_fn *, void *arg);

/* OK or NOT_FOUND. lines: of the last attempts of a job, or of one that is kept, see attempt_line.h; borrowed
 * until the callback returns. */
typedef void store_attempts_fn(void *arg, enum status, struct slice lines);

/* Borrows the id until the callback. */
void store_attempts(struct store *, struct slice id, store_attempts_fn *, void *arg);

/* Where a walk goes on: in this shard, behind the job with this score and id. id empty: at the shard's start;
 * of the first shard and state, that is the start of the walk. What came after the walk
 * began is not in it: jobs created since, jobs that died or became ready since. So every walk ends. */
struct store_cursor {
    int64_t began_ms;     /* 0: it begins */
    enum job_state state; /* of the list's states, the one that is walked through */
    bool has_more;        /* of what a call returns: false at the end */
    bool
        is_partial; /* the same: there are more topics than a walk through the jobs of all of them looks at */
    size_t shard;
    double score;
    struct slice id;
};

struct store_list {
    unsigned states;        /* 1 << each state; see store_first_state */
    bool is_newest_first;   /* but for leased jobs, which are in the order of their ids */
    struct slice topic;     /* empty for all, shard by shard; not with delivered and cancelled */
    struct slice host;      /* of the url, in lower case, with or without its port; empty for all */
    struct slice id_prefix; /* of the jobId; empty for all */
    /* Words with commas between them; empty for all. Why a job is dead; the status of the last attempt, such
     * as 503, or the first digit of many, such as 5xx. */
    struct slice reasons, statuses;
    /* Bounds of the time that at_ms of a store_job is: not before, and before; 0: none. */
    int64_t after_ms, before_ms;
    size_t max; /* 1 to STORE_LIST_MAX */
    struct store_cursor from;
};

/* The state with which a walk through these begins: leased, ready, delayed, dead, delivered, cancelled. */
enum job_state store_first_state(unsigned states);

/* A page may be short while next is there: one call looks at a bounded number of entries and bytes, and a
 * page ends with its shard. */
typedef void store_list_fn(void *arg, enum status, const struct store_job *jobs, size_t count,
                           struct store_cursor next);
void store_list(struct store *, const struct store_list *, store_list_fn *, void *arg);

/* What a walk saw of a job, for a later call that changes the job only if it is still so: see store_job_tag.
 */
struct store_seen {
    struct slice id, tag;
};

/* The same, of ids and tags; now_ms: when they were so. */
typedef void store_seen_fn(void *arg, enum status, const struct store_seen *jobs, size_t count,
                           struct store_cursor next, int64_t now_ms);
void store_see(struct store *, const struct store_list *, store_seen_fn *, void *arg);

/* The same, of their number only; max does not count. */
typedef void store_count_fn(void *arg, enum status, int64_t count, struct store_cursor next);
void store_count(struct store *, const struct store_list *, store_count_fn *, void *arg);

/* ---- For operators ---- */

enum { STORE_TOPIC_FREE = -1, STORE_TOPIC_HELD = -2 };

/* A topic as it is. Slices are borrowed until the callback returns. */
struct store_topic {
    struct slice name;
    struct slice settings;                /* see topic_settings.h; empty: none */
    int64_t delayed, ready, leased, dead; /* jobs */
    /* Jobs that are due, and were given back until their receiver is tried again: neither delayed nor ready.
     */
    int64_t held;
    int64_t now_ms; /* when it was so */
    int64_t due_ms; /* of the first job that waits; -1: none does */
    /* Until when that job is held though it is due: FREE not at all, HELD until something else ends. */
    int64_t held_ms;
    /* What became of attempts within the last hour, to 5 minutes: delivered, to be retried, given up. */
    struct {
        int64_t delivered, retried, dead;
    } hour;
};

/* Where a walk goes on: in this shard, behind the topic with this name; as store_cursor. */
struct store_topic_cursor {
    size_t shard;
    struct slice name;
};

struct store_topics {
    struct slice topic; /* this one only, which is told even if there is nothing of it; else empty */
    size_t max;         /* 1 to STORE_LIST_MAX */
    struct store_topic_cursor from;
    /* The most urgent topics of shard from.shard, and no others: of a bounded look, those whose jobs are
     * overdue for longest, or due next. */
    bool is_urgent;
};

/* Shard by shard, by name within each. A page may be short while next is there: one call looks at a bounded
 * number of topics. */
typedef void store_topics_fn(void *arg, enum status, const struct store_topic *topics, size_t count,
                             struct store_topic_cursor next);
void store_topics(struct store *, const struct store_topics *, store_topics_fn *, void *arg);

/* Writes the settings of a topic, or of all topics ("*", in each shard); empty takes them away. STALE: they
 * are not old any more, nothing changed. Borrows the slices until the callback. */
typedef void store_set_topic_fn(void *arg, enum status);
void store_set_topic(struct store *, struct slice topic, struct slice old_settings, struct slice new_settings,
                     store_set_topic_fn *, void *arg);

/* ---- Receivers: the HTTP servers behind the urls of jobs ---- */

/* What is known of one. A receiver lives in the shard of its name; only those are known of which a failure
 * was reported, or that asked for fewer attempts, within the last hour. Slices are borrowed until the
 * callback returns. */
struct store_receiver {
    struct slice name;  /* see receiver.h */
    int64_t failures;   /* in a row */
    int64_t opened_ms;  /* its breaker; 0: it is closed, and the next three are 0, too */
    int64_t probe_ms;   /* until then nobody may probe it */
    int64_t wait_ms;    /* from one probe that failed to the next */
    int64_t probe;      /* number of the first one that is under way; 0: none */
    int64_t limit;      /* attempts that a reactor may have in flight there; 0: as many as it likes */
    int64_t failed_ms;  /* the last time; 0: never */
    struct slice cause; /* of that */
    int64_t reported_ms;
    int64_t now_us; /* when it was so */
};

/* Where a walk goes on: in this shard, behind the receiver with this version; as store_cursor. */
struct store_receiver_cursor {
    size_t shard;
    int64_t version;
};

struct store_receivers {
    struct slice name; /* this one only; else empty */
    size_t max;        /* 1 to STORE_LIST_MAX */
    struct store_receiver_cursor from;
};

/* Shard by shard, within each the one that was reported last at the end. A page may be short while next is
 * there. */
typedef void store_receivers_fn(void *arg, enum status, const struct store_receiver *, size_t count,
                                struct store_receiver_cursor next);
void store_receivers(struct store *, const struct store_receivers *, store_receivers_fn *, void *arg);

/* Those of a shard that were reported after version, a bounded number; version: that of the last of them;
 * last: that of the last one there is, when they were so. It is higher where there are more. */
typedef void store_news_fn(void *arg, enum status, const struct store_receiver *, size_t count,
                           int64_t version, int64_t last);
void store_news(struct store *, size_t shard, int64_t version, store_news_fn *, void *arg);

/* What attempts met at a receiver since the last report, and what is asked. */
struct store_report {
    struct slice name;
    struct slice cause; /* of the last failure, or of the probe that told nothing; else empty */
    bool is_reachable;  /* something came that is no failure, before the failures below */
    int64_t failures;   /* in a row */
    int64_t crowd;      /* attempts in flight there when it asked for fewer; 0: it did not */
    int64_t delivered;  /* 2xx */
    /* Number of the probe that this tells of; 0: none. Where this tells of nothing else, the right to probe
     * is given back: at once if there is no cause, as it was not sent, else with the wait that it had. */
    int64_t probe;
    bool wants_probe; /* asks for the right to probe */
};

struct store_reported {
    int64_t probe;                           /* number of the probe that is granted; 0: none */
    bool has_opened, has_closed, has_halved; /* by this report */
    int64_t version;                         /* of its shard's last report then, see store_news_fn */
    const struct store_receiver *receiver;   /* as it is then; NULL: nothing is known of it */
};

/* OK, UNAVAILABLE, UNKNOWN. Borrows the slices until the callback. */
typedef void store_report_fn(void *arg, enum status, const struct store_reported *);
void store_report(struct store *, const struct store_report *, store_report_fn *, void *arg);

/* Closes a breaker, and those of its paths, and forgets the limit. OK: the receiver as it is then. NOT_FOUND:
 * nothing is known of it. Borrows name until the callback. */
typedef void store_close_fn(void *arg, enum status, const struct store_receiver *);
void store_close_receiver(struct store *, struct slice name, store_close_fn *, void *arg);

/* ---- How many ---- */

struct store_counts {
    int64_t jobs, waiting, leased, dead;
    int64_t topics;     /* with waiting jobs */
    int64_t ready;      /* of the waiting, those that are due */
    int64_t held;       /* of the waiting: see store_topic. Some may be counted as ready, too */
    int64_t late_ms;    /* how long the first of them has been due; 0: none is */
    int64_t due_age_ms; /* since ready and late_ms were counted; -1: they have not been */
    int64_t histories;  /* jobs whose attempts are known */
    int64_t kept;       /* jobs that have ended and can still be read, the dead among them: not in jobs */
    /* Of one shard. */
    int64_t kept_with_time; /* of the kept, those with a time: all but the dead, when all is well */
    bool takes_survey;      /* too many topics may have due jobs for one call: see shard_survey */
};

/* Of all shards together; OK when each has answered. */
typedef void store_audit_fn(void *arg, enum status, const struct store_counts *);
void store_audit(struct store *, store_audit_fn *, void *arg);

#endif

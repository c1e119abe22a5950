/* recurring.h - schedules in Redis: their definitions, their next times, and the outcome of their last time.
 *
 * The rules of store.h about calls and callbacks apply here, too. An id is topic/scheduleId. A schedule is in
 * the shard of its topic. Definitions are records that recurring_write wrote (job/schedule/recurring.h). */
#ifndef DUEPOST_STORE_RECURRING_H
#define DUEPOST_STORE_RECURRING_H

#include "job/schedule/recurrence.h"
#include "job/schedule/recurring.h"
#include "store/shard.h"

struct store_recurring {
    size_t shard;
    struct slice id;
    struct slice record;
    int64_t
        next_ms; /* time of the next occurrence; while the schedule is held, time of the next try; -1: none */
    int64_t now_ms;        /* time of reading */
    struct slice tag;      /* tag of the record */
    struct slice progress; /* see recurrence.h; only shard_fires sets it */
    struct recurring_last last;
    /* With expectBy; shard_fires does not set them: */
    int64_t
        missed_ms; /* when the schedule is missed unless an occurrence is delivered; -1: it is not expected */
    int64_t delivered_ms; /* when an occurrence was last delivered; 0: never, or unknown */
};

struct store_recurrings {
    struct slice id;     /* id of the only schedule to list; empty: any */
    struct slice topic;  /* topic of the schedules to list; empty: any */
    struct slice prefix; /* prefix of the ids to list, or of the scheduleIds if topic is set; empty: any */
    size_t max;          /* 1 to STORE_LIST_MAX */
    struct recurring_cursor from;
    /* If not 0: lists only schedules whose next time is not later, by their next times; id, topic and prefix
     * must be empty. The results lack tag and last. A schedule that fires meanwhile may be missing or come
     * twice. */
    int64_t until_ms;
};

/* Called with a page of schedules. Pages go shard by shard, and by id within a shard. A page may have fewer
 * schedules than max although there are more. If the call names one schedule that does not exist, the
 * status is NOT_FOUND, and fn gets a schedule with only now_ms. */
typedef void store_recurrings_fn(void *arg, enum status, const struct store_recurring *, size_t count,
                                 struct recurring_cursor next);
void store_recurrings(struct store *, const struct store_recurrings *, store_recurrings_fn *, void *arg);

#define STORE_RECURRING_KEEP INT64_C(-2) /* the schedule keeps its next time */

struct store_define {
    struct slice id;
    struct slice tag; /* tag of the record that was read; empty: there was no record */
    struct slice record;
    int64_t next_ms; /* next time; -1: the schedule does not fire any more; or STORE_RECURRING_KEEP */
    int64_t expect_by_ms, jitter_ms; /* as in the record; expect_by_ms 0: the member is absent */
};

/* Writes a definition. The status is STALE if the definition has changed since it was read, and FULL if Redis
 * is out of memory. Borrows the slices until the callback. */
typedef void store_recurring_fn(void *arg, enum status);
void store_define(struct store *, const struct store_define *, store_recurring_fn *, void *arg);

/* Deletes a schedule. The status is NOT_FOUND if there is no such schedule, and STALE if it has another tag.
 * An empty tag matches every schedule. After OK the schedule creates no more jobs. */
void store_undefine(struct store *, struct slice id, struct slice tag, store_recurring_fn *, void *arg);

/* An occurrence (a time of the schedule, and the job for it), or a change of the schedule's next time
 * without a job. */
struct store_fire {
    struct slice id;
    struct slice tag;
    /* next_ms as it was read; -1: a client requests this occurrence, and the schedule does not change */
    int64_t expected_ms;
    int64_t next_ms; /* -1: the schedule does not fire any more */
    /* DONE: create a job; SKIPPED, NO_GROUP, UNSENDABLE or HELD: create no job; MOVED: only change the next
     * time. With MOVED, expected_ms is -1 if there was no next time. */
    enum fired kind;
    struct slice progress; /* new text (recurrence.h); empty: removes it; NULL data: keeps it */
    int64_t time_ms;       /* time of the occurrence */
    bool is_missed;
    bool is_exclusive;   /* no occurrence is created while the last one is in the pool */
    struct slice job;    /* id of the job */
    int64_t due_ms;      /* due time of the job; 0: at once */
    struct slice record; /* record of the job, as job_write writes it; not used with a group */
    struct slice once;   /* set for an occurrence that a client requests, as in store_schedule */
    /* If the job is sent to a group: the members of store_send. Either all jobs are created, or none. */
    struct slice group, mark;
    const struct store_send_job *jobs;
    size_t count;
};

/* Called with one of these statuses. OK: job and due_ms are the id and the due time of the job, if a job was
 * created; with a group, the first due time. REPEATED: the idempotency key was used for the same request; job
 * and due_ms are those of its answer. REUSED: the key was used for another request. STALE: another process
 * has fired this time, or the definition has changed. EXISTS: another job has the id. LEASED: the last
 * occurrence is still in the pool. Or FULL, NO_URL, UNAVAILABLE or UNKNOWN. */
typedef void store_fire_fn(void *arg, enum status, struct slice job, int64_t due_ms);

/* Creates an occurrence that a client requested. Borrows the slices until the callback. */
void store_fire(struct store *, const struct store_fire *, store_fire_fn *, void *arg);

/* ---- For the part of duepost that fires schedules ---- */

/* Creates an occurrence for the part of duepost that fires schedules. Uses the shard's connection for
 * claims and outcomes. */
void shard_fire(struct shard *, const struct store_fire *, store_fire_fn *, void *arg);

struct shard_fires {
    int64_t now_ms;
    int64_t due;      /* number of schedules whose time has come or must be computed again */
    int64_t later_ms; /* earliest time after now; -1: none */
    /* The first schedules whose time has come. After them, schedules whose next time must be computed again,
     * because the clock has stepped back; their next time is later than now_ms, or -1. */
    const struct store_recurring *schedules;
    size_t count;
};

enum { SHARD_FIRES_MAX = 256 };

/* Lists schedules whose time has come. max is at most SHARD_FIRES_MAX; with 0, returns only the numbers. */
typedef void shard_fires_fn(void *arg, enum status, const struct shard_fires *);
void shard_fires(struct shard *, size_t max, shard_fires_fn *, void *arg);

#endif

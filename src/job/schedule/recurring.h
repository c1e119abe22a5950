/* recurring.h - the definition of a schedule: parsed from a client's JSON, written into a record in Redis,
 * and read from the record again. The code calls a schedule "recurring", to distinguish it from a retry
 * schedule.
 *
 *     {"cron":"30 4 * * *","timezone":"Europe/Berlin","misfire":"skip","job":{"url":"https://...","body":{}}}
 *
 * The record has the members that the client sent, then createdAt and members that only later versions know,
 * then the job. The job has the form of a job's record without createdAt and head (recurring_job_record
 * adds the head). The member "needs" names the features that a process must
 * support to fire the schedule. */
#ifndef DUEPOST_JOB_SCHEDULE_RECURRING_H
#define DUEPOST_JOB_SCHEDULE_RECURRING_H

#include "job/group.h"
#include "job/job.h"
#include "job/schedule/recurrence.h"
#include "job/text/members.h"

enum {
    RECURRING_TIME_SIZE = 20,                                /* "20261122T221800.500Z" */
    RECURRING_ID_MAX = JOB_ID_MAX - 1 - RECURRING_TIME_SIZE, /* maximum size of a scheduleId in bytes */
    RECURRING_TAG_SIZE = 41,                                 /* includes the NUL */
    RECURRING_GROUP_ID_MAX =
        RECURRING_ID_MAX - 1 -
        GROUP_ENDPOINT_NAME_MAX, /* maximum size of a scheduleId if its job is sent to a group */
};
#define RECURRING_EVERY_MAX_MS     (INT64_C(315360000) * 1000) /* 10 years */
#define RECURRING_JITTER_MAX_MS    (INT64_C(86400) * 1000)
#define RECURRING_GRACE_MIN_MS     INT64_C(1000)
#define RECURRING_GRACE_MAX_MS     (INT64_C(315360000) * 1000)
#define RECURRING_EXPECT_BY_MIN_MS INT64_C(1000)
#define RECURRING_EXPECT_BY_MAX_MS RECURRING_GRACE_MAX_MS
#define RECURRING_GRACE_MS         (INT64_C(60) * 1000)

enum overlap {
    OVERLAP_ALLOW,
    OVERLAP_SKIP, /* no job is created while the schedule's last job is waiting, leased or retrying */
};

/* The slices point into the text that was parsed, and into the buffer text. */
struct recurring {
    bool has_cron, has_every, has_start_at, has_end_at, has_grace, is_paused;
    struct slice cron_text;
    struct cron cron;
    int64_t every_ms;
    struct slice timezone; /* empty: UTC */
    int64_t start_at_ms, end_at_ms;
    int64_t jitter_ms, grace_ms;
    int64_t expect_by_ms; /* an occurrence must be delivered so soon after it is due; 0: it need not */
    struct slice windows; /* as in the text, see windows.h, without zones; empty: none */
    struct slice misfire_word, overlap_word; /* empty: the default */
    struct slice job;                        /* job as JSON: from the client's text, or from the record */
    /* Only the server sets delay_ms and into, for schedules of sibling topics: */
    int64_t delay_ms;  /* delay from the time of an occurrence to the due time of its job */
    struct slice into; /* beginning of the ids of occurrences, to which the time is added: topic/jobId; empty:
                          the schedule's id */
    struct slice group; /* group that the job is sent to: duepost's own, or a sibling topic (delivery_form.h);
                           the record of the job has no group */
    int64_t created_ms; /* by Redis's clock; 0 after parsing; the caller sets it before recurring_write */
    struct slice lacks; /* the first need that this version does not know; empty: none */
    struct unknown_members unknown; /* members that this version does not know */
    struct buffer text;             /* owned */
};

/* The members of a definition: the rows of the table in recurring.c, in the order in which a record has them.
 */
enum recurring_member {
    RECURRING_CREATED_AT,
    RECURRING_CRON,
    RECURRING_EVERY,
    RECURRING_TIMEZONE,
    RECURRING_START_AT,
    RECURRING_END_AT,
    RECURRING_JITTER,
    RECURRING_GRACE,
    RECURRING_WINDOWS,
    RECURRING_MISFIRE,
    RECURRING_OVERLAP,
    RECURRING_EXPECT_BY,
    RECURRING_PAUSED,
    RECURRING_DELAY,
    RECURRING_INTO,
    RECURRING_GROUP,
    RECURRING_JOB,
};

/* The table of members. */
extern const struct members recurring_members;

/* Returns whether a client may choose this scheduleId. The rules are those of a jobId, but the maximum size
 * is RECURRING_ID_MAX.
 * */
bool recurring_id_is_valid(struct slice id);

/* Parses a client's definition for a schedule of this topic. If OK, recurring borrows text, and job is its
 * parsed job, which borrows text, too. The caller frees both. If INVALID, errors has all faults. If
 * NO_MEMORY, errors is empty. After a failure both have nothing to free. The caller must check whether the
 * time zone exists, and whether the job's url leads to an allowed address. */
enum status recurring_parse(struct slice topic, struct slice text, int64_t now_ms, struct recurring *,
                            struct job *job, struct job_errors *) MUST_USE;

/* Reads a record that recurring_write of this or another version wrote. INVALID means that duepost did not
 * write the record. If lacks is not empty, the schedule must not be fired or rewritten, and its other members
 * may be missing. */
enum status recurring_read(struct slice record, struct recurring *) MUST_USE;

/* Reads the job of a definition that recurring_read has read, in order to show or patch it. To fire the
 * schedule, this is not necessary. The job borrows recurring. */
enum status recurring_read_job(const struct recurring *, struct slice topic, struct job *) MUST_USE;

void recurring_fini(struct recurring *);

/* Writes the record. job comes from recurring_parse or recurring_read_job. */
void recurring_write(const struct recurring *, const struct job *job, struct buffer *);

struct group_jobs;
struct delivery_forms;

/* For an occurrence that is sent to a group: writes one job for each endpoint of the group, and the mark (see
 * group_jobs_mark). id is the topic/jobId of the occurrence. text is the text of the group in Redis, or the
 * settings of the group's topic; forms are those of the process. The status is that of group_jobs_write;
 * UNREADABLE can also mean that the job cannot be read. */
enum status recurring_send(const struct recurring *, struct slice id, struct slice text,
                           const struct delivery_forms *forms, struct group_jobs *, char mark[]) MUST_USE;

/* Returns the record of an occurrence, without the opening brace and createdAt, as job_write writes the
 * record of a new job. recurring is from recurring_read. The result is in text, or, if this version cannot
 * rewrite the job or there is no memory, in the definition; then the record has no head. It is empty if the
 * job is sealed and cannot be opened, or not be sealed anew: no job may then be made. */
struct slice recurring_job_record(const struct recurring *, struct slice id, struct buffer *text);

/* Applies a JSON merge patch (RFC 7396) to the definition in record. job is patched as by job_patch: headers
 * by name, body as a whole. text is a buffer for the new members. If OK, the results borrow record and text,
 * and keep created_ms. UNREADABLE, LACKING, INVALID, NO_MEMORY: as for job_patch. */
enum status recurring_patch(struct slice topic, struct slice record, struct slice patch, int64_t now_ms,
                            struct buffer *text, struct recurring *, struct job *job,
                            struct job_errors *) MUST_USE;

/* Writes the members as clients may see them, with defaults and masks, inside an object that the caller has
 * opened. */
void recurring_show(const struct recurring *, const struct job *job, struct json_writer *);

/* Writes the tag of a record, for If-Match and for scripts: the SHA-1 of the record in hex. */
void recurring_tag(struct slice record, char tag[RECURRING_TAG_SIZE]);

/* Parse a word of a definition. For any other text, return false and set the default. */
bool misfire_parse(struct slice text, enum misfire *);
bool overlap_parse(struct slice text, enum overlap *);
struct slice misfire_word(enum misfire);
struct slice overlap_word(enum overlap);
enum misfire recurring_misfire(const struct recurring *);
enum overlap recurring_overlap(const struct recurring *);

/* Fills the recurrence of a schedule. id is topic/scheduleId. Borrows zone. created_ms must be set. */
void recurring_recurrence(const struct recurring *, struct slice id, const struct time_zone *zone,
                          struct recurrence *);

/* Writes the id of an occurrence: <base>~20261122T221800Z, where base is topic/scheduleId, or another id in
 * the same shard (into). A time that is not a whole second has its milliseconds, too: 20261122T221800.500Z.
 */
void recurring_occurrence_id(struct slice base, int64_t time_ms, struct buffer *out);

/* Returns the text with which the ids of the schedule's occurrences begin. This text is id, the
 * topic/scheduleId, unless the schedule's definition gives another text. If that text names a topic of
 * another shard, returns an empty slice. */
struct slice recurring_base(const struct recurring *, struct slice id);

/* The outcome of a schedule's last time. */
enum fired {
    FIRED_NEVER,      /* no time of the schedule has come yet */
    FIRED_DONE,       /* the job was created */
    FIRED_SKIPPED,    /* the time was missed, and the schedule skips missed times */
    FIRED_OVERLAP,    /* the last occurrence's job had not ended, and the schedule forbids overlap */
    FIRED_CONFLICT,   /* another job had the id */
    FIRED_NO_URL,     /* neither the job nor the topic had a url */
    FIRED_FULL,       /* the pool is full; the schedule fires as soon as there is room */
    FIRED_QUOTA,      /* the quota of the topic is full; the schedule fires when there is room */
    FIRED_NO_GROUP,   /* the group of the definition does not exist */
    FIRED_UNSENDABLE, /* the job does not fit an endpoint of its group */
    FIRED_HELD,       /* the definition, its time zone or its group cannot be read; each process tries again
                               every few seconds */
    FIRED_MOVED, /* never an outcome; only in store_fire: the clock has stepped back, so the next time has
                    changed */
};

/* A schedule's last time. */
struct recurring_last {
    enum fired outcome;
    bool is_missed;   /* the time was overdue by more than the permitted grace when it was handled */
    int64_t time_ms;  /* time of the occurrence */
    int64_t at_ms;    /* time at which the outcome was written */
    struct slice job; /* id of the last job that the schedule created; empty: none, or unknown */
};

/* Returns whether the schedule is held or waits for room. */
static inline bool recurring_waits(const struct recurring_last *last)
{
    return last->outcome == FIRED_HELD || last->outcome == FIRED_QUOTA;
}

/* Returns the time of the schedule's first occurrence that is not over. next_ms is the schedule's time in the
 * store: while the schedule waits, this may be the time of the next try instead. */
static inline int64_t recurring_occurrence_ms(const struct recurring_last *last, int64_t next_ms)
{
    return recurring_waits(last) && last->time_ms ? last->time_ms : next_ms;
}

/* Where a list of schedules continues: in this shard, after the schedule with this id. All zeros mean the
 * beginning. */
struct recurring_cursor {
    size_t shard;
    struct slice id;
    size_t place; /* in a list by next time: the number of schedules before; id is then not used */
    char room[JOB_KEY_MAX + 32]; /* for the text of id, if the owner of the cursor keeps it here */
};

#endif

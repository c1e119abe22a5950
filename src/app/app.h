/* app.h - the use cases of duepost: the layer between HTTP dialects and the store.
 *
 * A use case takes structs and brings one callback with a verdict. It knows neither HTTP nor how a client
 * spells a request; a dialect does the translation. Use cases check the targets of jobs and the reach of the
 * caller, write the audit log, and count accepted and ended jobs.
 *
 * The callback comes exactly once, perhaps before the call returns; what it gets is borrowed until it
 * returns. Arguments, the caller included, are borrowed until the callback. Ids are topic/jobId;
 * times are ms since 1970 by the clock of Redis. */
#ifndef DUEPOST_APP_APP_H
#define DUEPOST_APP_APP_H

#include "base/status.h"
#include "job/job.h"
#include "job/job_state.h"
#include "job/job_tag.h"

struct http_limits;
struct metrics;
struct metrics_board;
struct store;
struct tally;
struct target_policy;

/* The surroundings of the use cases of one reactor, all borrowed. */
struct app {
    struct store *store;
    const struct target_policy *targets;
    const struct retry_schedule *schedule; /* of jobs and topics without one */
    bool is_breaker_on;                    /* of topics without the setting */
    int64_t max_jobs;                      /* for messages; the store counts */
    struct metrics *metrics;               /* this reactor's, of the board */
    struct metrics_board *board;           /* the rest is for the exposition only */
    struct http_limits *limits;
    struct tally *tally;
};

enum {
    APP_FROM_SIZE = 64,
    APP_PAGE_MAX = 1000, /* items in one page */
};

/* The client that asks. */
struct app_caller {
    const char *name;    /* of its token, for the audit log; "-" without tokens */
    struct slice topics; /* patterns of the topics that it reaches, see topic_patterns.h; empty: all */
    /* Writes the address that it connects from. peer is what the function needs for that. */
    void (*write_from)(const void *peer, char text[APP_FROM_SIZE]);
    const void *peer;
};

bool app_caller_reaches(const struct app_caller *, struct slice topic);

/* A job as it is. */
struct app_job {
    struct slice id;
    enum job_state state;
    int64_t at_ms; /* delayed, ready: due time; leased: end of the lease; else when it ended */
    struct slice record;
    struct slice settings;   /* of its topic; empty: none */
    int64_t until_ms;        /* when a job that ended is removed; 0: not by time */
    struct slice last_lines; /* of its last attempt, see attempt_line.h; empty: unknown */
};

/* Names this version of the job. */
void app_job_tag(const struct app_job *, char tag[JOB_TAG_SIZE]);

/* A receiver, or a path of one, that failed, or asked for fewer attempts, within the last hour. */
struct app_receiver {
    struct slice name;  /* see receiver.h */
    int64_t failures;   /* in a row */
    int64_t opened_ms;  /* when its breaker opened; 0: it is closed */
    int64_t probe_ms;   /* when it may be probed next */
    bool is_probing;    /* a probe is under way */
    int64_t limit;      /* attempts that a reactor may have in flight there; 0: no limit */
    int64_t failed_ms;  /* the last time; 0: never */
    struct slice cause; /* of that: a status or a word */
    int64_t reported_ms;
};

/* How a use case ends. Unless it is DONE, UNKNOWN, SAME or REPEATED, nothing has changed. */
enum app_end {
    APP_DONE,
    APP_SAME,        /* submit: the same job exists already; job is it */
    APP_REPEATED,    /* submit: this request was answered before; job has the id and the due time */
    APP_INVALID,     /* errors has what is wrong */
    APP_NOT_REACHED, /* the caller does not reach the topic */
    APP_SIBLING,     /* only the server writes to this topic; topic is its owner */
    APP_NOT_FOUND,
    APP_EXISTS,     /* another job has the id; job is that */
    APP_KEY_REUSED, /* the idempotency key belongs to another request */
    APP_LEASED,     /* an attempt is under way */
    APP_MISMATCH,   /* the tags do not match the job */
    APP_EXPIRED,    /* the dead job would expire again at once */
    APP_ID_TAKEN,   /* the job is dead, and another job has its id */
    APP_UNREADABLE, /* the record, or the settings, cannot be read */
    APP_LACKING,    /* the record, or the settings, need a later version; why may name the need */
    APP_CONTENDED,  /* others change it all the time */
    APP_FULL,       /* max_jobs, or the memory of Redis, is reached */
    APP_NO_MEMORY,
    APP_UNAVAILABLE, /* Redis cannot confirm changes now; why has the reason */
    APP_UNKNOWN,     /* Redis did not answer: done or not done */
};

/* Where a list goes on. */
struct app_page {
    struct slice cursor; /* a text of letters, digits and - _ . @; empty: this was the last page */
    bool is_partial;     /* there are more topics than a list of the jobs of all topics looks at */
    int64_t count;       /* of a count */
};

/* The jobs of one page of a bulk action. matched is the sum of the others; skipped jobs had changed
 * meanwhile. */
struct app_bulk_counts {
    size_t matched, done, skipped, unknown;
};

struct app_verdict {
    enum app_end end;
    const struct job_errors *errors; /* with INVALID */
    struct slice why;                /* for people */
    struct app_job job;              /* the job concerned; what is not known of it is empty */
    bool was_there;                  /* replace: another job was there before */
    bool was_leased;                 /* cancel: an attempt is under way and goes on */
    struct slice topic;              /* with NOT_REACHED and SIBLING */
    struct slice lines;              /* attempts: see attempt_line.h */
    struct slice settings;           /* change of a topic: its new settings */
    struct app_page page;            /* lists */
    struct app_bulk_counts counts;   /* bulk actions, also with UNKNOWN */
};

typedef void app_verdict_fn(void *arg, const struct app_verdict *);

#endif

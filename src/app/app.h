/* app.h - the use cases of duepost: the layer between HTTP dialects and the store.
 *
 * A use case takes structs and calls back once, with a verdict: its outcome and its results. Use cases do not
 * depend on HTTP; a dialect translates the client's request. Use cases check the targets of jobs and the
 * caller's right to topics, write the audit log, and count accepted and ended jobs.
 *
 * The callback is called exactly once, perhaps before the call returns. The arguments of a callback are valid
 * until the callback returns. A call borrows its arguments, the caller included, until the callback. Ids are
 * topic/jobId; times are ms since 1970 by the clock of Redis. */
#ifndef DUEPOST_APP_APP_H
#define DUEPOST_APP_APP_H

#include "base/status.h"
#include "job/job.h"
#include "job/text/job_errors.h"
#include "job/listing.h"
#include "job/topic/topic.h"

struct app_clock;
struct app_notes;
struct app_leases;
struct forecasting;
struct app_waits;
struct app_streams;
struct history;
struct http_limits;
struct lease_board;
struct live_board;
struct metrics;
struct metrics_board;
struct sent_job;
struct store;
struct job_counts;
struct target_policy;
struct time_zones;

/* The objects and options that the use cases of one reactor need, all borrowed. */
struct app {
    struct store *store;
    const struct target_policy *targets;
    const struct retry_schedule *schedule; /* default for jobs and topics without a retry schedule */
    const struct identity_keys *identity;  /* keys that sign tokens for receivers; NULL: none */
    bool is_breaker_on;       /* whether circuit breakers hold jobs of topics without the setting "breaker" */
    int64_t max_in_flight;    /* maximum number of attempts in flight in this process; shown in messages */
    int64_t max_jobs;         /* maximum number of jobs in Redis; shown in messages, enforced by the store */
    struct time_zones *zones; /* time zones for schedules */
    const struct delivery_forms
        *forms; /* forms of delivery (delivery_form.h); a schedule may send to a group of a form */
    struct history *history; /* history of ended jobs; NULL: there is no history */
    struct app_clock *clock; /* NULL: the clock is that of Redis, and no client can turn it */
    struct metrics *metrics; /* metrics of this reactor, which the member board has, too */
    /* This member and the following ones are used only by the exposition (GET /metrics). */
    struct metrics_board *board;
    struct http_limits *limits;
    struct job_counts *counts;
    struct app_leases *leases;
    struct app_waits *waits;
    struct app_streams *streams;
    bool is_redis_private; /* Redis is a child of this process */
    struct lease_board *lease_board;
    struct live_board *live;         /* figures of all processes */
    struct tracer *tracer;           /* NULL: no spans are recorded */
    struct forecasting *forecasting; /* the forecast that is being computed (forecast.c); NULL: none */
    struct token_rate
        *token_rates; /* APP_TOKEN_RATES; how often tokens of attempts are used, by their hash */
};

enum { APP_TOKEN_RATES = 1024 };

enum {
    APP_FROM_SIZE = 64,
    APP_PAGE_MAX = 1000,   /* maximum number of items in one page */
    APP_CURSOR_MAX = 2048, /* bytes of a cursor */
};

/* The client that makes a request. */
struct app_caller {
    const char *name; /* name of the client's token, for the audit log; "-" without tokens */
    struct slice
        topics; /* patterns of the topics that the client has a right to, see topic_patterns.h; empty: all */
    struct slice groups; /* patterns of the groups that the client has a right to; empty: all groups if topics
                            is empty, else none */
    /* Writes the address that the client connects from. peer is the argument of the function. */
    void (*write_from)(const void *peer, char text[APP_FROM_SIZE]);
    /* Returns whether the client has closed its side of the connection, or has lost the right to make this
     * request since it came. NULL: unknown. */
    bool (*has_left)(const void *peer);
    const void *peer;
    struct app_notes
        *notes; /* lines of the audit log of this request (audit.h); NULL: they are only logged */
};

/* Returns the time with which times of clients are compared: that of Redis, not of this host. */
int64_t app_now_ms(const struct app *);

/* Replaces a local due time of a job that was parsed (job.h) by the time that it means. Returns false and
 * adds an error if its zone is unknown. A job without a local due time does not change. */
bool app_resolve_due(const struct app *, struct job *, struct job_errors *);

/* Parses the job of a client (job_parse.h), and resolves its due time. id: the job's id from the path; empty:
 * the text has topic and jobId. */
enum status app_parse_job(const struct app *, struct slice id, struct slice text, struct job *,
                          struct job_errors *) MUST_USE;

bool app_caller_reaches(const struct app_caller *, struct slice topic);
bool app_caller_reaches_group(const struct app_caller *, struct slice group);

/* The cursor and the counts of a page of a list. */
struct app_page {
    struct slice cursor; /* cursor of the next page: letters, digits and - _ . @; empty: the list ends here */
    bool is_partial;    /* jobs may be missing: some topics, or some jobs of the history, were not examined */
    int64_t count;      /* result of a count */
    bool has_more;      /* removal: there are more jobs that match */
    bool is_of_history; /* the page, or the count, is from the history */
};

/* Numbers of jobs of one page of a bulk action. matched is the sum of the other numbers; in a dry run, they
 * are 0. A job is skipped if it has changed since the page was read. */
struct app_bulk_counts {
    size_t matched, done, skipped, unknown;
};

/* How a use case ends. With all ends except OK, SAME, REPEATED, UNKNOWN and UNDURABLE, neither this request
 * nor an earlier one like it has changed anything (the exception is a removal, see history.h). */
struct app_verdict {
    enum status end;
    const struct job_errors *errors; /* INVALID: the errors */
    struct slice why; /* the reason, as a sentence for people; set with UNAVAILABLE and HISTORY_UNAVAILABLE,
                         and perhaps with LACKING */
    struct stored_job job; /* the job of the call; SAME, EXISTS: the job that has the id; REPEATED: the job of
                              the first answer. Unknown members are empty */
    bool was_there;        /* replace: another job had the id, and was replaced */
    bool was_leased;       /* cancel, replace: an attempt of the old job is under way and continues */
    struct slice topic;    /* set with NOT_REACHED: the topic concerned; with SIBLING: its owner topic */
    struct slice group;    /* send: the group concerned; set with NOT_REACHED instead of topic */
    bool is_of_limit;      /* NOT_REACHED: a limit concerns topics that the caller has no right to */
    const struct slice *users; /* IN_USE: the first topics and patterns that name the limit */
    size_t user_count;
    const struct sent_job *sent; /* send: the jobs, one for each endpoint of the group, see group.h */
    size_t sent_count;
    struct topic_quota quota;      /* QUOTA: the quota */
    struct slice lines;            /* attempts: the lines of the attempts, see attempt_line.h */
    struct slice settings;         /* change of a topic or a limit: the new settings */
    struct app_page page;          /* lists: cursor and counts of the page */
    struct app_bulk_counts counts; /* bulk actions: numbers of jobs, also set with UNKNOWN */
    const struct outcome_counts
        *outcomes; /* statistics: one struct for each step; count of jobs of the history: one struct */
    size_t outcome_count;
};

typedef void app_verdict_fn(void *arg, const struct app_verdict *);

#endif

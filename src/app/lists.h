/* lists.h - use cases of many jobs: lists, counts, and bulk actions.
 *
 * A page may be short while it has a cursor. A list leaves out jobs that came after it began, so that it
 * ends. */
#ifndef DUEPOST_APP_LISTS_H
#define DUEPOST_APP_LISTS_H

#include "app/app.h"

enum { APP_CURSOR_ROOM = JOB_KEY_MAX + 128 };

/* Where a list of jobs goes on; see cursor.h. All zeros: at its beginning. */
struct app_cursor {
    bool is_set;
    int64_t began_ms; /* when the list began */
    enum job_state state;
    size_t shard;
    double score;
    struct slice id;
    int64_t due_ms;             /* of a redrive at a rate: when the next job is due; 0: now */
    char room[APP_CURSOR_ROOM]; /* id points into it */
};

/* Reads a cursor from a page of this API. False: it is not one. */
bool app_cursor_parse(const struct app *, struct slice text, struct app_cursor *);

struct app_list {
    unsigned states;        /* 1 << each state */
    bool is_newest_first;   /* leased jobs are in the order of their ids */
    struct slice topic;     /* empty for all; required for delivered and cancelled jobs */
    struct slice host;      /* of the url, in lower case, with or without its port; empty for all */
    struct slice id_prefix; /* of the jobId; empty for all */
    /* Words with commas between them; empty for all: the reason of a dead job; the status of the last
     * attempt, such as 503, or its first digit, such as 5xx. */
    struct slice reasons, statuses;
    /* Bounds of at_ms of an app_job: not before, and before; 0: none. */
    int64_t after_ms, before_ms;
    size_t max; /* 1 to APP_PAGE_MAX */
    struct app_cursor from;
};

typedef void app_job_fn(void *arg, const struct app_job *);

/* Calls each for each job of the page, and then fn. */
void app_list(struct app *, const struct app_list *, app_job_fn *each, app_verdict_fn *fn, void *arg);

/* Counts the jobs; max does not matter. */
void app_count(struct app *, const struct app_list *, app_verdict_fn *, void *arg);

struct app_bulk {
    struct app_list list;
    bool is_dry_run;     /* count, and change nothing */
    int64_t step_us;     /* of a redrive: from job to job; 0: none */
    struct slice filter; /* as the client spelt it, for the audit log */
};

/* Cancels, or runs again, the jobs of one page. It sees the page first, and then changes each job unless it
 * has changed meanwhile: that one is skipped. UNKNOWN with counts: some outcomes are unknown; repeating is
 * safe. */
void app_cancel_many(struct app *, const struct app_caller *, const struct app_bulk *, app_verdict_fn *,
                     void *arg);
void app_redrive(struct app *, const struct app_caller *, const struct app_bulk *, app_verdict_fn *,
                 void *arg);

#endif

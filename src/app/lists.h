/* lists.h - use cases for many jobs: lists and counts.
 *
 * A page may have fewer jobs than requested, and still have a cursor. A list leaves out jobs that were added
 * after it began. So every list ends. */
#ifndef DUEPOST_APP_LISTS_H
#define DUEPOST_APP_LISTS_H

#include "app/app.h"
#include "app/progress.h"

enum { APP_CURSOR_ROOM = JOB_KEY_MAX + 192 };

/* Position of a list of jobs, see cursor.h. All zeros mean the beginning. */
struct app_cursor {
    bool is_set;
    int64_t began_ms; /* when the list began */
    enum job_state state;
    size_t shard;
    double score;
    struct slice id;
    struct app_progress progress;
    char room[APP_CURSOR_ROOM]; /* id points into it */
    /* A list of the history continues after the job that ended at ended_ms and has this number. */
    bool is_of_history;
    int64_t ended_ms, number;
};

/* Reads a cursor from a page of this API. Returns false if the text is not a cursor. */
bool app_cursor_parse(const struct app *, struct slice text, struct app_cursor *);

struct app_list {
    unsigned states;      /* set of states, with the bit 1 << state for each */
    bool is_of_history;   /* true: the list has ended jobs from the history; false: it has jobs from Redis */
    bool is_newest_first; /* latest first; but leased jobs are always in the order of their ids */
    struct slice topic;   /* empty for all; required for delivered and cancelled jobs of Redis */
    struct slice owner;   /* if topic is empty and the list is not of the history: only jobs of this topic and
                             its sibling topics, such as orders~callbacks. The number of other topics does not
                             make such a list slower */
    struct slice host;    /* host of the url, in lower case, with or without its port; empty for all.
                             The history has only the host of a job's own url, not of its topic's url. */
    struct slice id_prefix; /* prefix of the jobId; empty for all */
    /* Words separated by commas; empty for all. reasons says why a job died. statuses is the HTTP status of
     * the last attempt, such as 503, or 5xx for all that begin with 5. */
    struct slice reasons, statuses;
    struct slice labels; /* only jobs that have all these labels, separated by newlines; empty: all jobs */
    /* Only jobs whose at_ms (see app_job) is after_ms or later, and earlier than before_ms; 0: no limit. */
    int64_t after_ms, before_ms;
    size_t max; /* 1 to APP_PAGE_MAX */
    struct app_cursor from;
};

typedef void app_job_fn(void *arg, const struct app_job *);

/* Calls each() for every job of the page, and fn after the last of them. */
void app_list(struct app *, const struct app_list *, app_job_fn *each, app_verdict_fn *fn, void *arg);

/* Counts the jobs. max is ignored. */
void app_count(struct app *, const struct app_list *, app_verdict_fn *, void *arg);

#endif

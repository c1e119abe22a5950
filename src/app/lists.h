/* lists.h - use cases for many jobs: lists and counts.
 *
 * A page may have fewer jobs than requested, and still have a cursor. A list leaves out jobs that were added
 * after it began. So every list ends. */
#ifndef DUEPOST_APP_LISTS_H
#define DUEPOST_APP_LISTS_H

#include "app/app.h"
#include "app/progress.h"
#include "job/listing.h"

enum { APP_CURSOR_ROOM = JOB_KEY_MAX + 192 };

/* Position of a list of jobs, see cursor.h. All zeros mean the beginning. */
struct app_cursor {
    bool is_set;
    struct list_cursor at; /* a list of the history: only began_ms is set */
    struct app_progress progress;
    char room[APP_CURSOR_ROOM]; /* at.id points into it */
    /* A list of the history continues after the job that ended at ended_ms and has this number. */
    bool is_of_history;
    int64_t ended_ms, number;
};

/* Reads a cursor from a page of this API. Returns false if the text is not a cursor. */
bool app_cursor_parse(const struct app *, struct slice text, struct app_cursor *);

struct app_list {
    struct job_filter filter;
    bool is_of_history;   /* true: the list has ended jobs from the history; false: it has jobs from Redis */
    bool is_newest_first; /* latest first; but leased jobs are always in the order of their ids */
    size_t max;           /* 1 to APP_PAGE_MAX */
    struct app_cursor from;
};

typedef void app_job_fn(void *arg, const struct stored_job *);

/* Calls each() for every job of the page, and fn after the last of them. */
void app_list(struct app *, const struct app_list *, app_job_fn *each, app_verdict_fn *fn, void *arg);

/* Counts the jobs. max is ignored. */
void app_count(struct app *, const struct app_list *, app_verdict_fn *, void *arg);

#endif

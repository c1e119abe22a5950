/* lists.h - use cases for many jobs: lists and counts.
 *
 * A page may have fewer jobs than requested, and still have a cursor. A list leaves out jobs that were added
 * after it began. So every list ends. */
#ifndef DUEPOST_APP_LISTS_H
#define DUEPOST_APP_LISTS_H

#include <stdbool.h>
#include <stdint.h>

#include "app/app.h"
#include "job/listing.h"

/* The progress of a bulk action. The cursor contains it, so that the next page continues from there.
 * All zeros for the first page, and for lists. */
struct app_progress {
    /* redrive at a rate: time at which the next job is due; reschedule: new due time of the jobs; 0: now */
    int64_t due_ms;
    /* reschedule: the latest due time that a job got. If too many jobs are due in one millisecond, some get a
     * due time later than due_ms */
    int64_t until_ms;
    uint64_t left;  /* number of jobs that later pages may match; 0: no limit */
    bool is_second; /* reschedule: the walk first lists the jobs on one side of due_ms (earlier or later),
                       then those on the other side; true: on the second side */
};

enum { APP_CURSOR_ROOM = JOB_KEY_MAX + 192 };

/* Position of a list of jobs, see app_private.h. All zeros mean the beginning. */
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

/* ---- the history ----
 *
 * Use cases for ended jobs in the history: statistics, and removal.
 *
 * lists.h has the lists and counts of these jobs. The use cases end with NO_HISTORY if the server keeps no
 * history, and with HISTORY_UNAVAILABLE if the database cannot be read. Jobs that ended within the last
 * seconds may still be on their way from Redis to the history. */

enum { APP_STATS_STEPS_MAX = 10000 };

/* Counts the jobs that ended in each step, at most APP_STATS_STEPS_MAX steps. The verdict has the outcomes.
 */
void app_stats(struct app *, const struct outcome_steps *, app_verdict_fn *, void *arg);

struct app_removal {
    unsigned states; /* set of the states dead, delivered and cancelled, with the bit 1 << state for each; 0:
                        all three */
    struct slice topic;  /* empty: all */
    int64_t before_ms;   /* only jobs that ended before this time; 0: no limit */
    struct slice filter; /* the filter as the client wrote it, for the audit log */
};

/* Removes jobs from the history, the oldest first. page.count of the verdict is the number of removed jobs.
 * If page.has_more is true, there are more jobs that match. HISTORY_UNAVAILABLE means that some jobs may have
 * been removed; the caller can repeat the call. */
void app_remove_history(struct app *, const struct app_caller *, const struct app_removal *, app_verdict_fn *,
                        void *arg);

/* ---- bulk.c ---- */

/* Use case for bulk actions: cancels, runs or reschedules the jobs that a filter finds. */

enum app_action {
    APP_CANCEL,
    APP_REDRIVE, /* runs dead jobs */
    APP_RUN,
    APP_RESCHEDULE,
};

struct app_bulk {
    struct app_list list; /* max limits one page. RUN and RESCHEDULE need exactly one state, which must not be
                             leased. For jobs of the history, see history_redrive.h */
    enum app_action action;
    uint64_t limit;  /* maximum number of jobs on all pages together; 0: no limit */
    bool is_dry_run; /* counts the jobs and changes none */
    int64_t step_us; /* redrive: time from one job's due time to the next job's; 0: none */
    /* RESCHEDULE: true: at_ms is a time; false: at_ms is a delay from the time of the first page */
    bool has_due_at;
    int64_t at_ms;       /* RESCHEDULE: the new due time, or the delay */
    struct slice filter; /* the filter as the client wrote it, for the audit log */
};

/* Acts on the jobs of one page. Reads the page first, then changes each job. Skips a job that has changed
 * since the page was read. The verdict UNKNOWN with counts means that the outcomes of some jobs are unknown.
 * The caller can safely repeat the call. Later pages leave out the jobs that earlier pages have run or
 * rescheduled. */
void app_bulk(struct app *, const struct app_caller *, const struct app_bulk *, app_verdict_fn *, void *arg);

/* ---- dead jobs of the history ---- */

/* Runs the dead jobs of one page of a list of the history again, as app_bulk does with dead jobs in Redis.
 * Skips a job if a later job had the same id, or if the history does not have the job's body. The caller can
 * safely repeat the call. */
void app_redrive_history(struct app *, const struct app_caller *, const struct app_bulk *, app_verdict_fn *,
                         void *arg);

#endif

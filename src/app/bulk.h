/* bulk.h - use case for bulk actions: cancels, runs or reschedules the jobs that a filter finds. */
#ifndef DUEPOST_APP_BULK_H
#define DUEPOST_APP_BULK_H

#include "app/lists.h"

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

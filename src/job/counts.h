/* counts.h - numbers of jobs: of ended jobs by outcome, of waiting jobs by due time. */
#ifndef DUEPOST_JOB_COUNTS_H
#define DUEPOST_JOB_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

/* Numbers of jobs that have ended. */
struct outcome_counts {
    int64_t dead, delivered, cancelled;
    bool is_partial; /* there were too many jobs, and only the latest ones were counted */
};

/* Steps of time for counts of the jobs that have ended. Step n, counted from 0, has the jobs that ended at or
 * after from_ms + n * step_ms and before the beginning of step n + 1. The last step ends at to_ms. */
struct outcome_steps {
    struct slice topic; /* empty: all */
    int64_t from_ms, to_ms, step_ms;
};

enum {
    COMING_MINUTE = 12, /* number of spans of 5 s */
    COMING_HOUR = 12,   /* number of spans of 5 min */
    COMING_DAY = 24,    /* number of spans of 1 h */
    COMING_WEEK = 7,    /* number of spans of 1 day */
};

/* Numbers of waiting jobs by due time. The minute, the hour, the day and the week all begin at at_ms, so each
 * includes the shorter ones. Held jobs count as overdue. */
struct coming {
    int64_t at_ms;
    int64_t overdue;
    int64_t minute[COMING_MINUTE], hour[COMING_HOUR], day[COMING_DAY], week[COMING_WEEK];
    int64_t later;   /* number of jobs that are due after more than a week */
    bool is_sampled; /* the numbers are extrapolated from a sample of the topics */
};

#endif

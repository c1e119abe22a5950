/* listing.h - lists and counts of jobs: which jobs they have, where they continue, and their numbers. */
#ifndef DUEPOST_JOB_LISTING_H
#define DUEPOST_JOB_LISTING_H

#include "base/slice.h"
#include "job/job.h"

/* A filter of jobs. A member that is empty or 0 matches all jobs. Borrows its slices. */
struct job_filter {
    unsigned states; /* set of states, with the bit 1 << state for each; not empty for jobs in Redis */
    /* Name of the topic. Required for delivered and cancelled jobs in Redis. */
    struct slice topic;
    /* Jobs in Redis, if topic is empty: only jobs of this topic and its sibling topics, such as
     * orders~callbacks. The number of other topics does not make such a list slower. */
    struct slice owner;
    /* Host of the url, in lower case, with or without its port. The history has only the host of a job's own
     * url, not of its topic's url. */
    struct slice host;
    struct slice id_prefix; /* beginning of the jobId */
    /* Words separated by commas. reasons says why a job died. statuses has statuses of the last attempt,
     * such as 503, or 5xx for all that begin with 5. */
    struct slice reasons, statuses;
    struct slice labels; /* a job must have all these labels, separated by newlines */
    bool has_key;        /* only jobs with this key; empty: only jobs without a key */
    struct slice key;
    /* Limits of a waiting job's due time, or of the time at which a job ended: at or after after_ms, and
     * before before_ms. */
    int64_t after_ms, before_ms;
};

/* Where a list of jobs in Redis continues: in this shard, after the job with this score and id. If id is
 * empty, the list continues at the start of the shard. A list leaves out jobs that were created, died or
 * became ready after it began. Therefore every list ends. */
struct list_cursor {
    int64_t began_ms;     /* time at which the list began; 0: it begins with this page */
    enum job_state state; /* the state of the jobs that the list has next */
    bool has_more;        /* in a result: false at the end */
    bool is_partial;      /* in a result: there are more topics with such jobs than a list examines */
    size_t shard;
    double score;
    struct slice id;
};

/* ---- counts ---- */

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
    FORECAST_MINUTE = 12, /* number of spans of 5 s */
    FORECAST_HOUR = 12,   /* number of spans of 5 min */
    FORECAST_DAY = 24,    /* number of spans of 1 h */
    FORECAST_WEEK = 7,    /* number of spans of 1 day */
};

/* Numbers of waiting jobs by due time. The minute, the hour, the day and the week all begin at at_ms, so each
 * includes the shorter ones. Held jobs count as overdue. */
struct forecast {
    int64_t at_ms;
    int64_t overdue;
    int64_t minute[FORECAST_MINUTE], hour[FORECAST_HOUR], day[FORECAST_DAY], week[FORECAST_WEEK];
    int64_t later;   /* number of jobs that are due after more than a week */
    bool is_sampled; /* the numbers are extrapolated from a sample of the topics */
};

#endif

/* history.h - use cases for ended jobs in the history: statistics, and removal.
 *
 * lists.h has the lists and counts of these jobs. The use cases end with NO_HISTORY if the server keeps no
 * history, and with HISTORY_UNAVAILABLE if the database cannot be read. Jobs that ended within the last
 * seconds may still be on their way from Redis to the history. */
#ifndef DUEPOST_APP_HISTORY_H
#define DUEPOST_APP_HISTORY_H

#include "app/lists.h"

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

#endif

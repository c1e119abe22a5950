/* progress.h - the progress of a bulk action (bulk.h). The cursor contains it, so that the next page
 * continues from there. */
#ifndef DUEPOST_APP_PROGRESS_H
#define DUEPOST_APP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* All zeros for the first page, and for lists. */
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

#endif

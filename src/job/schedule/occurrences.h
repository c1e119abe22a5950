/* occurrences.h - counts when the jobs of a schedule will be due, for the forecast. The functions are pure.
 */
#ifndef DUEPOST_JOB_SCHEDULE_OCCURRENCES_H
#define DUEPOST_JOB_SCHEDULE_OCCURRENCES_H

#include "job/forecast_plan.h"
#include "job/schedule/recurrence.h"

/* Numbers of jobs by cell, in the order of the cells. */
struct occurrences {
    size_t count;
    int64_t sum;
    struct forecast_cell cells[FORECAST_CELLS_MAX];
};

struct occurrences_call {
    const struct recurrence *recurrence;
    int64_t after_ms; /* only times later than this */
    int64_t delay_ms; /* from the time to the due time, without the jitter */
    /* With overlap=skip: times that are less than this after the due time of the job before create no job.
     * -1: each time creates one. */
    int64_t apart_ms;
    /* How many times may be computed one by one. Others are counted by cell, without their jitter, and as if
     * each created a job; so are those of a schedule with more than 20,000. Lowered by the computed times. */
    int64_t *times_left;
};

/* Adds jobs to a cell. Cells must come in ascending order. */
void occurrences_add(struct occurrences *, size_t cell, int64_t jobs);

/* Counts the jobs that are due within the cells. */
void occurrences_find(const struct forecast_grid *, const struct occurrences_call *, struct occurrences *);

#endif

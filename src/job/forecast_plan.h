/* forecast_plan.h - the forecast of all topics: gathers the jobs of each topic by due time, and its bounds,
 * and then computes what becomes of them (forecast.h). No clock, no I/O.
 *
 *   1. forecast_plan_new
 *   2. forecast_plan_set_limit, forecast_plan_set_topic, forecast_plan_add, in any order; a limit before its
 * topics
 *   3. forecast_plan_run, until it returns true
 *   4. forecast_plan_result
 *
 * Memory is bounded: at most FORECAST_TOPICS_MAX topics, and FORECAST_DENSE_MAX of these with jobs in many
 * cells. The jobs of further ones count as if they began when they are due; the result is then partial. */
#ifndef DUEPOST_JOB_FORECAST_PLAN_H
#define DUEPOST_JOB_FORECAST_PLAN_H

#include "base/slice.h"
#include "job/forecast.h"

enum {
    FORECAST_TOPICS_MAX = 100000,
    FORECAST_DENSE_MAX = 8192,
    FORECAST_LIMITS_MAX = 1000,
    FORECAST_LINES_MAX = 10, /* maximum number of lines in each list of the result */
};

/* The steps of the result: step i begins at from_ms + i * step_ms. A step is a whole number of cells. */
struct forecast_steps {
    int64_t from_ms, step_ms;
    size_t count;
};

struct forecast_plan;

/* free: bounds of topics without settings. */
struct forecast_plan *forecast_plan_new(const struct forecast_grid *, const struct forecast_steps *,
                                        const struct forecast_bounds *free);
void forecast_plan_free(struct forecast_plan *); /* NULL is ignored */

/* Sets the bounds of a limit that topics share. Beyond FORECAST_LIMITS_MAX, limits are ignored. */
void forecast_plan_set_limit(struct forecast_plan *, struct slice name, const struct forecast_bounds *);

/* Sets the bounds of all attempts of all topics. */
void forecast_plan_set_all(struct forecast_plan *, const struct forecast_bounds *);

/* Sets the bounds of a topic. The member windows of the bounds is not used: windows is their JSON text, or
 * empty. limit: the name of its limit, or empty. */
void forecast_plan_set_topic(struct forecast_plan *, struct slice topic, const struct forecast_bounds *,
                             struct slice windows, struct slice limit);

/* Sets the mean duration of attempts of a topic, if the plan has it. */
void forecast_plan_set_duration(struct forecast_plan *, struct slice topic, double duration_ms);

/* Returns whether the topic is paused. */
bool forecast_plan_is_paused(const struct forecast_plan *, struct slice topic);

/* A number of jobs in a cell. */
struct forecast_cell {
    uint32_t cell, jobs;
};

/* Adds jobs of a topic, each number "times" times. A cell beyond the last one is ignored. */
void forecast_plan_add(struct forecast_plan *, struct slice topic, const struct forecast_cell *, size_t count,
                       int64_t times);

/* Adds jobs of a topic that are overdue. since_ms: when the first of them was due; 0: added by an earlier
 * call. */
void forecast_plan_add_overdue(struct forecast_plan *, struct slice topic, int64_t jobs, int64_t since_ms);

/* Says that jobs are missing in the plan. */
void forecast_plan_note_partial(struct forecast_plan *);

/* Computes a part of the result, for about a ms. Returns whether it is complete. */
bool forecast_plan_run(struct forecast_plan *);

/* A topic, or a limit (is_limit), or all attempts of all processes (name is empty). */
struct forecast_line {
    struct slice name;
    bool is_limit;
    struct slice limit; /* the limit of a topic; empty: none */
    struct forecast_summary summary;
    int64_t due;              /* jobs that are due within the steps */
    int64_t *due_by_step;     /* jobs that are due in each step, without those that were overdue at first */
    int64_t *begun, *backlog; /* for each step: attempts that begin; backlog at its end */
};

struct forecast_result {
    /* For each step: jobs that are due in it; attempts that begin; due jobs that have not begun at its end;
     * how long the oldest of them has been due then, ms; jobs of paused topics and limits, which do not count
     * as backlog. */
    int64_t *due, *begun, *backlog, *late_ms, *paused;
    int64_t overdue;               /* jobs that were due before now, without those of paused topics */
    int64_t peak_backlog, peak_ms; /* most jobs of the backlog within the steps, and when; 0: no job waits */
    int64_t peak_late_ms;
    int64_t left;       /* backlog at the end of the last step */
    int64_t drained_ms; /* when the last backlog ends; 0: some is left, or none ever was */
    bool is_partial;
    size_t topics;                                   /* number of topics with jobs */
    struct forecast_line narrow[FORECAST_LINES_MAX]; /* lines with the largest backlog, without paused ones */
    size_t narrow_count;
    struct forecast_line most[FORECAST_LINES_MAX]; /* topics with the most due jobs */
    size_t most_count;
};

/* Valid as long as the plan. */
const struct forecast_result *forecast_plan_result(const struct forecast_plan *);

#endif

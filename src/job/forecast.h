/* forecast.h - the model of GET /forecast: from jobs by due time, and the limits under which they are
 * attempted, to the attempts that begin, the backlog and the lateness. The functions are pure: no clock, no
 * I/O.
 *
 * Time is divided into cells. All counts are numbers of jobs in a cell, and a job is taken to be due at the
 * beginning of its cell, so the model is exact to a cell. It is exact in a cell, too, if jobs are due, and
 * windows open and close, only at the beginnings of cells.
 *
 * Each attempt is taken to succeed after the same duration. First the bounds of a topic apply, then those of
 * the limit that it shares with others (which sees jobs that its topics let pass), then those of all
 * processes. In each of these queues, jobs go in the order of their due times. */
#ifndef DUEPOST_JOB_FORECAST_H
#define DUEPOST_JOB_FORECAST_H

#include <stddef.h>
#include <stdint.h>

#include "job/schedule/windows.h"

enum { FORECAST_CELLS_MAX = 2048 };

/* The cells: cell i begins at origin_ms + i * cell_ms. now_ms is in the first one. */
struct forecast_grid {
    int64_t now_ms, origin_ms, cell_ms;
    size_t cells; /* 1 to FORECAST_CELLS_MAX */
};

/* Returns the cell of a time. A time before the first cell is in the first one; a time after the last cell
 * has the number "cells". */
size_t forecast_cell_of(const struct forecast_grid *, int64_t time_ms);

/* Reasons why a job does not begin when it is due. */
enum forecast_cause {
    FORECAST_NONE,
    FORECAST_PAUSED,
    FORECAST_WINDOWS,
    FORECAST_ORDER,     /* one job at a time, or the first job of a fifo topic waits for a retry */
    FORECAST_IN_FLIGHT, /* the maximum number of concurrent attempts */
    FORECAST_RATE,
    FORECAST_CAUSES,
};

/* The bounds of a topic, of a limit, or of all processes. Zeros: no bound. */
struct forecast_bounds {
    bool is_paused, is_fifo;
    int64_t max_in_flight;
    double duration_ms; /* mean duration of an attempt; 0: max_in_flight does not count */
    int64_t rate_jobs, rate_per_ms, rate_burst;
    bool is_rate_window; /* rate_jobs attempts begin in each window of rate_per_ms, which an attempt begins */
    int64_t
        rate_spent_us; /* the time up to which the tokens of the rate are spent; 0: a full burst is left */
    int64_t rate_began_ms;         /* rate with windows: when the current window began; 0: none */
    int64_t rate_begun;            /* rate with windows: number of attempts in the current window */
    int64_t closed_until_ms;       /* no job begins earlier */
    const struct windows *windows; /* NULL or count 0: always open */
    windows_zone_fn *find_zone;    /* zones of the windows */
    void *zone_arg;
};

/* The jobs of a queue, by the cell in which they are due. */
struct forecast_demand {
    int64_t overdue;          /* jobs that were due before now */
    int64_t overdue_since_ms; /* when the first of them was due */
    const uint32_t *due;      /* for each cell */
};

/* The course of these jobs. Each array has a number for each cell; NULL: not wanted. */
struct forecast_course {
    uint32_t *begun;   /* attempts that begin in the cell */
    uint32_t *backlog; /* jobs that are due at the end of the cell and have not begun */
    int64_t *late_ms;  /* how long the oldest of them has been due at the end of the cell; 0: no job waits */
};

struct forecast_summary {
    int64_t peak_backlog;
    size_t peak_cell; /* the first cell with this backlog */
    int64_t peak_late_ms;
    int64_t left; /* backlog at the end of the last cell */
    size_t
        drained_cell; /* the cell in which the last backlog ends; "cells" if some is left, or none ever was */
    enum forecast_cause cause; /* what held jobs in most of the cells with a backlog */
};

/* Computes the course of one queue. The time that this takes grows with the number of cells. */
void forecast_queue(const struct forecast_grid *, const struct forecast_bounds *,
                    const struct forecast_demand *, const struct forecast_course *,
                    struct forecast_summary *);

/* Returns whether no job of a queue can ever wait, so that forecast_queue need not be called: each begins in
 * the cell in which it is due. peak: the most jobs of one cell. */
bool forecast_is_free(const struct forecast_grid *, const struct forecast_bounds *, int64_t peak);

#endif

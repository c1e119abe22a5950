#include "job/forecast.h"

#include <math.h>
#include <string.h>

enum {
    /* A rate with shorter windows than this is computed as if its attempts were spread evenly. */
    SHORT_WINDOW_MS = 1000,
    CREDIT_MS = 100, /* as in lib/rates.lua */
};

size_t forecast_cell_of(const struct forecast_grid *grid, int64_t time_ms)
{
    if (time_ms < grid->origin_ms)
        return 0;
    int64_t cell = (time_ms - grid->origin_ms) / grid->cell_ms;
    return cell < (int64_t)grid->cells ? (size_t)cell : grid->cells;
}

/* ---- one bound ----
 *
 * A pace lets one attempt begin each step_ms, and a number of attempts ahead of that, as lib/rates.lua does
 * for a rate. It also stands for a maximum number of concurrent attempts: each of max places is free again
 * after the duration of an attempt. */

struct forecast_pace {
    double step_ms;  /* 0: no bound */
    double ahead_ms; /* by how much attempts may begin ahead of their steps */
    double spent_ms; /* time up to which attempts have been spent */
};

/* Returns how many attempts may begin before until_ms, if the first one may begin at from_ms. */
static double pace_allows(struct forecast_pace *pace, int64_t from_ms, int64_t until_ms)
{
    if (pace->step_ms <= 0)
        return INFINITY;
    /* A pace that has waited has no more than its burst left. In a backlog, less than a ms is left of the
     * cell before. */
    if (pace->spent_ms < (double)from_ms - 1)
        pace->spent_ms = (double)from_ms;
    double most = floor((pace->ahead_ms + (double)(until_ms - 1) - pace->spent_ms) / pace->step_ms + 1e-6);
    return most > 0 ? most : 0;
}

struct window_of_rate {
    int64_t began_ms; /* -1: none */
    int64_t number;
};

/* Returns how many attempts begin within windows of the rate from from_ms to until_ms, if "wanted" jobs wait.
 */
static double spend_windows(const struct forecast_bounds *bounds, struct window_of_rate *window,
                            int64_t from_ms, int64_t until_ms, double wanted)
{
    double begun = 0;
    for (int64_t at_ms = from_ms; wanted > begun && at_ms < until_ms;
         at_ms = window->began_ms + bounds->rate_per_ms) {
        if (window->began_ms < 0 || at_ms >= window->began_ms + bounds->rate_per_ms)
            *window = (struct window_of_rate){.began_ms = at_ms};
        double room = (double)(bounds->rate_jobs - window->number);
        double taken = wanted - begun < room ? wanted - begun : room > 0 ? room : 0;
        window->number += (int64_t)taken;
        begun += taken;
    }
    return begun;
}

/* ---- when a queue is open ---- */

struct opening {
    const struct forecast_bounds *bounds;
    struct window_span spans[WINDOW_SPANS_MAX];
    size_t count, next;
    int64_t known_until_ms; /* the spans are complete up to here */
};

static void opening_look(struct opening *opening, int64_t now_ms)
{
    const struct forecast_bounds *bounds = opening->bounds;
    opening->count =
        windows_spans(bounds->windows, now_ms, bounds->find_zone, bounds->zone_arg, opening->spans);
    opening->next = 0;
    /* The last span may continue, so it is computed again before it ends. */
    opening->known_until_ms =
        opening->count == 0 ? INT64_MAX : opening->spans[opening->count - 1].opens_ms + 1;
    if (opening->count == 1 && opening->known_until_ms <= now_ms)
        opening->known_until_ms = opening->spans[0].closes_ms - 86400000;
    if (opening->known_until_ms <= now_ms)
        opening->known_until_ms = now_ms + 1;
}

/* Finds the first part of a cell in which the queue is open. Returns false if it is never open. */
static bool find_open(struct opening *opening, int64_t *from_ms, int64_t *until_ms)
{
    const struct forecast_bounds *bounds = opening->bounds;
    if (bounds->is_paused)
        return false;
    if (bounds->closed_until_ms > *from_ms)
        *from_ms = bounds->closed_until_ms;
    if (*from_ms >= *until_ms)
        return false;
    if (!bounds->windows || bounds->windows->count == 0)
        return true;
    if (opening->known_until_ms <= *until_ms)
        opening_look(opening, *from_ms);
    while (opening->next < opening->count && opening->spans[opening->next].closes_ms <= *from_ms)
        opening->next++;
    if (opening->next == opening->count || opening->spans[opening->next].opens_ms >= *until_ms)
        return false;
    const struct window_span *span = &opening->spans[opening->next];
    if (span->opens_ms > *from_ms)
        *from_ms = span->opens_ms;
    if (span->closes_ms < *until_ms)
        *until_ms = span->closes_ms;
    return true;
}

/* ---- a queue ---- */

struct queue {
    const struct forecast_grid *grid;
    const struct forecast_bounds *bounds;
    const struct forecast_demand *demand;
    struct opening opening;
    struct forecast_pace rate, places;
    struct window_of_rate window;
    int64_t waiting; /* due jobs that have not begun */
    /* The oldest of them: its cell, or -1 for jobs that were overdue, and how many of its cell are left. */
    int64_t head, head_left;
};

static struct forecast_pace rate_of(const struct forecast_bounds *bounds)
{
    bool is_short = bounds->is_rate_window && bounds->rate_per_ms < SHORT_WINDOW_MS;
    if (bounds->rate_jobs == 0 || (bounds->is_rate_window && !is_short))
        return (struct forecast_pace){.step_ms = 0};
    double step_ms = (double)bounds->rate_per_ms / (double)bounds->rate_jobs;
    double burst = (double)(is_short ? bounds->rate_jobs : bounds->rate_burst > 0 ? bounds->rate_burst : 1);
    return (struct forecast_pace){step_ms, burst * step_ms, (double)bounds->rate_spent_us / 1000};
}

static struct forecast_pace places_of(const struct forecast_bounds *bounds)
{
    int64_t places = bounds->is_fifo ? 1 : bounds->max_in_flight;
    if (places == 0 || bounds->duration_ms <= 0)
        return (struct forecast_pace){.step_ms = 0};
    return (struct forecast_pace){bounds->duration_ms / (double)places, bounds->duration_ms, 0};
}

static bool has_windows_of_rate(const struct forecast_bounds *bounds)
{
    return bounds->rate_jobs > 0 && bounds->is_rate_window && bounds->rate_per_ms >= SHORT_WINDOW_MS;
}

static int64_t head_due_ms(const struct queue *queue)
{
    return queue->head < 0 ? queue->demand->overdue_since_ms
                           : queue->grid->origin_ms + queue->head * queue->grid->cell_ms;
}

static int64_t clamp(int64_t number, int64_t low, int64_t high)
{
    return number < low ? low : number > high ? high : number;
}

/* Returns how many of the waiting jobs begin from from_ms to until_ms, and what holds the others. */
static int64_t begin_between(struct queue *queue, int64_t from_ms, int64_t until_ms,
                             enum forecast_cause *cause)
{
    const struct forecast_bounds *bounds = queue->bounds;
    double wanted = (double)queue->waiting;
    /* While jobs wait, a rate gives them a credit; of the places, less than a ms is left of the cell before.
     */
    int64_t since_ms = head_due_ms(queue);
    double by_places = pace_allows(&queue->places, clamp(since_ms, from_ms - 1, from_ms), until_ms);
    double by_rate = pace_allows(&queue->rate, clamp(since_ms, from_ms - CREDIT_MS, from_ms), until_ms);
    double begun = fmin(wanted, fmin(by_places, by_rate));
    *cause = by_places < by_rate ? (bounds->is_fifo ? FORECAST_ORDER : FORECAST_IN_FLIGHT) : FORECAST_RATE;
    if (has_windows_of_rate(bounds)) {
        double within = spend_windows(bounds, &queue->window, from_ms, until_ms, begun);
        if (within < begun)
            *cause = FORECAST_RATE;
        begun = within;
    }
    queue->rate.spent_ms += begun * queue->rate.step_ms;
    queue->places.spent_ms += begun * queue->places.step_ms;
    return (int64_t)begun;
}

/* Takes jobs that begin from the front of the queue. */
static void take_front(struct queue *queue, int64_t number)
{
    queue->waiting -= number;
    while (number > 0 || (queue->waiting > 0 && queue->head_left == 0)) {
        int64_t taken = number < queue->head_left ? number : queue->head_left;
        number -= taken;
        queue->head_left -= taken;
        if (queue->head_left > 0 || queue->waiting == 0)
            return;
        queue->head++;
        queue->head_left = queue->demand->due[queue->head];
    }
}

static enum forecast_cause main_cause(const size_t counts[FORECAST_CAUSES])
{
    enum forecast_cause cause = FORECAST_NONE;
    for (int i = FORECAST_NONE + 1; i < FORECAST_CAUSES; i++)
        if (counts[i] > counts[cause])
            cause = (enum forecast_cause)i;
    return cause;
}

/* Adds the jobs that are due in a cell to those that wait. */
static void add_due(struct queue *queue, size_t cell)
{
    int64_t due = queue->demand->due[cell];
    if (queue->waiting == 0) {
        queue->head = (int64_t)cell;
        queue->head_left = due;
    }
    queue->waiting += due;
}

void forecast_queue(const struct forecast_grid *grid, const struct forecast_bounds *bounds,
                    const struct forecast_demand *demand, const struct forecast_course *course,
                    struct forecast_summary *summary)
{
    size_t causes[FORECAST_CAUSES] = {0};
    struct queue queue = {
        .grid = grid,
        .bounds = bounds,
        .demand = demand,
        .opening = {.bounds = bounds},
        .rate = rate_of(bounds),
        .places = places_of(bounds),
        .window = {bounds->rate_began_ms > 0 ? bounds->rate_began_ms : -1, bounds->rate_begun},
        .waiting = demand->overdue,
        .head = -1,
        .head_left = demand->overdue,
    };
    *summary = (struct forecast_summary){.drained_cell = grid->cells};
    for (size_t i = 0; i < grid->cells; i++) {
        int64_t begin_ms = grid->origin_ms + (int64_t)i * grid->cell_ms, end_ms = begin_ms + grid->cell_ms;
        int64_t from_ms = begin_ms > grid->now_ms ? begin_ms : grid->now_ms, until_ms = end_ms, begun = 0;
        enum forecast_cause cause = bounds->is_paused ? FORECAST_PAUSED : FORECAST_WINDOWS;
        bool had_backlog = i > 0 && queue.waiting > 0;
        add_due(&queue, i);
        if (queue.waiting > 0 && find_open(&queue.opening, &from_ms, &until_ms))
            begun = begin_between(&queue, from_ms, until_ms, &cause);
        else if (queue.waiting > 0 && bounds->closed_until_ms >= end_ms && !bounds->is_paused)
            cause = FORECAST_ORDER;
        take_front(&queue, begun);
        int64_t late_ms = queue.waiting > 0 ? end_ms - head_due_ms(&queue) : 0;
        if (course->begun)
            course->begun[i] = (uint32_t)begun;
        if (course->backlog)
            course->backlog[i] = (uint32_t)(queue.waiting < UINT32_MAX ? queue.waiting : UINT32_MAX);
        if (course->late_ms)
            course->late_ms[i] = late_ms;
        if (queue.waiting > 0)
            causes[cause]++;
        else if (had_backlog)
            summary->drained_cell = i;
        if (queue.waiting > summary->peak_backlog) {
            summary->peak_backlog = queue.waiting;
            summary->peak_cell = i;
        }
        if (late_ms > summary->peak_late_ms)
            summary->peak_late_ms = late_ms;
    }
    summary->left = queue.waiting;
    if (queue.waiting > 0)
        summary->drained_cell = grid->cells;
    summary->cause = main_cause(causes);
}

bool forecast_is_free(const struct forecast_grid *grid, const struct forecast_bounds *bounds, int64_t peak)
{
    struct forecast_pace places = places_of(bounds);
    if (bounds->is_paused || bounds->rate_jobs > 0 || bounds->closed_until_ms > grid->now_ms ||
        (bounds->windows && bounds->windows->count > 0))
        return false;
    /* After a cell with fewer jobs than this, all places are free again. */
    return places.step_ms <= 0 || (double)peak * places.step_ms <= (double)grid->cell_ms - 1;
}

#include "job/forecast_plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

enum {
    BUCKETS = 1 << 15,
    SPARSE_MAX = 64,     /* a topic with jobs in more cells gets an array of all cells */
    RUN_CELLS = 1 << 17, /* cells that a call of forecast_plan_run examines, which takes about a ms */
};

/* A limit, or the bounds of all processes. */
struct plan_limit {
    struct forecast_bounds bounds;
    uint32_t *due; /* attempts that the bounds of its topics let begin, for each cell; NULL: none yet */
    struct forecast_summary summary;
    size_t name_size;
    char name[];
};

struct plan_topic {
    struct plan_topic *next; /* in the same bucket */
    struct forecast_bounds bounds;
    struct windows *windows; /* owned; NULL: none */
    char *windows_text;      /* owned; windows points into it */
    struct plan_limit *limit;
    int64_t overdue, overdue_since_ms;
    struct forecast_cell *sparse; /* owned; in any order, and a cell may occur twice; used if dense is NULL */
    size_t sparse_count;
    uint32_t *dense; /* owned; jobs of each cell */
    int64_t due;     /* jobs that are due within the steps */
    struct forecast_summary summary;
    size_t name_size;
    char name[];
};

struct forecast_plan {
    struct forecast_grid grid;
    struct forecast_steps steps;
    uint16_t step_of[FORECAST_CELLS_MAX]; /* the step of each cell; steps.count: the cell is in none */
    struct forecast_bounds free;
    struct plan_topic *buckets[BUCKETS];
    struct plan_topic **topics; /* owned, also each of them */
    size_t topic_count, dense_count;
    struct plan_limit *limits[FORECAST_LIMITS_MAX]; /* owned */
    size_t limit_count;
    struct plan_limit *all; /* owned; bounds of all attempts */
    uint32_t *folded;       /* jobs of topics without a place, for each cell */
    /* The queue that is being computed: a number for each cell. */
    size_t next_topic;
    uint32_t *due, *begun, *backlog;
    int64_t *late_ms;
    int64_t *all_backlog, *all_late_ms, *all_paused, *all_due; /* sums, for each cell */
    struct forecast_result result;
};

static uint32_t *cells_new(const struct forecast_plan *plan)
{
    return NEW_ARRAY(uint32_t, plan->grid.cells);
}

static struct plan_limit *plan_limit_new(struct slice name, const struct forecast_bounds *bounds)
{
    struct plan_limit *limit = memory_new(sizeof *limit + name.size);
    limit->bounds = *bounds;
    limit->name_size = name.size;
    if (name.size)
        memcpy(limit->name, name.data, name.size);
    return limit;
}

static uint16_t find_step(const struct forecast_plan *plan, size_t cell)
{
    const struct forecast_steps *steps = &plan->steps;
    int64_t begin_ms = plan->grid.origin_ms + (int64_t)cell * plan->grid.cell_ms - steps->from_ms;
    int64_t step = begin_ms / steps->step_ms;
    return (uint16_t)(begin_ms < 0 || step >= (int64_t)steps->count ? (int64_t)steps->count : step);
}

struct forecast_plan *forecast_plan_new(const struct forecast_grid *grid, const struct forecast_steps *steps,
                                        const struct forecast_bounds *free)
{
    struct forecast_plan *plan = NEW(struct forecast_plan);
    assert(grid->cells > 0 && grid->cells <= FORECAST_CELLS_MAX && steps->step_ms % grid->cell_ms == 0);
    plan->grid = *grid;
    plan->steps = *steps;
    plan->free = *free;
    for (size_t i = 0; i < grid->cells; i++)
        plan->step_of[i] = find_step(plan, i);
    plan->topics = NEW_ARRAY(struct plan_topic *, FORECAST_TOPICS_MAX);
    plan->all = plan_limit_new(SLICE(""), &(struct forecast_bounds){.max_in_flight = 0});
    plan->all->due = cells_new(plan);
    plan->folded = cells_new(plan);
    plan->due = cells_new(plan);
    plan->begun = cells_new(plan);
    plan->backlog = cells_new(plan);
    plan->late_ms = NEW_ARRAY(int64_t, grid->cells);
    plan->all_backlog = NEW_ARRAY(int64_t, grid->cells);
    plan->all_late_ms = NEW_ARRAY(int64_t, grid->cells);
    plan->all_paused = NEW_ARRAY(int64_t, grid->cells);
    plan->all_due = NEW_ARRAY(int64_t, grid->cells);
    int64_t **const by_step[] = {&plan->result.due, &plan->result.begun, &plan->result.backlog,
                                 &plan->result.late_ms, &plan->result.paused};
    for (size_t i = 0; i < sizeof by_step / sizeof *by_step; i++)
        *by_step[i] = NEW_ARRAY(int64_t, steps->count);
    return plan;
}

static void line_fini(struct forecast_line *line)
{
    free(line->due_by_step);
    free(line->begun);
    free(line->backlog);
}

static void plan_limit_free(struct plan_limit *limit)
{
    free(limit->due);
    free(limit);
}

void forecast_plan_free(struct forecast_plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->topic_count; i++) {
        free(plan->topics[i]->windows);
        free(plan->topics[i]->windows_text);
        free(plan->topics[i]->sparse);
        free(plan->topics[i]->dense);
        free(plan->topics[i]);
    }
    for (size_t i = 0; i < plan->limit_count; i++)
        plan_limit_free(plan->limits[i]);
    plan_limit_free(plan->all);
    for (size_t i = 0; i < FORECAST_LINES_MAX; i++) {
        line_fini(&plan->result.narrow[i]);
        line_fini(&plan->result.most[i]);
    }
    void *const owned[] = {plan->topics,         plan->folded,         plan->due,          plan->begun,
                           plan->backlog,        plan->late_ms,        plan->all_backlog,  plan->all_late_ms,
                           plan->all_paused,     plan->all_due,        plan->result.due,   plan->result.begun,
                           plan->result.backlog, plan->result.late_ms, plan->result.paused};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    free(plan);
}

/* ---- gathering ---- */

static struct plan_topic *plan_find(const struct forecast_plan *plan, struct slice name)
{
    struct plan_topic *topic = plan->buckets[hash_of(name) % BUCKETS];
    while (topic && !slice_equal(slice_from(topic->name, topic->name_size), name))
        topic = topic->next;
    return topic;
}

/* Returns the topic, which is added if it is new; or NULL if there is no place. */
static struct plan_topic *plan_take(struct forecast_plan *plan, struct slice name)
{
    struct plan_topic *topic = plan_find(plan, name);
    if (topic)
        return topic;
    if (plan->topic_count == FORECAST_TOPICS_MAX) {
        plan->result.is_partial = true;
        return NULL;
    }
    struct plan_topic **bucket = &plan->buckets[hash_of(name) % BUCKETS];
    topic = memory_new(sizeof *topic + name.size);
    topic->bounds = plan->free;
    topic->name_size = name.size;
    memcpy(topic->name, name.data, name.size);
    topic->next = *bucket;
    *bucket = plan->topics[plan->topic_count++] = topic;
    return topic;
}

static struct plan_limit *plan_limit_find(const struct forecast_plan *plan, struct slice name)
{
    for (size_t i = 0; i < plan->limit_count; i++)
        if (slice_equal(slice_from(plan->limits[i]->name, plan->limits[i]->name_size), name))
            return plan->limits[i];
    return NULL;
}

void forecast_plan_set_limit(struct forecast_plan *plan, struct slice name,
                             const struct forecast_bounds *bounds)
{
    if (plan->limit_count < FORECAST_LIMITS_MAX)
        plan->limits[plan->limit_count++] = plan_limit_new(name, bounds);
    else
        plan->result.is_partial = true;
}

void forecast_plan_set_all(struct forecast_plan *plan, const struct forecast_bounds *bounds)
{
    plan->all->bounds = *bounds;
}

void forecast_plan_set_topic(struct forecast_plan *plan, struct slice name,
                             const struct forecast_bounds *bounds, struct slice windows, struct slice limit)
{
    struct plan_topic *topic = plan_take(plan, name);
    struct problem problem;
    if (!topic)
        return;
    topic->bounds = *bounds;
    topic->bounds.windows = NULL;
    topic->limit = limit.size ? plan_limit_find(plan, limit) : NULL;
    if (windows.size == 0 || topic->windows)
        return;
    topic->windows = NEW(struct windows);
    topic->windows_text = slice_dup(windows);
    topic->bounds.windows = topic->windows;
    /* A text that cannot be read has no window, so the topic is never open, as for the carry worker. */
    if (windows_parse(slice_from(topic->windows_text, windows.size), topic->windows, &problem) != STATUS_OK)
        topic->bounds.is_paused = true;
}

void forecast_plan_set_duration(struct forecast_plan *plan, struct slice name, double duration_ms)
{
    struct plan_topic *topic = plan_find(plan, name);
    if (topic)
        topic->bounds.duration_ms = duration_ms;
}

bool forecast_plan_is_paused(const struct forecast_plan *plan, struct slice name)
{
    const struct plan_topic *topic = plan_find(plan, name);
    return topic && (topic->bounds.is_paused || (topic->limit && topic->limit->bounds.is_paused));
}

void forecast_plan_note_partial(struct forecast_plan *plan)
{
    plan->result.is_partial = true;
}

static uint32_t plan_sum(uint32_t jobs, int64_t more)
{
    return more < (int64_t)(UINT32_MAX - jobs) ? jobs + (uint32_t)more : UINT32_MAX;
}

/* Adds the jobs of a topic to an array of all cells. */
static void add_sparse(const struct plan_topic *topic, uint32_t *cells)
{
    for (size_t i = 0; i < topic->sparse_count; i++)
        cells[topic->sparse[i].cell] = plan_sum(cells[topic->sparse[i].cell], topic->sparse[i].jobs);
}

/* Gives the topic an array of all cells. If there are too many arrays, its jobs so far begin when they are
 * due. */
static void make_dense(struct forecast_plan *plan, struct plan_topic *topic)
{
    if (plan->dense_count < FORECAST_DENSE_MAX) {
        plan->dense_count++;
        topic->dense = cells_new(plan);
        add_sparse(topic, topic->dense);
        free(topic->sparse);
        topic->sparse = NULL;
    } else {
        add_sparse(topic, plan->folded);
        plan->result.is_partial = true;
    }
    topic->sparse_count = 0;
}

static void add_cell(struct forecast_plan *plan, struct plan_topic *topic, size_t cell, int64_t jobs)
{
    if (!topic->dense && topic->sparse_count == SPARSE_MAX)
        make_dense(plan, topic);
    if (topic->dense) {
        topic->dense[cell] = plan_sum(topic->dense[cell], jobs);
        return;
    }
    size_t count = topic->sparse_count;
    if (count && topic->sparse[count - 1].cell == cell) {
        topic->sparse[count - 1].jobs = plan_sum(topic->sparse[count - 1].jobs, jobs);
        return;
    }
    if ((count & (count - 1)) == 0) /* 0, 1, 2, 4 ...: the array grows to the next power of two */
        topic->sparse = memory_resize(topic->sparse, (count ? 2 * count : 1) * sizeof *topic->sparse);
    topic->sparse[topic->sparse_count++] = (struct forecast_cell){(uint32_t)cell, plan_sum(0, jobs)};
}

void forecast_plan_add(struct forecast_plan *plan, struct slice name, const struct forecast_cell *cells,
                       size_t count, int64_t times)
{
    struct plan_topic *topic = count > 0 && times > 0 ? plan_take(plan, name) : NULL;
    for (size_t i = 0; i < count && times > 0; i++) {
        int64_t jobs = times * cells[i].jobs;
        if (cells[i].cell >= plan->grid.cells || jobs == 0)
            continue;
        if (topic)
            add_cell(plan, topic, cells[i].cell, jobs);
        else
            plan->folded[cells[i].cell] = plan_sum(plan->folded[cells[i].cell], jobs);
    }
}

void forecast_plan_add_overdue(struct forecast_plan *plan, struct slice name, int64_t jobs, int64_t since_ms)
{
    struct plan_topic *topic = jobs > 0 ? plan_take(plan, name) : NULL;
    if (!topic) {
        plan->folded[0] = plan_sum(plan->folded[0], jobs);
        return;
    }
    topic->overdue += jobs;
    if (since_ms > 0 && (topic->overdue_since_ms == 0 || since_ms < topic->overdue_since_ms))
        topic->overdue_since_ms = since_ms;
    if (topic->overdue_since_ms == 0)
        topic->overdue_since_ms = plan->grid.now_ms;
}

/* ---- computing ---- */

/* Reads the jobs of a topic into plan->due. Returns the most jobs of one cell. */
static int64_t read_due(const struct forecast_plan *plan, const struct plan_topic *topic)
{
    int64_t peak = 0;
    if (topic->dense) {
        memcpy(plan->due, topic->dense, plan->grid.cells * sizeof *plan->due);
    } else {
        memset(plan->due, 0, plan->grid.cells * sizeof *plan->due);
        add_sparse(topic, plan->due);
    }
    for (size_t i = 0; i < plan->grid.cells; i++)
        peak = plan->due[i] > peak ? plan->due[i] : peak;
    return peak;
}

/* Computes the course of a topic into begun, backlog and late_ms of the plan. */
static void compute_topic(struct forecast_plan *plan, struct plan_topic *topic)
{
    struct forecast_demand demand = {topic->overdue, topic->overdue_since_ms, plan->due};
    struct forecast_course course = {plan->begun, plan->backlog, plan->late_ms};
    int64_t peak = read_due(plan, topic), first = plan->due[0] + topic->overdue;
    if (!forecast_is_free(&plan->grid, &topic->bounds, first > peak ? first : peak)) {
        forecast_queue(&plan->grid, &topic->bounds, &demand, &course, &topic->summary);
        return;
    }
    memcpy(plan->begun, plan->due, plan->grid.cells * sizeof *plan->due);
    plan->begun[0] = plan_sum(plan->begun[0], topic->overdue);
    memset(plan->backlog, 0, plan->grid.cells * sizeof *plan->backlog);
    memset(plan->late_ms, 0, plan->grid.cells * sizeof *plan->late_ms);
    topic->summary = (struct forecast_summary){.drained_cell = plan->grid.cells};
}

/* Adds the backlog of the queue that was computed last to that of all. */
static void add_backlog(struct forecast_plan *plan, bool is_paused)
{
    for (size_t i = 0; i < plan->grid.cells; i++)
        if (is_paused) {
            plan->all_paused[i] += plan->backlog[i];
        } else {
            plan->all_backlog[i] += plan->backlog[i];
            if (plan->late_ms[i] > plan->all_late_ms[i])
                plan->all_late_ms[i] = plan->late_ms[i];
        }
}

static void note_due(struct forecast_plan *plan, struct plan_topic *topic, size_t cell, int64_t jobs)
{
    plan->all_due[cell] += jobs;
    topic->due += plan->step_of[cell] < plan->steps.count ? jobs : 0;
}

/* Does the work of run_topic for a topic with jobs in few cells whose bounds never hold any. Returns false if
 * they might. */
static bool run_sparse(struct forecast_plan *plan, struct plan_topic *topic, uint32_t *begun)
{
    int64_t sum = topic->overdue;
    for (size_t i = 0; i < topic->sparse_count; i++)
        sum += topic->sparse[i].jobs;
    if (topic->dense || !forecast_is_free(&plan->grid, &topic->bounds, sum))
        return false;
    begun[0] = plan_sum(begun[0], topic->overdue);
    for (size_t i = 0; i < topic->sparse_count; i++) {
        const struct forecast_cell *cell = &topic->sparse[i];
        begun[cell->cell] = plan_sum(begun[cell->cell], cell->jobs);
        note_due(plan, topic, cell->cell, cell->jobs);
    }
    topic->summary.drained_cell = plan->grid.cells;
    return true;
}

/* Adds a topic to the sums. Returns the number of cells that were examined. */
static size_t run_topic(struct forecast_plan *plan, struct plan_topic *topic)
{
    struct plan_limit *limit = topic->limit ? topic->limit : plan->all;
    size_t cells = topic->sparse_count + 1;
    if (!limit->due)
        limit->due = cells_new(plan);
    if (!run_sparse(plan, topic, limit->due)) {
        cells = plan->grid.cells;
        compute_topic(plan, topic);
        for (size_t i = 0; i < cells; i++) {
            limit->due[i] = plan_sum(limit->due[i], plan->begun[i]);
            note_due(plan, topic, i, plan->due[i]);
        }
        if (topic->summary.peak_backlog > 0)
            add_backlog(plan, topic->bounds.is_paused);
    }
    plan->result.overdue += topic->bounds.is_paused ? 0 : topic->overdue;
    plan->result.topics += topic->due + topic->overdue > 0;
    return cells;
}

/* Computes the course of a limit, of which the attempts that begin are in plan->begun. */
static void compute_limit(struct forecast_plan *plan, struct plan_limit *limit)
{
    struct forecast_demand demand = {.due = limit->due};
    struct forecast_course course = {plan->begun, plan->backlog, plan->late_ms};
    forecast_queue(&plan->grid, &limit->bounds, &demand, &course, &limit->summary);
}

static void run_limits(struct forecast_plan *plan)
{
    for (size_t i = 0; i < plan->limit_count; i++) {
        struct plan_limit *limit = plan->limits[i];
        if (!limit->due)
            continue;
        compute_limit(plan, limit);
        for (size_t cell = 0; cell < plan->grid.cells; cell++)
            plan->all->due[cell] = plan_sum(plan->all->due[cell], plan->begun[cell]);
        add_backlog(plan, limit->bounds.is_paused);
    }
    for (size_t i = 0; i < plan->grid.cells; i++) {
        plan->all->due[i] = plan_sum(plan->all->due[i], plan->folded[i]);
        plan->all_due[i] += plan->folded[i];
    }
    compute_limit(plan, plan->all);
    add_backlog(plan, false);
}

/* ---- the result ---- */

static void sum_steps(struct forecast_plan *plan)
{
    struct forecast_result *result = &plan->result;
    int64_t drained_ms = 0;
    for (size_t i = 0; i < plan->grid.cells; i++) {
        size_t step = plan->step_of[i];
        int64_t end_ms = plan->grid.origin_ms + (int64_t)(i + 1) * plan->grid.cell_ms;
        if (i > 0 && plan->all_backlog[i] == 0 && plan->all_backlog[i - 1] > 0)
            drained_ms = end_ms;
        result->left = plan->all_backlog[i];
        if (step == plan->steps.count)
            continue;
        result->due[step] += plan->all_due[i];
        result->begun[step] += plan->begun[i];
        result->backlog[step] = plan->all_backlog[i];
        result->late_ms[step] = plan->all_late_ms[i];
        result->paused[step] = plan->all_paused[i];
        if (plan->all_backlog[i] > result->peak_backlog) {
            result->peak_backlog = plan->all_backlog[i];
            result->peak_ms = end_ms;
        }
        if (plan->all_late_ms[i] > result->peak_late_ms)
            result->peak_late_ms = plan->all_late_ms[i];
    }
    result->drained_ms = result->left == 0 ? drained_ms : 0;
}

/* Puts a line into a list that is sorted by weight, the largest first. Returns its index, or the size of the
 * list. */
static size_t line_place(const int64_t *weights, size_t count, int64_t weight)
{
    size_t place = count;
    while (place > 0 && weights[place - 1] < weight)
        place--;
    return place;
}

struct chosen {
    int64_t weights[FORECAST_LINES_MAX];
    const void *items[FORECAST_LINES_MAX]; /* topics or limits */
    bool are_limits[FORECAST_LINES_MAX];
    size_t count;
};

static void choose_line(struct chosen *chosen, const void *item, bool is_limit, int64_t weight)
{
    size_t place = line_place(chosen->weights, chosen->count, weight);
    if (weight <= 0 || place == FORECAST_LINES_MAX)
        return;
    size_t moved = (chosen->count < FORECAST_LINES_MAX ? chosen->count : FORECAST_LINES_MAX - 1) - place;
    memmove(chosen->weights + place + 1, chosen->weights + place, moved * sizeof *chosen->weights);
    memmove(chosen->items + place + 1, chosen->items + place, moved * sizeof *chosen->items);
    memmove(chosen->are_limits + place + 1, chosen->are_limits + place, moved * sizeof *chosen->are_limits);
    chosen->weights[place] = weight;
    chosen->items[place] = item;
    chosen->are_limits[place] = is_limit;
    chosen->count += chosen->count < FORECAST_LINES_MAX;
}

static void line_fill(const struct forecast_plan *plan, const uint32_t *due, struct forecast_line *line)
{
    line->due_by_step = NEW_ARRAY(int64_t, plan->steps.count);
    line->begun = NEW_ARRAY(int64_t, plan->steps.count);
    line->backlog = NEW_ARRAY(int64_t, plan->steps.count);
    for (size_t i = 0; i < plan->grid.cells; i++) {
        size_t step = plan->step_of[i];
        if (step == plan->steps.count)
            continue;
        line->due_by_step[step] += due[i];
        line->begun[step] += plan->begun[i];
        line->backlog[step] = plan->backlog[i];
    }
}

/* Computes the course of the chosen queues again. */
static size_t write_lines(struct forecast_plan *plan, const struct chosen *chosen,
                          struct forecast_line lines[FORECAST_LINES_MAX])
{
    for (size_t i = 0; i < chosen->count; i++) {
        struct forecast_line *line = &lines[i];
        line->is_limit = chosen->are_limits[i];
        if (line->is_limit) {
            struct plan_limit *limit = *(struct plan_limit *const *)chosen->items[i];
            compute_limit(plan, limit);
            line->name = slice_from(limit->name, limit->name_size);
            line->summary = limit->summary;
            line_fill(plan, limit->due, line);
            for (size_t step = 0; step < plan->steps.count; step++)
                line->due += line->due_by_step[step];
        } else {
            struct plan_topic *topic = *(struct plan_topic *const *)chosen->items[i];
            compute_topic(plan, topic);
            line->name = slice_from(topic->name, topic->name_size);
            line->limit = topic->limit ? slice_from(topic->limit->name, topic->limit->name_size) : SLICE("");
            line->summary = topic->summary;
            line->due = topic->due;
            line_fill(plan, plan->due, line);
        }
    }
    return chosen->count;
}

static void choose_lines(struct forecast_plan *plan)
{
    struct chosen narrow = {.count = 0}, most = {.count = 0};
    for (size_t i = 0; i < plan->topic_count; i++) {
        const struct plan_topic *topic = plan->topics[i];
        if (!topic->bounds.is_paused)
            choose_line(&narrow, &plan->topics[i], false, topic->summary.peak_backlog);
        choose_line(&most, &plan->topics[i], false, topic->due + topic->overdue);
    }
    for (size_t i = 0; i < plan->limit_count; i++)
        if (!plan->limits[i]->bounds.is_paused)
            choose_line(&narrow, &plan->limits[i], true, plan->limits[i]->summary.peak_backlog);
    choose_line(&narrow, &plan->all, true, plan->all->summary.peak_backlog);
    plan->result.narrow_count = write_lines(plan, &narrow, plan->result.narrow);
    plan->result.most_count = write_lines(plan, &most, plan->result.most);
}

bool forecast_plan_run(struct forecast_plan *plan)
{
    for (size_t cells = 0; plan->next_topic < plan->topic_count && cells < RUN_CELLS;)
        cells += run_topic(plan, plan->topics[plan->next_topic++]);
    if (plan->next_topic < plan->topic_count)
        return false;
    run_limits(plan);
    sum_steps(plan);
    choose_lines(plan);
    return true;
}

const struct forecast_result *forecast_plan_result(const struct forecast_plan *plan)
{
    return &plan->result;
}

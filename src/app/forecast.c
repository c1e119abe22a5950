/* forecast.c - GET /forecast: reads limits, then the waiting jobs of each topic, groups and schedules, each
 * in bounded steps, and computes the course of all (job/forecast_plan.h), in bounded steps, too. */
#include "app/forecast.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/app_private.h"
#include "app/live.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/metrics.h"
#include "base/system.h"
#include "base/timestamp.h"
#include "io/time_zones.h"
#include "job/group.h"
#include "job/job_id.h"
#include "job/schedule/occurrences.h"
#include "job/topic/topic_settings.h"

enum {
    WAITING_MAX = 32, /* requests that wait for the one that is computed */
    LIMITS_PAGE = 100,
    GROUPS_MAX = 10000,
    SCHEDULES_MAX = 200000,
    TOPIC_CELLS = 128, /* cells of a topic that are added at once */
    CACHED_MAX = 1024, /* expressions whose jobs are kept, because many schedules may have the same */
    CACHED_TRIED = 8,
    CACHED_SIZE = 512,
};
#define TIMES_MAX INT64_C(4000000) /* see times_left in occurrences.h */

/* The jobs of a schedule without jitter. Schedules with the same key have the same. */
struct cached {
    char key[CACHED_SIZE]; /* expression, zone and windows, each with a newline behind it */
    size_t key_size;
    int64_t after_ms;         /* the jobs are those of times later than this */
    struct occurrences *jobs; /* owned */
};

struct sized_group {
    char *name; /* owned */
    int64_t endpoints;
};

struct forecasting {
    struct forecasting *next; /* the request that waits behind this one */
    struct app *app;
    const struct app_caller *caller;
    struct app_forecast_call call;
    app_forecast_fn *fn;
    void *arg;
    struct forecast_grid grid;
    struct forecast_plan *plan;
    struct demand_walk walk;
    struct forecast_bounds free; /* bounds of topics without settings */
    struct app_forecast answer;
    struct app_forecast_schedule most[APP_FORECAST_SCHEDULES];
    char limit_after[JOB_TOPIC_NAME_MAX + 1];
    struct sized_group *groups;
    size_t group_count;
    struct topic_cursor group_from;
    char group_room[JOB_TOPIC_NAME_MAX + 1];
    struct recurring_cursor schedule_from;
    char schedule_room[JOB_KEY_MAX + 1];
    size_t schedules_seen;
    int64_t times_left;
    size_t first_cell; /* the first cell of the first step */
    struct occurrences found;
    struct cached *cached[CACHED_MAX];
};

static void forecasting_begin(struct forecasting *);

/* ---- ends ---- */

static void forecasting_free(struct forecasting *forecasting)
{
    forecast_plan_free(forecasting->plan);
    for (size_t i = 0; i < forecasting->group_count; i++)
        free(forecasting->groups[i].name);
    free(forecasting->groups);
    for (size_t i = 0; i < CACHED_MAX; i++)
        if (forecasting->cached[i]) {
            free(forecasting->cached[i]->jobs);
            free(forecasting->cached[i]);
        }
    for (size_t i = 0; i < APP_FORECAST_SCHEDULES; i++)
        free(forecasting->most[i].id);
    free(forecasting);
}

/* Ends the request that is computed, and begins the one that waits behind it. */
static void forecasting_leave(struct forecasting *forecasting)
{
    struct forecasting *next = forecasting->next;
    forecasting->app->forecasting = next;
    forecasting_free(forecasting);
    if (next)
        forecasting_begin(next);
}

static void on_refused(void *arg, const struct app_verdict *verdict)
{
    struct forecasting *forecasting = arg;
    forecasting->fn(forecasting->arg, verdict, NULL);
}

/* Ends the request that is computed, and all that wait: Redis does not answer, or the process stops. */
static void forecasting_fail(struct forecasting *forecasting, enum status status)
{
    forecasting->app->forecasting = NULL;
    while (forecasting) {
        struct forecasting *next = forecasting->next;
        use_case_end(forecasting->app, SLICE(""), status == STATUS_UNKNOWN ? STATUS_UNAVAILABLE : status,
                     NULL, on_refused, forecasting);
        forecasting_free(forecasting);
        forecasting = next;
    }
}

/* Ends a request that does not wait yet. */
static void forecasting_refuse(struct forecasting *forecasting, const char *field, const char *detail)
{
    use_case_refuse_field(field, detail, on_refused, forecasting);
    forecasting_free(forecasting);
}

/* ---- parameters ---- */

/* Returns the shortest of the usual steps that gives few steps. */
static int64_t choose_step(int64_t length_ms)
{
    static const int64_t seconds[] = {1,   2,   5,    10,   15,   30,    60,    120,   300,
                                      600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400};
    size_t i = 0;
    while (i + 1 < sizeof seconds / sizeof *seconds && length_ms > seconds[i] * 1000 * APP_FORECAST_STEPS)
        i++;
    return seconds[i] * 1000;
}

/* Returns the length of the cells: a whole part of a step, as short as the number of cells allows. Windows
 * open and close at whole minutes, so cells of whole minutes, or parts of one, are exact. */
static int64_t choose_cell(int64_t length_ms, int64_t step_ms)
{
    static const int64_t seconds[] = {1,   2,   5,   10,   15,   20,   30,    60,   120,
                                      300, 600, 900, 1800, 3600, 7200, 10800, 21600};
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++)
        if (step_ms % (seconds[i] * 1000) == 0 && length_ms / (seconds[i] * 1000) <= FORECAST_CELLS_MAX)
            return seconds[i] * 1000;
    return step_ms;
}

static int64_t round_down(int64_t time_ms, int64_t step_ms)
{
    return time_ms - time_ms % step_ms;
}

/* Computes steps and cells. Returns false after refusing the request. */
static bool set_grid(struct forecasting *forecasting)
{
    struct app_forecast_call *call = &forecasting->call;
    char detail[JOB_ERROR_TEXT_SIZE], limit[TIMESTAMP_SIZE], now[TIMESTAMP_SIZE];
    int64_t now_ms = app_now_ms(forecasting->app);
    int64_t from_ms = call->from_ms > now_ms ? call->from_ms : now_ms;
    int64_t to_ms = call->to_ms ? call->to_ms : from_ms + APP_FORECAST_MS;
    timestamp_format(now_ms, now);
    timestamp_format(now_ms + APP_FORECAST_MAX_MS, limit);
    if (call->to_ms && call->to_ms <= from_ms) {
        snprintf(detail, sizeof detail, "must be later than from, and than now, which is %s", now);
        forecasting_refuse(forecasting, "to", detail);
        return false;
    }
    if (to_ms > now_ms + APP_FORECAST_MAX_MS) {
        snprintf(detail, sizeof detail, "must not be more than 35 days after now: at most %s", limit);
        forecasting_refuse(forecasting, call->to_ms ? "to" : "from", detail);
        return false;
    }
    int64_t step_ms = call->step_ms ? call->step_ms : choose_step(to_ms - from_ms);
    while (!call->step_ms && (to_ms - now_ms) / step_ms + 3 > FORECAST_CELLS_MAX)
        step_ms *= 2;
    int64_t first_ms = round_down(from_ms, step_ms), last_ms = round_down(to_ms - 1, step_ms) + step_ms;
    int64_t count = (last_ms - first_ms) / step_ms, length_ms = last_ms - round_down(now_ms, step_ms);
    if (count > APP_FORECAST_STEPS_MAX || length_ms / step_ms + 2 > FORECAST_CELLS_MAX) {
        int64_t by_count = (to_ms - from_ms) / (APP_FORECAST_STEPS_MAX - 2) / 1000 + 1;
        int64_t by_length = (to_ms - now_ms) / (FORECAST_CELLS_MAX - 4) / 1000 + 1;
        snprintf(detail, sizeof detail,
                 "is %g s, which gives more than %d steps from \"from\" to \"to\", or more than %d from now: "
                 "use at least %lld",
                 (double)step_ms / 1000, APP_FORECAST_STEPS_MAX, FORECAST_CELLS_MAX - 4,
                 (long long)(by_count > by_length ? by_count : by_length));
        forecasting_refuse(forecasting, "step", detail);
        return false;
    }
    forecasting->answer.steps = (struct forecast_steps){first_ms, step_ms, (size_t)count};
    forecasting->answer.cell_ms = choose_cell(length_ms, step_ms);
    forecasting->walk = (struct demand_walk){.topic = call->topic, .cell_ms = forecasting->answer.cell_ms};
    forecasting->walk.cells_of_step = (size_t)(step_ms / forecasting->walk.cell_ms);
    forecasting->walk.origin_ms = round_down(now_ms, forecasting->walk.cell_ms);
    forecasting->walk.cells = (size_t)((last_ms - forecasting->walk.origin_ms) / forecasting->walk.cell_ms);
    forecasting->grid = (struct forecast_grid){now_ms, forecasting->walk.origin_ms, forecasting->walk.cell_ms,
                                               forecasting->walk.cells};
    return true;
}

/* ---- bounds ---- */

static const struct time_zone *forecast_zone(void *arg, struct slice name)
{
    const struct forecasting *forecasting = arg;
    const struct time_zone *zone;
    struct problem problem;
    return time_zones_find(forecasting->app->zones, name, &zone, &problem) == STATUS_OK ? zone : NULL;
}

/* Returns the bounds in the settings of a topic or a limit. */
static struct forecast_bounds bounds_of(struct forecasting *forecasting,
                                        const struct topic_settings *settings)
{
    struct forecast_bounds bounds = {
        .is_paused = settings->is_paused,
        .is_fifo = topic_settings_are_fifo(settings),
        .max_in_flight = settings->max_in_flight,
        .duration_ms = forecasting->free.duration_ms,
        .rate_jobs = settings->rate_jobs,
        .rate_per_ms = settings->rate_per_ms,
        .rate_burst = settings->rate_burst,
        .is_rate_window = settings->is_rate_window,
        .find_zone = forecast_zone,
        .zone_arg = forecasting,
    };
    return bounds;
}

/* The mean duration of all attempts, and bounds of all processes. */
static void read_durations(struct forecasting *forecasting, struct metrics_duration *topics, size_t count)
{
    struct app_forecast *answer = &forecasting->answer;
    uint64_t sum_us = 0;
    for (size_t i = 0; i < count; i++) {
        answer->measured += topics[i].attempts;
        sum_us += topics[i].sum_us;
    }
    if (answer->measured)
        answer->duration_ms = (double)sum_us / 1000 / (double)answer->measured;
    if (forecasting->call.has_duration)
        answer->duration_ms = (double)forecasting->call.duration_ms;
}

static int64_t count_processes(const struct app *app)
{
    struct live_process *processes = NEW_ARRAY(struct live_process, LIVE_PROCESSES_MAX + 1);
    size_t count = live_board_processes(app->live, clock_boot_us(), processes);
    free(processes);
    return count > 0 ? (int64_t)count : 1;
}

static void set_free(struct forecasting *forecasting)
{
    struct app *app = forecasting->app;
    struct metrics_duration *topics = NEW_ARRAY(struct metrics_duration, METRICS_TOPICS_MAX + 1);
    read_durations(forecasting, topics, metrics_durations(app->board, topics));
    free(topics);
    forecasting->answer.max_in_flight = app->max_in_flight * count_processes(app);
    forecasting->free = (struct forecast_bounds){
        .max_in_flight = store_max_in_flight_topic(app->store),
        .duration_ms = forecasting->answer.duration_ms,
        .find_zone = forecast_zone,
        .zone_arg = forecasting,
    };
}

/* Gives topics their own durations. */
static void set_durations(struct forecasting *forecasting)
{
    struct metrics_duration *topics = NEW_ARRAY(struct metrics_duration, METRICS_TOPICS_MAX + 1);
    size_t count = metrics_durations(forecasting->app->board, topics);
    for (size_t i = 0; i < count && !forecasting->call.has_duration; i++)
        if (topics[i].attempts)
            forecast_plan_set_duration(forecasting->plan, slice_of(topics[i].name),
                                       (double)topics[i].sum_us / 1000 / (double)topics[i].attempts);
    free(topics);
}

/* ---- 6: computing ---- */

static void ask_turn(struct forecasting *);

static void forecasting_end(struct forecasting *forecasting)
{
    struct app_forecast *answer = &forecasting->answer;
    answer->result = forecast_plan_result(forecasting->plan);
    answer->most = forecasting->most;
    answer->now_ms = forecasting->grid.now_ms;
    forecasting->fn(forecasting->arg, &(struct app_verdict){.end = STATUS_OK}, answer);
    forecasting_leave(forecasting);
}

/* The computation takes turns of the loop. A small read of Redis is between two of them, so that it ends like
 * any call of the store. */
static void on_turn(void *arg, enum status status, const struct limit *limits, size_t count, bool has_more)
{
    struct forecasting *forecasting = arg;
    (void)limits, (void)count, (void)has_more;
    if (status != STATUS_OK)
        forecasting_fail(forecasting, status);
    else if (forecast_plan_run(forecasting->plan))
        forecasting_end(forecasting);
    else
        ask_turn(forecasting);
}

static void ask_turn(struct forecasting *forecasting)
{
    store_limits(forecasting->app->store, SLICE("-"), SLICE(""), 1, on_turn, forecasting);
}

/* ---- 5: schedules ---- */

static int compare_groups(const void *one, const void *other)
{
    return strcmp(((const struct sized_group *)one)->name, ((const struct sized_group *)other)->name);
}

/* Returns how many jobs an occurrence creates. */
static int64_t jobs_of(const struct forecasting *forecasting, const struct recurring *recurring)
{
    char name[JOB_TOPIC_NAME_MAX + 1];
    struct sized_group wanted = {.name = name};
    if (recurring->group.size == 0 || recurring->group.size >= sizeof name)
        return 1;
    memcpy(name, recurring->group.data, recurring->group.size);
    name[recurring->group.size] = '\0';
    const struct sized_group *group =
        forecasting->group_count > 0
            ? bsearch(&wanted, forecasting->groups, forecasting->group_count, sizeof wanted, compare_groups)
            : NULL;
    return group ? group->endpoints : topic_is_sibling(recurring->group) ? 1 : 0;
}

/* Keeps the schedules with the most jobs. */
static void note_most(struct forecasting *forecasting, struct slice id, int64_t jobs)
{
    struct app_forecast_schedule *most = forecasting->most;
    size_t *count = &forecasting->answer.most_count, place = *count;
    while (place > 0 && most[place - 1].jobs < jobs)
        place--;
    if (jobs == 0 || place == APP_FORECAST_SCHEDULES)
        return;
    if (*count == APP_FORECAST_SCHEDULES)
        free(most[--*count].id);
    memmove(most + place + 1, most + place, (*count - place) * sizeof *most);
    most[place] = (struct app_forecast_schedule){slice_dup(id), jobs};
    ++*count;
}

/* Adds the jobs of a schedule to its topic. */
static void add_found(struct forecasting *forecasting, struct slice id, struct slice topic,
                      const struct occurrences *found, int64_t each)
{
    int64_t shown = 0;
    forecast_plan_add(forecasting->plan, topic, found->cells, found->count, each);
    for (size_t i = 0; i < found->count; i++)
        if (found->cells[i].cell >= forecasting->first_cell)
            shown += each * found->cells[i].jobs;
    forecasting->answer.scheduled += each * found->sum;
    forecasting->answer.schedules += found->sum > 0;
    note_most(forecasting, id, shown);
}

/* Adds the times that have come and were not fired yet. Returns the time after which the schedule continues.
 */
static int64_t add_come(struct forecasting *forecasting, const struct store_recurring *stored,
                        const struct recurrence *recurrence, int64_t delay_ms, struct occurrences *found)
{
    int64_t expected_ms = recurring_occurrence_ms(&stored->last, stored->next_ms);
    if (expected_ms > forecasting->grid.now_ms)
        return expected_ms - 1;
    struct recurrence_decision *decision = NEW(struct recurrence_decision);
    struct recurrence_progress progress;
    recurrence_progress_read(SLICE(""), expected_ms, &progress);
    recurrence_decide(recurrence, &progress, expected_ms, forecasting->grid.now_ms, decision);
    for (size_t i = 0; i < decision->count; i++)
        occurrences_add(
            found,
            forecast_cell_of(&forecasting->grid, decision->times_ms[i] + delay_ms +
                                                     recurrence_jitter_ms(recurrence, decision->times_ms[i])),
            1);
    free(decision);
    return forecasting->grid.now_ms;
}

/* Finds the place for the jobs of an expression. NULL: the jobs of this schedule are its own. */
static struct cached *cache_find(struct forecasting *forecasting, const struct recurring *recurring,
                                 const struct recurrence *recurrence, bool is_exclusive, int64_t after_ms)
{
    const struct forecast_grid *grid = &forecasting->grid;
    int64_t end_ms = grid->origin_ms + (int64_t)grid->cells * grid->cell_ms;
    struct slice parts[] = {recurring->cron_text, recurring->timezone, recurring->windows};
    char key[CACHED_SIZE];
    size_t size = 0;
    if (!recurring->has_cron || recurrence->jitter_ms || recurring->delay_ms || is_exclusive ||
        recurrence->first_ms > after_ms + 1 || recurrence->last_ms < end_ms ||
        parts[0].size + parts[1].size + parts[2].size + 3 > CACHED_SIZE)
        return NULL;
    for (size_t i = 0; i < 3; i++) {
        if (parts[i].size)
            memcpy(key + size, parts[i].data, parts[i].size);
        size += parts[i].size;
        key[size++] = '\n';
    }
    size_t first = hash_of(slice_from(key, size));
    for (size_t i = 0; i < CACHED_TRIED; i++) {
        struct cached **place = &forecasting->cached[(first + i) % CACHED_MAX], *cached = *place;
        if (!cached) {
            cached = *place = NEW(struct cached);
            memcpy(cached->key, key, size);
            cached->key_size = size;
            cached->after_ms = after_ms;
            return cached;
        }
        if (slice_equal(slice_from(cached->key, cached->key_size), slice_from(key, size)))
            return cached->after_ms == after_ms ? cached : NULL;
    }
    return NULL;
}

static struct occurrences *copy_found(const struct occurrences *found)
{
    size_t bytes = offsetof(struct occurrences, cells) + found->count * sizeof *found->cells;
    struct occurrences *copy = memory_new(bytes);
    memcpy(copy, found, bytes);
    return copy;
}

static void add_recurring(struct forecasting *forecasting, const struct store_recurring *stored,
                          const struct recurring *recurring, const struct time_zone *zone, struct slice topic)
{
    struct occurrences *found = &forecasting->found;
    struct recurrence recurrence;
    bool is_exclusive = recurring_overlap(recurring) == OVERLAP_SKIP;
    recurring_recurrence(recurring, stored->id, zone, &recurrence);
    if (forecasting->times_left <= 0) {
        recurrence.jitter_ms = 0; /* there are too many times to compute each of them */
        is_exclusive = false;
    }
    found->count = 0, found->sum = 0;
    int64_t after_ms = add_come(forecasting, stored, &recurrence, recurring->delay_ms, found);
    struct cached *cached =
        found->count == 0 ? cache_find(forecasting, recurring, &recurrence, is_exclusive, after_ms) : NULL;
    if (cached && cached->jobs) {
        add_found(forecasting, stored->id, topic, cached->jobs, jobs_of(forecasting, recurring));
        return;
    }
    struct occurrences_call call = {
        .recurrence = &recurrence,
        .after_ms = after_ms,
        .delay_ms = recurring->delay_ms,
        .apart_ms = !is_exclusive ? -1
                    : forecast_plan_is_paused(forecasting->plan, topic)
                        ? APP_FORECAST_MAX_MS
                        : (int64_t)forecasting->free.duration_ms,
        .times_left = &forecasting->times_left,
    };
    occurrences_find(&forecasting->grid, &call, found);
    if (cached)
        cached->jobs = copy_found(found);
    add_found(forecasting, stored->id, topic, found, jobs_of(forecasting, recurring));
}

static void add_schedule(struct forecasting *forecasting, const struct store_recurring *stored)
{
    const struct time_zone *zone;
    struct problem problem;
    struct recurring recurring;
    struct slice topic, rest;
    slice_cut(stored->id, '/', &topic, &rest);
    if (stored->next_ms < 0 || !app_caller_reaches(forecasting->caller, topic) ||
        recurring_read(stored->record, &recurring) != STATUS_OK)
        return;
    slice_cut(recurring_base(&recurring, stored->id), '/', &topic, &rest);
    if (!recurring.lacks.size && topic.size &&
        time_zones_find(forecasting->app->zones, recurring.timezone, &zone, &problem) == STATUS_OK)
        add_recurring(forecasting, stored, &recurring, zone, topic);
    recurring_fini(&recurring);
}

static void ask_schedules(struct forecasting *);

static void on_schedules(void *arg, enum status status, const struct store_recurring *schedules, size_t count,
                         struct recurring_cursor next)
{
    struct forecasting *forecasting = arg;
    if (status != STATUS_OK) {
        forecasting_fail(forecasting, status);
        return;
    }
    for (size_t i = 0; i < count; i++)
        add_schedule(forecasting, &schedules[i]);
    forecasting->schedules_seen += count;
    bool has_more = next.shard > 0 || next.id.size > 0 || next.place > 0;
    if (has_more && forecasting->schedules_seen >= SCHEDULES_MAX)
        forecast_plan_note_partial(forecasting->plan);
    if (has_more && forecasting->schedules_seen < SCHEDULES_MAX && next.id.size <= JOB_KEY_MAX) {
        memcpy(forecasting->schedule_room, next.id.data ? next.id.data : "", next.id.size);
        forecasting->schedule_from =
            (struct recurring_cursor){.shard = next.shard,
                                      .id = slice_from(forecasting->schedule_room, next.id.size),
                                      .place = next.place};
        ask_schedules(forecasting);
        return;
    }
    set_durations(forecasting);
    forecast_plan_set_all(forecasting->plan,
                          &(struct forecast_bounds){.max_in_flight = forecasting->answer.max_in_flight,
                                                    .duration_ms = forecasting->free.duration_ms});
    ask_turn(forecasting);
}

static void ask_schedules(struct forecasting *forecasting)
{
    const struct forecast_grid *grid = &forecasting->grid;
    struct store_recurrings list = {
        .topic = forecasting->call.topic, .max = APP_PAGE_MAX, .from = forecasting->schedule_from};
    if (list.topic.size == 0)
        list.until_ms = grid->origin_ms + (int64_t)grid->cells * grid->cell_ms;
    store_recurrings(forecasting->app->store, &list, on_schedules, forecasting);
}

/* ---- 4: groups ---- */

static void ask_groups(struct forecasting *);

static void add_group(struct forecasting *forecasting, const struct topic *found)
{
    struct group group;
    if (forecasting->group_count == GROUPS_MAX || group_read(found->settings, &group) != STATUS_OK)
        return;
    if ((forecasting->group_count & (forecasting->group_count - 1)) == 0)
        forecasting->groups =
            memory_resize(forecasting->groups, (forecasting->group_count ? 2 * forecasting->group_count : 1) *
                                                   sizeof *forecasting->groups);
    forecasting->groups[forecasting->group_count++] =
        (struct sized_group){slice_dup(found->name), (int64_t)group.count};
}

static void on_groups(void *arg, enum status status, const struct topic *groups, size_t count,
                      struct topic_cursor next)
{
    struct forecasting *forecasting = arg;
    if (status != STATUS_OK) {
        forecasting_fail(forecasting, status);
        return;
    }
    for (size_t i = 0; i < count; i++)
        add_group(forecasting, &groups[i]);
    if ((next.shard > 0 || next.name.size > 0) && forecasting->group_count < GROUPS_MAX &&
        next.name.size <= JOB_TOPIC_NAME_MAX) {
        memcpy(forecasting->group_room, next.name.data ? next.name.data : "", next.name.size);
        forecasting->group_from =
            (struct topic_cursor){next.shard, slice_from(forecasting->group_room, next.name.size)};
        ask_groups(forecasting);
        return;
    }
    if (forecasting->group_count > 0)
        qsort(forecasting->groups, forecasting->group_count, sizeof *forecasting->groups, compare_groups);
    ask_schedules(forecasting);
}

static void ask_groups(struct forecasting *forecasting)
{
    struct store_topics list = {.max = APP_PAGE_MAX, .from = forecasting->group_from, .are_groups = true};
    store_topics(forecasting->app->store, &list, on_groups, forecasting);
}

/* ---- 3: waiting jobs of topics ---- */

static void ask_demand(struct forecasting *);

static void set_topic(struct forecasting *forecasting, const struct demand_topic *found)
{
    struct topic_settings settings;
    enum topic_service service = topic_settings_service(found->settings);
    if (topic_settings_read_for(found->name, found->settings, &settings) != STATUS_OK)
        return;
    struct forecast_bounds bounds = bounds_of(forecasting, &settings);
    bounds.is_paused = bounds.is_paused || service == TOPIC_UNREADABLE;
    if (bounds.max_in_flight == 0)
        bounds.max_in_flight = forecasting->free.max_in_flight;
    bounds.closed_until_ms = found->line_ms;
    bounds.rate_spent_us = found->rate_spent_us;
    bounds.rate_began_ms = found->rate_began_ms;
    bounds.rate_begun = found->rate_begun;
    if (topic_settings_are_pull(&settings))
        bounds.max_in_flight = 0; /* workers lease the jobs, and their number is unknown */
    forecast_plan_set_topic(forecasting->plan, found->name, &bounds, settings.windows, settings.limit);
    topic_settings_fini(&settings);
}

static void add_topic(struct forecasting *forecasting, const struct demand_topic *found)
{
    struct slice counts = found->counts;
    struct forecast_cell cells[TOPIC_CELLS];
    size_t number = 0;
    int64_t cell, jobs;
    if (!app_caller_reaches(forecasting->caller, found->name))
        return;
    if (found->settings.size)
        set_topic(forecasting, found);
    while (demand_take_count(&counts, &cell, &jobs)) {
        forecasting->answer.waiting += jobs;
        if (cell < 0)
            forecast_plan_add_overdue(forecasting->plan, found->name, jobs, found->overdue_since_ms);
        else
            cells[number++] = (struct forecast_cell){(uint32_t)cell, (uint32_t)jobs};
        if (number == TOPIC_CELLS || counts.size == 0) {
            forecast_plan_add(forecasting->plan, found->name, cells, number, 1);
            number = 0;
        }
    }
}

static void on_demand_page(void *arg, enum status status, const struct demand_topic *topics, size_t count)
{
    struct forecasting *forecasting = arg;
    if (status != STATUS_OK) {
        forecasting_fail(forecasting, status);
        return;
    }
    for (size_t i = 0; i < count; i++)
        add_topic(forecasting, &topics[i]);
    if (forecasting->walk.is_over)
        ask_groups(forecasting);
    else
        ask_demand(forecasting);
}

static void ask_demand(struct forecasting *forecasting)
{
    demand_walk_step(forecasting->app->store, &forecasting->walk, on_demand_page, forecasting);
}

/* ---- 2: limits ---- */

static void ask_limits(struct forecasting *);

static void set_limit(struct forecasting *forecasting, const struct limit *limit)
{
    struct topic_settings settings;
    if (limit_settings_read(limit->settings, &settings) != STATUS_OK)
        return;
    struct forecast_bounds bounds = bounds_of(forecasting, &settings);
    if (limit->next_ms > limit->now_ms && settings.rate_jobs && !settings.is_rate_window)
        /* The burst is used up, and the next attempt may begin then. */
        bounds.rate_spent_us =
            1000 * (limit->next_ms + settings.rate_per_ms * (settings.rate_burst - 1) / settings.rate_jobs);
    forecast_plan_set_limit(forecasting->plan, limit->name, &bounds);
    topic_settings_fini(&settings);
}

static void on_limits(void *arg, enum status status, const struct limit *limits, size_t count, bool has_more)
{
    struct forecasting *forecasting = arg;
    if (status != STATUS_OK) {
        forecasting_fail(forecasting, status);
        return;
    }
    for (size_t i = 0; i < count; i++)
        set_limit(forecasting, &limits[i]);
    if (has_more && count > 0 && limits[count - 1].name.size <= JOB_TOPIC_NAME_MAX) {
        memcpy(forecasting->limit_after, limits[count - 1].name.data, limits[count - 1].name.size);
        forecasting->limit_after[limits[count - 1].name.size] = '\0';
        ask_limits(forecasting);
        return;
    }
    ask_demand(forecasting);
}

static void ask_limits(struct forecasting *forecasting)
{
    store_limits(forecasting->app->store, SLICE(""), slice_of(forecasting->limit_after), LIMITS_PAGE,
                 on_limits, forecasting);
}

/* ---- 1: a request ---- */

static void forecasting_begin(struct forecasting *forecasting)
{
    set_free(forecasting);
    forecasting->times_left = TIMES_MAX;
    forecasting->first_cell = forecast_cell_of(&forecasting->grid, forecasting->answer.steps.from_ms);
    forecasting->plan = forecast_plan_new(&forecasting->grid, &forecasting->answer.steps, &forecasting->free);
    ask_limits(forecasting);
}

void app_forecast(struct app *app, const struct app_caller *caller, const struct app_forecast_call *call,
                  app_forecast_fn *fn, void *arg)
{
    struct forecasting *forecasting = NEW(struct forecasting), *last = app->forecasting;
    *forecasting = (struct forecasting){.app = app, .caller = caller, .call = *call, .fn = fn, .arg = arg};
    live_board_ask(app->live, clock_boot_us());
    if (!set_grid(forecasting))
        return;
    if (!last) {
        app->forecasting = forecasting;
        forecasting_begin(forecasting);
        return;
    }
    size_t waiting = 1;
    for (; last->next; waiting++)
        last = last->next;
    if (waiting <= WAITING_MAX) {
        last->next = forecasting;
        return;
    }
    fn(arg,
       &(struct app_verdict){.end = STATUS_UNAVAILABLE, .why = SLICE("Too many forecasts wait already.")},
       NULL);
    forecasting_free(forecasting);
}

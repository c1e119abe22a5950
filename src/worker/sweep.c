#include "worker/sweep.h"

#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/system.h"
#include "store/clock.h"

enum {
    SHARE_MIN = 10, /* smallest share of Redis's time, in percent */
    SHARE_MAX = 50,
    SHARE_DUE = 75,
    /* Redis needs at most 5 ms for a step. If a reply takes longer, Redis was busy with other work. The pause
     * does not grow with this additional time, because sweeps must end even if Redis is busy. */
    STEP_US_MAX = 5000,
};

struct pace {
    loop_fn *step;
    void *arg;
    struct timer *pause;
    bool is_stepping;
    bool is_running; /* from the first step to the end, including the pauses */
    int64_t began_us;
};

static void note_running(struct pace *pace, bool is_running)
{
    if (pace->is_running != is_running)
        clock_note_work(is_running ? 1 : -1);
    pace->is_running = is_running;
}

static void run_step(void *arg)
{
    struct pace *pace = arg;
    note_running(pace, true);
    pace->is_stepping = true;
    pace->began_us = clock_boot_us();
    pace->step(pace->arg);
}

struct pace *pace_new(struct loop *loop, loop_fn *step, void *arg)
{
    struct pace *pace = NEW(struct pace);
    pace->step = step;
    pace->arg = arg;
    pace->pause = timer_new(loop, run_step, pace);
    return pace;
}

void pace_run(struct pace *pace)
{
    if (!pace->is_stepping && !timer_is_armed(pace->pause))
        run_step(pace);
}

static int64_t pause_of_share(int64_t took_us, int64_t share)
{
    int64_t step_us = took_us < STEP_US_MAX ? took_us : STEP_US_MAX;
    return step_us * (100 - share) / share;
}

int64_t pace_pause_us(int64_t took_us, int64_t late_ms)
{
    int64_t late_share = late_ms > 0 ? (SHARE_MAX - SHARE_MIN) * late_ms / PACE_LATE_MS : 0;
    return pause_of_share(took_us, late_ms >= PACE_LATE_MS ? SHARE_MAX : SHARE_MIN + late_share);
}

/* Returns the time that the step took. */
static int64_t end_pace_step(struct pace *pace)
{
    pace->is_stepping = false;
    return clock_boot_us() - pace->began_us;
}

void pace_continue(struct pace *pace, int64_t late_ms)
{
    timer_start(pace->pause, pace_pause_us(end_pace_step(pace), late_ms));
}

void pace_continue_due(struct pace *pace)
{
    timer_start(pace->pause, pause_of_share(end_pace_step(pace), SHARE_DUE));
}

void pace_end(struct pace *pace)
{
    pace->is_stepping = false;
    timer_stop(pace->pause);
    note_running(pace, false);
}

void pace_free(struct pace *pace)
{
    if (!pace)
        return;
    note_running(pace, false);
    timer_free(pace->pause);
    free(pace);
}

/* ---- idempotency keys ---- */

struct forgetter {
    struct shard *shard;
    struct pace *pace;
};

static void on_forgotten(void *arg, enum status status, bool is_full)
{
    struct forgetter *forgetter = arg;
    if (status == STATUS_OK && is_full)
        pace_continue(forgetter->pace, 0);
    else
        pace_end(forgetter->pace);
}

static void forgetter_step(void *arg)
{
    struct forgetter *forgetter = arg;
    shard_forget(forgetter->shard, on_forgotten, forgetter);
}

struct forgetter *forgetter_new(struct loop *loop, struct shard *shard)
{
    struct forgetter *forgetter = NEW(struct forgetter);
    forgetter->shard = shard;
    forgetter->pace = pace_new(loop, forgetter_step, forgetter);
    return forgetter;
}

void forgetter_run(struct forgetter *forgetter)
{
    pace_run(forgetter->pace);
}

void forgetter_free(struct forgetter *forgetter)
{
    if (!forgetter)
        return;
    pace_free(forgetter->pace);
    free(forgetter);
}

/* ---- ended jobs ---- */

struct sweeper {
    struct shard *shard;
    struct metrics *metrics;
    struct pace *pace;
    struct shard_swept total; /* numbers of removed jobs in the current sweep */
};

static void add(struct sweeper *sweeper, const struct shard_swept *swept)
{
    struct shard_swept *total = &sweeper->total;
    total->ended += swept->ended;
    total->by_retention += swept->by_retention;
    total->by_age += swept->by_age;
    total->by_number += swept->by_number;
    metrics_count(sweeper->metrics, METRICS_COUNTER_DEAD_REMOVED_BY_RETENTION, swept->by_retention);
    metrics_count(sweeper->metrics, METRICS_COUNTER_DEAD_REMOVED_BY_AGE, swept->by_age);
    metrics_count(sweeper->metrics, METRICS_COUNTER_DEAD_REMOVED_BY_NUMBER, swept->by_number);
}

static void on_swept(void *arg, enum status status, const struct shard_swept *swept)
{
    struct sweeper *sweeper = arg;
    if (status == STATUS_OK)
        add(sweeper, swept);
    if (status == STATUS_OK && swept->is_full) {
        pace_continue(sweeper->pace, swept->late_ms);
        return;
    }
    /* Dead jobs removed by a limit are a warning, because they cannot be run again. */
    const struct shard_swept *total = &sweeper->total;
    bool is_bound = total->by_age + total->by_number > 0;
    if (total->ended + total->by_retention > 0 || is_bound)
        LOG_EVENT(is_bound ? LOG_LEVEL_WARNING : LOG_LEVEL_DEBUG, is_bound ? "dead_jobs_removed" : "swept",
                  LOG_NUMBER("shard", shard_number(sweeper->shard)), LOG_NUMBER("ended", total->ended),
                  LOG_NUMBER("by_retention", total->by_retention), LOG_NUMBER("by_age", total->by_age),
                  LOG_NUMBER("by_number", total->by_number));
    sweeper->total = (struct shard_swept){.is_full = false};
    pace_end(sweeper->pace);
}

static void sweeper_step(void *arg)
{
    struct sweeper *sweeper = arg;
    shard_sweep(sweeper->shard, on_swept, sweeper);
}

struct sweeper *sweeper_new(struct loop *loop, struct shard *shard, struct metrics *metrics)
{
    struct sweeper *sweeper = NEW(struct sweeper);
    sweeper->shard = shard;
    sweeper->metrics = metrics;
    sweeper->pace = pace_new(loop, sweeper_step, sweeper);
    return sweeper;
}

void sweeper_run(struct sweeper *sweeper)
{
    pace_run(sweeper->pace);
}

void sweeper_free(struct sweeper *sweeper)
{
    if (!sweeper)
        return;
    pace_free(sweeper->pace);
    free(sweeper);
}

/* ---- counts of due jobs ---- */

struct surveyor {
    struct shard *shard;
    struct pace *pace;
    int64_t ended_us; /* time at which the last survey ended, or the first survey began */
    char cursor[SHARD_SURVEY_CURSOR_MAX + 1];
    struct shard_survey found; /* sum of all steps so far; the member cursor is not used */
};

/* Continues or ends the survey. After a failure, the next survey starts from the beginning. */
static void on_surveyed(void *arg, enum status status, const struct shard_survey *survey)
{
    struct surveyor *surveyor = arg;
    surveyor->cursor[0] = '\0';
    if (status == STATUS_OK) {
        snprintf(surveyor->cursor, sizeof surveyor->cursor, "%.*s", SLICE_ARG(survey->cursor));
        surveyor->found = *survey;
    }
    if (surveyor->cursor[0]) {
        /* The age of the last result is the lateness of the survey (sweep.h). A survey of 1,000,000 topics
         * with due jobs costs Redis 4 to 5 s, and gets at most half of Redis's time. So a result is about
         * 10 s old when the next result comes, if no other process uses Redis's processor. */
        pace_continue(surveyor->pace, (clock_boot_us() - surveyor->ended_us) / 1000);
        return;
    }
    surveyor->ended_us = clock_boot_us();
    pace_end(surveyor->pace);
}

static void surveyor_step(void *arg)
{
    struct surveyor *surveyor = arg;
    if (!surveyor->cursor[0])
        surveyor->found = (struct shard_survey){.due_jobs = 0, .oldest_due_ms = -1};
    if (!surveyor->ended_us)
        surveyor->ended_us = clock_boot_us();
    surveyor->found.cursor = slice_of(surveyor->cursor);
    shard_survey(surveyor->shard, &surveyor->found, on_surveyed, surveyor);
}

struct surveyor *surveyor_new(struct loop *loop, struct shard *shard)
{
    struct surveyor *surveyor = NEW(struct surveyor);
    surveyor->shard = shard;
    surveyor->pace = pace_new(loop, surveyor_step, surveyor);
    return surveyor;
}

void surveyor_run(struct surveyor *surveyor)
{
    pace_run(surveyor->pace);
}

void surveyor_free(struct surveyor *surveyor)
{
    if (!surveyor)
        return;
    pace_free(surveyor->pace);
    free(surveyor);
}

/* ---- patterns ---- */

struct pattern_keeper {
    struct store *store;
    struct shard *shard;
    struct pace *pace;
    size_t offered; /* number of topics that the current walk has offered (pattern_keeper.h) */
    bool is_mending;
    int64_t step_ms,
        sent_ms; /* steps of Redis's clock that are not sent yet, and those of the call under way */
};

/* ---- offering topics again ---- */

static void on_reoffered(void *arg, enum status status, size_t count, bool is_full)
{
    struct pattern_keeper *keeper = arg;
    keeper->offered += count;
    if (status == STATUS_UNAVAILABLE)
        keeper->step_ms += keeper->sent_ms; /* the next tick sends it again */
    is_full |= status == STATUS_OK && keeper->step_ms != 0;
    if (status == STATUS_OK && is_full) {
        pace_continue(
            keeper->pace,
            PACE_LATE_MS); /* topics wait for their new settings, so the walk may take half of Redis's time */
        return;
    }
    if (status == STATUS_OK && keeper->offered > 0)
        LOG_EVENT(LOG_LEVEL_DEBUG, "topics_offered_again", LOG_NUMBER("shard", shard_number(keeper->shard)),
                  LOG_NUMBER("topics", keeper->offered));
    keeper->offered = 0;
    pace_end(keeper->pace);
}

static void reoffer_step(void *arg)
{
    struct pattern_keeper *keeper = arg;
    keeper->sent_ms = keeper->step_ms;
    keeper->step_ms = 0;
    shard_reoffer(keeper->shard, keeper->sent_ms, on_reoffered, keeper);
}

/* ---- mending copies ---- */

static void on_mended(void *arg, enum status status, size_t count)
{
    struct pattern_keeper *keeper = arg;
    keeper->is_mending = false;
    if (status == STATUS_OK && count > 0)
        log_warning("patterns_mended", LOG_NUMBER("shards", count));
}

/* ---- */

struct pattern_keeper *pattern_keeper_new(struct loop *loop, struct store *store, struct shard *shard)
{
    struct pattern_keeper *keeper = NEW(struct pattern_keeper);
    keeper->store = store;
    keeper->shard = shard;
    keeper->pace = pace_new(loop, reoffer_step, keeper);
    return keeper;
}

void pattern_keeper_tick(struct pattern_keeper *keeper, bool has_walk)
{
    if (!keeper)
        return;
    if (has_walk || keeper->step_ms != 0)
        pace_run(keeper->pace);
    if (keeper->is_mending || store_shards(keeper->store) == 1 ||
        shard_number(keeper->shard) != store_patterns_shard(keeper->store))
        return;
    keeper->is_mending = true;
    store_mend_patterns(keeper->store, on_mended, keeper);
}

void pattern_keeper_step(struct pattern_keeper *keeper, int64_t ms)
{
    if (!keeper)
        return;
    keeper->step_ms += ms;
    pace_run(keeper->pace);
}

void pattern_keeper_free(struct pattern_keeper *keeper)
{
    if (!keeper)
        return;
    pace_free(keeper->pace);
    free(keeper);
}

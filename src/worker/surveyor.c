#include "worker/surveyor.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"

/* A survey of 1,000,000 topics with due jobs is to take less than 10 s. That needs more of Redis's time than
 * other sweeps get: a fifth, while so many jobs wait that nothing else would get it. */
enum { PAUSE_PER_STEP = 4, PAUSE_US_MAX = 20 * 1000 };

struct surveyor {
    struct shard *shard;
    struct timer *pause;
    bool is_running;
    int64_t began_us; /* the step under way */
    char cursor[SHARD_SURVEY_CURSOR_MAX + 1];
    struct shard_survey found; /* by the steps so far; its cursor is not used */
};

static void on_surveyed(void *arg, enum status status, const struct shard_survey *survey)
{
    struct surveyor *surveyor = arg;
    int64_t pause_us = PAUSE_PER_STEP * (clock_boot_us() - surveyor->began_us);
    surveyor->cursor[0] = '\0'; /* after a failure the next run begins anew */
    if (status == STATUS_OK) {
        snprintf(surveyor->cursor, sizeof surveyor->cursor, "%.*s", SLICE_ARG(survey->cursor));
        surveyor->found = *survey;
    }
    surveyor->is_running = surveyor->cursor[0] != '\0';
    if (surveyor->is_running)
        timer_start(surveyor->pause, pause_us < PAUSE_US_MAX ? pause_us : PAUSE_US_MAX);
}

static void step(void *arg)
{
    struct surveyor *surveyor = arg;
    if (!surveyor->cursor[0])
        surveyor->found = (struct shard_survey){.due_jobs = 0, .oldest_due_ms = -1};
    surveyor->is_running = true;
    surveyor->began_us = clock_boot_us();
    surveyor->found.cursor = slice_of(surveyor->cursor);
    shard_survey(surveyor->shard, &surveyor->found, on_surveyed, surveyor);
}

struct surveyor *surveyor_new(struct loop *loop, struct shard *shard)
{
    struct surveyor *surveyor = NEW(struct surveyor);
    surveyor->shard = shard;
    surveyor->pause = timer_new(loop, step, surveyor);
    return surveyor;
}

void surveyor_run(struct surveyor *surveyor)
{
    if (!surveyor->is_running)
        step(surveyor);
}

void surveyor_free(struct surveyor *surveyor)
{
    if (!surveyor)
        return;
    timer_free(surveyor->pause);
    free(surveyor);
}

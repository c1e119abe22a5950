#include "worker/surveyor.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "worker/pace.h"

struct surveyor {
    struct shard *shard;
    struct pace *pace;
    int64_t ended_us; /* time at which the last survey ended, or the first survey began */
    char cursor[SHARD_SURVEY_CURSOR_MAX + 1];
    struct shard_survey found; /* sum of all steps so far; the member cursor is not used */
};

/* Returns the age of the last result, which is used as the lateness of the survey (pace.h). A survey of
 * 1,000,000 topics with due jobs costs Redis 4 to 5 s, and gets at most half of Redis's time. So a result is
 * about 10 s old when the next result comes, if no other process uses Redis's processor. */
static int64_t age_ms(const struct surveyor *surveyor)
{
    return (clock_boot_us() - surveyor->ended_us) / 1000;
}

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
        pace_again(surveyor->pace, age_ms(surveyor));
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

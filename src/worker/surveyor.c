#include "worker/surveyor.h"

#include <stdio.h>

#include "base/memory.h"
#include "worker/pace.h"

struct surveyor {
    struct shard *shard;
    struct pace *pace;
    char cursor[SHARD_SURVEY_CURSOR_MAX + 1];
    struct shard_survey found; /* by the steps so far; its cursor is not used */
};

static void on_surveyed(void *arg, enum status status, const struct shard_survey *survey)
{
    struct surveyor *surveyor = arg;
    surveyor->cursor[0] = '\0';
    if (status != STATUS_OK) {
        pace_end(surveyor->pace); /* the next run begins anew */
        return;
    }
    snprintf(surveyor->cursor, sizeof surveyor->cursor, "%.*s", SLICE_ARG(survey->cursor));
    surveyor->found = *survey;
    if (surveyor->cursor[0])
        pace_again(surveyor->pace);
    else
        pace_end(surveyor->pace);
}

static void step(void *arg)
{
    struct surveyor *surveyor = arg;
    if (!surveyor->cursor[0])
        surveyor->found = (struct shard_survey){.due_jobs = 0, .oldest_due_ms = -1};
    surveyor->found.cursor = slice_of(surveyor->cursor);
    shard_survey(surveyor->shard, &surveyor->found, on_surveyed, surveyor);
}

struct surveyor *surveyor_new(struct loop *loop, struct shard *shard)
{
    struct surveyor *surveyor = NEW(struct surveyor);
    surveyor->shard = shard;
    surveyor->pace = pace_new(loop, step, surveyor);
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

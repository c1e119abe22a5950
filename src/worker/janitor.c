#include "worker/janitor.h"

#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "worker/sweep.h"

enum { CURSOR_MAX = 256 };

/* The names of the walks in mend.lua. A walk visits all elements of one structure in Redis, in steps. The
 * patrol (janitor.h) skips hashes that contain records, because Redis 7 cannot walk through such a hash
 * without reading the records. Instead, the patrol checks randomly chosen jobs. */
static const struct {
    struct slice name;
    bool is_of_patrol, is_of_mending;
} walks[] = {
    {SLICE_INIT("jobs"), false, true},      {SLICE_INIT("some_jobs"), true, false},
    {SLICE_INIT("leases"), true, true},     {SLICE_INIT("pulled"), true, true},
    {SLICE_INIT("attempts"), true, true},   {SLICE_INIT("kept"), false, true},
    {SLICE_INIT("dead"), true, true},       {SLICE_INIT("ended"), false, true},
    {SLICE_INIT("kept_until"), true, true}, {SLICE_INIT("dead_due"), true, true},
    {SLICE_INIT("due"), true, true},        {SLICE_INIT("turns"), true, true},
    {SLICE_INIT("held"), true, true},       {SLICE_INIT("lines"), true, true},
    {SLICE_INIT("names"), true, true},      {SLICE_INIT("topics"), true, true},
    {SLICE_INIT("calendars"), false, true}, {SLICE_INIT("waiting"), true, true},
    {SLICE_INIT("limited"), true, true},    {SLICE_INIT("ranks"), true, true},
    {SLICE_INIT("lanes"), true, true},
};
enum { WALKS = sizeof walks / sizeof *walks };

struct janitor {
    struct shard *shard;
    struct metrics *metrics;
    struct sweeper *sweeper;
    struct surveyor *surveyor;
    struct store_counts counts;
    bool is_auditing;
    bool is_walking; /* a step is under way */
    /* Every other step of the patrol examines the calendars: a topic with jobs that is in neither of them is
     * not delivered, and no count is wrong. */
    bool is_of_calendars; /* the step under way is such a step */
    bool calendars_next;
    char calendars_cursor[CURSOR_MAX];
    bool is_mending; /* true: a repair, whose steps follow one another; false: the patrol, with one step in
                        every other tick */
    bool patrols_next;
    size_t walk;
    char cursor[CURSOR_MAX];
    size_t mended; /* number of repairs since the round of walks began */
};

static void janitor_step(struct janitor *);

static void on_mended(void *arg, enum status status, struct slice cursor, const struct slice *mended,
                      size_t count)
{
    struct janitor *janitor = arg;
    janitor->is_walking = false;
    if (status != STATUS_OK) {
        janitor->is_mending = false; /* the next audit begins the repair again */
        return;
    }
    for (size_t i = 0; i < count; i++)
        log_error("mended", LOG_SLICE("what", mended[i]));
    janitor->mended += count;
    metrics_count(janitor->metrics, METRICS_COUNTER_MENDED, count);
    if (janitor->is_of_calendars) {
        snprintf(janitor->calendars_cursor, sizeof janitor->calendars_cursor, "%.*s", SLICE_ARG(cursor));
        return;
    }
    snprintf(janitor->cursor, sizeof janitor->cursor, "%.*s", SLICE_ARG(cursor));
    if (slice_equal(cursor, SLICE("0")))
        janitor->walk++;
    if (janitor->is_mending)
        janitor_step(janitor);
}

static void begin_walk(struct janitor *janitor)
{
    janitor->walk = 0;
    janitor->mended = 0;
    snprintf(janitor->cursor, sizeof janitor->cursor, "0");
}

static void janitor_step(struct janitor *janitor)
{
    while (janitor->walk < WALKS &&
           !(janitor->is_mending ? walks[janitor->walk].is_of_mending : walks[janitor->walk].is_of_patrol))
        janitor->walk++;
    if (janitor->walk == WALKS) {
        if (janitor->is_mending)
            log_warning("mending_done", LOG_NUMBER("mended", janitor->mended));
        janitor->is_mending = false;
        begin_walk(janitor);
        return;
    }
    janitor->is_walking = true;
    janitor->is_of_calendars = false;
    shard_mend(janitor->shard, walks[janitor->walk].name, slice_of(janitor->cursor), on_mended, janitor);
}

static void patrol(struct janitor *janitor)
{
    janitor->calendars_next = !janitor->calendars_next;
    if (!janitor->calendars_next) {
        janitor_step(janitor);
        return;
    }
    janitor->is_walking = janitor->is_of_calendars = true;
    shard_mend(janitor->shard, SLICE("calendars"), slice_of(janitor->calendars_cursor), on_mended, janitor);
}

static void start_mending(struct janitor *janitor)
{
    log_error("books_are_off", LOG_NUMBER("shard", shard_number(janitor->shard)),
              LOG_NUMBER("jobs", janitor->counts.jobs), LOG_NUMBER("waiting", janitor->counts.waiting),
              LOG_NUMBER("leased", janitor->counts.leased), LOG_NUMBER("dead", janitor->counts.dead),
              LOG_NUMBER("histories", janitor->counts.histories), LOG_NUMBER("kept", janitor->counts.kept),
              LOG_NUMBER("kept_with_time", janitor->counts.kept_with_time),
              LOG_NUMBER("outbox", janitor->counts.outbox),
              LOG_NUMBER("outbox_listed", janitor->counts.outbox_listed));
    janitor->is_mending = true;
    begin_walk(janitor);
    janitor_step(janitor);
}

static bool are_off(const struct store_counts *counts)
{
    return counts->jobs != counts->waiting + counts->leased || counts->histories > counts->jobs ||
           counts->kept != counts->dead + counts->kept_with_time || counts->outbox > counts->outbox_listed;
}

static void on_audited(void *arg, enum status status, const struct store_counts *counts)
{
    struct janitor *janitor = arg;
    janitor->is_auditing = false;
    if (status != STATUS_OK)
        return;
    janitor->counts = *counts;
    if (counts->takes_survey)
        surveyor_run(janitor->surveyor);
    if (!janitor->is_walking && are_off(counts))
        start_mending(janitor);
}

struct janitor *janitor_new(struct loop *loop, struct shard *shard, struct metrics *metrics)
{
    struct janitor *janitor = NEW(struct janitor);
    janitor->shard = shard;
    janitor->metrics = metrics;
    janitor->sweeper = sweeper_new(loop, shard, metrics);
    janitor->surveyor = surveyor_new(loop, shard);
    begin_walk(janitor);
    snprintf(janitor->calendars_cursor, sizeof janitor->calendars_cursor, "0");
    return janitor;
}

static void audit(struct janitor *janitor)
{
    if (janitor->is_auditing)
        return;
    janitor->is_auditing = true;
    shard_audit(janitor->shard, on_audited, janitor);
}

void janitor_tick(struct janitor *janitor)
{
    if (!janitor->patrols_next)
        audit(janitor);
    else if (!janitor->is_walking && !are_off(&janitor->counts))
        patrol(janitor);
    janitor->patrols_next = !janitor->patrols_next;
}

void janitor_sweep(struct janitor *janitor)
{
    if (janitor)
        sweeper_run(janitor->sweeper);
}

void janitor_free(struct janitor *janitor)
{
    if (!janitor)
        return;
    sweeper_free(janitor->sweeper);
    surveyor_free(janitor->surveyor);
    free(janitor);
}

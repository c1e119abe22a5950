#include "worker/janitor.h"

#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "worker/sweeper.h"

/* An audit counts each topic's bucket: with many topics it is made less often, so
 * that its share of Redis's time stays the same. */
enum { TOPICS_PER_TICK = 1000, CURSOR_MAX = 64 };

static const struct slice walks[] = {{"jobs", 4}, {"leases", 6},      {"dead", 4}, {"attempts", 8},
                                     {"kept", 4}, {"kept_until", 10}, {"due", 3},  {"turns", 5}};
enum { WALKS = sizeof walks / sizeof *walks };

struct janitor {
    struct shard *shard;
    struct metrics *metrics;
    struct sweeper *sweeper;
    struct store_counts counts;
    int64_t ticks_to_skip;
    bool is_auditing;
    bool is_mending;
    size_t walk; /* the one under way */
    char cursor[CURSOR_MAX];
    size_t mended; /* in this round */
};

static void step(struct janitor *);

static void on_mended(void *arg, enum status status, struct slice cursor, const struct slice *mended,
                      size_t count)
{
    struct janitor *janitor = arg;
    if (status != STATUS_OK) {
        janitor->is_mending = false; /* the next audit begins it anew */
        return;
    }
    for (size_t i = 0; i < count; i++)
        log_error("mended", LOG_SLICE("what", mended[i]));
    janitor->mended += count;
    metrics_count(janitor->metrics, METRICS_COUNTER_MENDED, count);
    snprintf(janitor->cursor, sizeof janitor->cursor, "%.*s", SLICE_ARG(cursor));
    if (slice_equal(cursor, SLICE("0")))
        janitor->walk++;
    step(janitor);
}

static void step(struct janitor *janitor)
{
    if (janitor->walk == WALKS) {
        janitor->is_mending = false;
        log_warning("mending_done", LOG_NUMBER("mended", janitor->mended));
        return;
    }
    shard_mend(janitor->shard, walks[janitor->walk], slice_of(janitor->cursor), on_mended, janitor);
}

static void start_mending(struct janitor *janitor)
{
    log_error("books_are_off", LOG_NUMBER("shard", shard_number(janitor->shard)),
              LOG_NUMBER("jobs", janitor->counts.jobs), LOG_NUMBER("waiting", janitor->counts.waiting),
              LOG_NUMBER("leased", janitor->counts.leased), LOG_NUMBER("dead", janitor->counts.dead),
              LOG_NUMBER("histories", janitor->counts.histories), LOG_NUMBER("kept", janitor->counts.kept),
              LOG_NUMBER("kept_with_time", janitor->counts.kept_with_time));
    janitor->is_mending = true;
    janitor->walk = 0;
    janitor->mended = 0;
    snprintf(janitor->cursor, sizeof janitor->cursor, "0");
    step(janitor);
}

static bool are_off(const struct store_counts *counts)
{
    return counts->jobs != counts->waiting + counts->leased + counts->dead ||
           counts->histories > counts->jobs || counts->kept != counts->kept_with_time;
}

static void on_audited(void *arg, enum status status, const struct store_counts *counts)
{
    struct janitor *janitor = arg;
    janitor->is_auditing = false;
    if (status != STATUS_OK)
        return;
    janitor->counts = *counts;
    janitor->ticks_to_skip = counts->topics / TOPICS_PER_TICK;
    if (counts->is_to_sweep)
        sweeper_run(janitor->sweeper);
    if (are_off(counts) && !janitor->is_mending)
        start_mending(janitor);
}

struct janitor *janitor_new(struct shard *shard, struct metrics *metrics)
{
    struct janitor *janitor = NEW(struct janitor);
    janitor->shard = shard;
    janitor->metrics = metrics;
    janitor->sweeper = sweeper_new(shard);
    return janitor;
}

void janitor_tick(struct janitor *janitor)
{
    if (janitor->is_auditing || janitor->ticks_to_skip-- > 0)
        return;
    janitor->is_auditing = true;
    shard_audit(janitor->shard, on_audited, janitor);
}

void janitor_free(struct janitor *janitor)
{
    if (!janitor)
        return;
    sweeper_free(janitor->sweeper);
    free(janitor);
}

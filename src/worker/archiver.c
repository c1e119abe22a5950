#include "worker/archiver.h"

#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/system.h"
#include "worker/sweep.h"

#define TICKS_US    INT64_C(2500000) /* without a tick for this time, the carry lock may be lost */
#define WAIT_MIN_US INT64_C(250000)  /* shortest wait between a failure and the next try */
#define WAIT_MAX_US INT64_C(5000000)
#define SET_US      INT64_C(10000000) /* time between two calls that turn the history on or off */
#define TOLD_US     INT64_C(10000000) /* time between two warnings of dropped texts */

enum {
    BATCHES_MAX = 16, /* maximum number of batches that were read and are still in the outbox */
    BYTES_MAX = 8 * 1024 * 1024,
};

struct archiver {
    struct archiver_options options;
    struct pace *pace;
    struct timer *wait; /* runs after a failure, until the next try */
    struct list batches;
    size_t batch_count;
    size_t bytes;        /* total size of the batches in hand */
    size_t in_hand;      /* number of texts in batches whose removal has not been sent yet */
    size_t read_in_hand; /* value of in_hand when the last read was sent */
    /* The outbox's list of read texts may differ from the batches in hand. When no batch is left, the
     * archiver begins again at the first text of the outbox. */
    bool is_disturbed;
    bool is_stopping;
    bool is_failing; /* the last append has failed, so only one batch is tried at a time */
    int64_t wait_us; /* wait before the next try */
    int64_t ticked_us;
    int64_t set_us;     /* time of the last read; each read also turns the history on or off */
    bool has_told_left; /* the log already says that the outbox has texts although there is no history */
    bool knows_dropped;
    bool is_on_trail;      /* lines of the audit log are being read or added */
    size_t lines;          /* number of lines that were read */
    int64_t lines_removed; /* number of lines that had been removed before them */
    bool knows_dropped_lines;
    int64_t dropped_lines;
    int64_t dropped_told, told_us; /* number of dropped texts in the last warning, and its time */
};

/* A batch that is being added to the history, or removed from the outbox after that. */
struct archive_batch {
    struct list link;
    struct archiver *archiver;
    struct outbox_batch *outbox;
    size_t bytes;
    size_t count;    /* number of texts */
    size_t expected; /* number of texts that are not empty */
};

static int64_t shard_of(const struct archiver *archiver)
{
    return (int64_t)shard_number(archiver->options.shard);
}

static void batch_free(struct archive_batch *batch)
{
    struct archiver *archiver = batch->archiver;
    list_remove(&batch->link);
    archiver->batch_count--;
    archiver->bytes -= batch->bytes;
    outbox_batch_free(batch->outbox);
    free(batch);
}

/* ---- the log ---- */

static void tell_dropped(struct archiver *archiver, int64_t dropped)
{
    if (!archiver->knows_dropped || dropped < archiver->dropped_told)
        archiver->dropped_told = dropped;
    archiver->knows_dropped = true;
    if (dropped == archiver->dropped_told || clock_boot_us() - archiver->told_us < TOLD_US)
        return;
    log_error("history_dropped", LOG_NUMBER("shard", shard_of(archiver)),
              LOG_NUMBER("jobs", dropped - archiver->dropped_told),
              LOG_TEXT("why", "the outbox is larger than --history-backlog"));
    archiver->dropped_told = dropped;
    archiver->told_us = clock_boot_us();
}

/* ---- a batch: append, remove ---- */

/* Makes the archiver begin again at the first text of the outbox when it has no more batches in hand. */
static void disturb(struct archiver *archiver, bool is_failure)
{
    archiver->is_disturbed = true;
    if (!is_failure)
        return;
    archiver->wait_us = archiver->wait_us ? 2 * archiver->wait_us : WAIT_MIN_US;
    if (archiver->wait_us > WAIT_MAX_US)
        archiver->wait_us = WAIT_MAX_US;
    timer_start(archiver->wait, archiver->wait_us);
}

static void go_on(struct archiver *archiver)
{
    if (archiver->is_disturbed && archiver->batch_count == 0 && !timer_is_armed(archiver->wait))
        pace_run(archiver->pace);
}

static void archiver_on_removed(void *arg, enum status status, size_t removed)
{
    struct archive_batch *batch = arg;
    struct archiver *archiver = batch->archiver;
    metrics_count(archiver->options.metrics, METRICS_COUNTER_ARCHIVED, removed);
    if (status != STATUS_OK || removed < batch->expected)
        disturb(archiver, false);
    batch_free(batch);
    go_on(archiver);
}

static void archiver_on_appended(void *arg, enum status status, const char *why)
{
    struct archive_batch *batch = arg;
    struct archiver *archiver = batch->archiver;
    archiver->in_hand -= batch->count;
    if (status == STATUS_OK) {
        archiver->is_failing = false;
        archiver->wait_us = 0;
    }
    if (status == STATUS_OK && outbox_batch_is_current(archiver->options.shard, batch->outbox)) {
        outbox_remove(archiver->options.shard, batch->outbox, archiver_on_removed, batch);
        return;
    }
    (void)why; /* the history logs the reason */
    archiver->is_failing = status != STATUS_OK;
    disturb(archiver, archiver->is_failing);
    batch_free(batch);
    go_on(archiver);
}

static void append(struct archiver *archiver, const struct outbox_read *read)
{
    struct history_entry entries[OUTBOX_READ_MAX];
    struct archive_batch *batch = NEW(struct archive_batch);
    batch->archiver = archiver;
    batch->outbox = outbox_batch_new(archiver->options.shard, read, archiver->read_in_hand);
    batch->count = read->count;
    for (size_t i = 0; i < read->count; i++) {
        batch->bytes += read->texts[i].text.size;
        if (read->texts[i].text.size)
            entries[batch->expected++] =
                (struct history_entry){outbox_id(&read->texts[i]), read->texts[i].text, false};
    }
    list_append(&archiver->batches, &batch->link);
    archiver->batch_count++;
    archiver->bytes += batch->bytes;
    archiver->in_hand += read->count;
    if (batch->expected)
        history_append(archiver->options.history, entries, batch->expected, archiver_on_appended, batch);
    else
        archiver_on_appended(batch, STATUS_OK, "");
}

/* ---- the trail: lines of the audit log ----
 *
 * One batch at a time: read, add to the history, remove and read the next. */

static void archiver_on_noted(void *arg, enum status status, const char *why);

static void tell_dropped_lines(struct archiver *archiver, int64_t dropped)
{
    if (archiver->knows_dropped_lines && dropped > archiver->dropped_lines)
        log_error("audit_dropped", LOG_NUMBER("shard", shard_of(archiver)),
                  LOG_NUMBER("lines", dropped - archiver->dropped_lines),
                  LOG_TEXT("why", "more than 16 MiB of lines wait for the database of the history"));
    archiver->knows_dropped_lines = true;
    archiver->dropped_lines = dropped;
}

static void archiver_on_trail(void *arg, enum status status, const struct trail_read *read)
{
    struct archiver *archiver = arg;
    archiver->lines = 0;
    archiver->is_on_trail = status == STATUS_OK && read->count > 0 && !archiver->is_stopping;
    if (status != STATUS_OK)
        return;
    tell_dropped_lines(archiver, read->dropped);
    archiver->lines_removed = read->removed;
    if (!archiver->is_on_trail)
        return;
    archiver->lines = read->count;
    history_note(archiver->options.history, read->lines, read->count, archiver_on_noted, archiver);
}

/* If the append has failed, the next tick begins again. */
static void archiver_on_noted(void *arg, enum status status, const char *why)
{
    struct archiver *archiver = arg;
    (void)why; /* the history logs the reason */
    archiver->is_on_trail = status == STATUS_OK && !archiver->is_stopping;
    if (archiver->is_on_trail)
        trail_read(archiver->options.shard, archiver->lines_removed, archiver->lines, archiver_on_trail,
                   archiver);
}

static void trail_begin(struct archiver *archiver)
{
    if (archiver->is_on_trail)
        return;
    archiver->is_on_trail = true;
    trail_read(archiver->options.shard, 0, 0, archiver_on_trail, archiver);
}

/* ---- reading ---- */

static bool may_read(const struct archiver *archiver)
{
    return !archiver->is_stopping && archiver->options.history && !timer_is_armed(archiver->wait) &&
           clock_boot_us() - archiver->ticked_us < TICKS_US && archiver->batch_count < BATCHES_MAX &&
           archiver->bytes < BYTES_MAX &&
           !((archiver->is_disturbed || archiver->is_failing) && archiver->batch_count > 0);
}

static void archiver_on_read(void *arg, enum status status, const struct outbox_read *read)
{
    struct archiver *archiver = arg;
    if (status != STATUS_OK) {
        disturb(archiver, false);
        pace_end(archiver->pace);
        return;
    }
    if (!archiver->options.history) {
        if (read->entries > 0 && !archiver->has_told_left)
            log_warning("history_is_off", LOG_NUMBER("shard", shard_of(archiver)),
                        LOG_NUMBER("jobs_in_outbox", read->entries),
                        LOG_TEXT("do", "these ended jobs stay in Redis until a history is configured again"));
        archiver->has_told_left = read->entries > 0;
        pace_end(archiver->pace);
        return;
    }
    tell_dropped(archiver, read->dropped);
    if (read->count)
        append(archiver, read);
    if (read->is_full)
        pace_continue(archiver->pace, read->entries > INT64_C(2) * OUTBOX_READ_MAX ? PACE_LATE_MS : 0);
    else
        pace_end(archiver->pace);
}

static void archiver_step(void *arg)
{
    struct archiver *archiver = arg;
    if (archiver->options.history && !may_read(archiver)) {
        pace_end(archiver->pace);
        return;
    }
    if (archiver->batch_count == 0)
        archiver->is_disturbed = false;
    archiver->read_in_hand = archiver->in_hand;
    archiver->set_us = clock_boot_us();
    outbox_read(archiver->options.shard, archiver->in_hand, archiver_on_read, archiver);
}

static void archiver_on_waited(void *arg)
{
    go_on(arg);
}

/* ---- */

struct archiver *archiver_new(struct loop *loop, const struct archiver_options *options)
{
    struct archiver *archiver = NEW(struct archiver);
    archiver->options = *options;
    archiver->pace = pace_new(loop, archiver_step, archiver);
    archiver->wait = timer_new(loop, archiver_on_waited, archiver);
    archiver->set_us = -SET_US;
    archiver->told_us = -TOLD_US;
    list_init(&archiver->batches);
    return archiver;
}

void archiver_tick(struct archiver *archiver, bool has_texts, bool has_lines, int64_t now_ms)
{
    if (!archiver || archiver->is_stopping)
        return;
    if (archiver->options.history && shard_of(archiver) == 0)
        history_prune(archiver->options.history, now_ms);
    archiver->ticked_us = clock_boot_us();
    if (archiver->options.history && has_lines)
        trail_begin(archiver);
    if ((archiver->options.history && has_texts) || archiver->ticked_us - archiver->set_us >= SET_US)
        pace_run(archiver->pace);
}

void archiver_stop(struct archiver *archiver)
{
    if (archiver)
        archiver->is_stopping = true;
}

void archiver_free(struct archiver *archiver)
{
    if (!archiver)
        return;
    while (!list_is_empty(&archiver->batches))
        batch_free(LIST_ENTRY(list_pop(&archiver->batches), struct archive_batch, link));
    pace_free(archiver->pace);
    timer_free(archiver->wait);
    free(archiver);
}

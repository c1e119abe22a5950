#include "app/tally.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/system.h"
#include "job/topic/topic_settings.h"

enum {
    FRESH_US = 1000 * 1000, /* time from the start of one count to the start of the next */
    LOOK_US = 10 * 1000, /* while another reactor counts: time between two checks whether it has finished */
    WANTED_US =
        15 * 1000 *
        1000, /* walks through the coming jobs continue for this time after the last request for them */
    WALK_US = 10 * 1000 * 1000,        /* time from the start of one walk to the start of the next */
    COMING_OLD_US = 120 * 1000 * 1000, /* a walk's result that is older than this is not shown */
    /* If the last count for tally_want_more is older than this, the next one has all parts. */
    PART_OLD_US = 5 * 1000 * 1000,
};

/* Parts of a count. Each part needs one call to each shard of Redis. While clients watch the overview, each
 * count has only one part. */
enum {
    PART_JOBS = 1,
    PART_TOPICS = 2,
    PART_IMPAIRED = 4,
    PART_COMING = 8,
    PARTS_SCRAPED = PART_JOBS | PART_TOPICS, /* the parts that GET /metrics needs */
    PARTS_ALL = PART_JOBS | PART_TOPICS | PART_IMPAIRED | PART_COMING,
};

struct tally_board {
    pthread_mutex_t lock;
    bool is_counting; /* a reactor is counting */
    bool has_count;
    int64_t began_us; /* time when the current count began, or else the last one */
    enum status status;
    struct tally_count count;
    int64_t wanted_us; /* until this time, counts also have the parts that tally_want_more adds */
    int64_t more_us;   /* time when the last count with such parts began */
    unsigned turn;     /* number of counts that had only one part, see board_take_turn */
    bool was_topics;
    /* The walk through the waiting jobs that counts the coming jobs. Only the reactor that is counting uses
     * the walk, so the walk needs no lock. */
    struct coming_walk *walk;
    bool is_walking, has_coming;
    int64_t walk_us; /* time when the last walk began */
    struct coming coming;
    int64_t coming_us; /* time when the walk began whose result is in coming */
};

struct waiter {
    struct list link;
    tally_fn *fn;
    void *arg;
};

struct tally {
    struct tally_board *board;
    struct store *store;
    struct list waiters;
    struct timer *timer;
    /* count is the current count, or the result for the waiting requests. candidates has the most urgent
     * topics of the shards that have answered so far, followed by the topics of the next shard; failing has
     * the topics that fail in the same way. */
    struct tally_count count;
    struct urgent_topic candidates[2 * TALLY_TOPICS_MAX];
    struct failing_topic failing[TALLY_TOPICS_MAX + 2 * STORE_FAILING_MAX];
    size_t failing_count;
    bool is_counting;
    unsigned parts; /* parts of the current count */
    size_t shard;   /* the shard whose topics are being read */
};

struct tally_board *tally_board_new(void)
{
    struct tally_board *board = NEW(struct tally_board);
    pthread_mutex_init(&board->lock, NULL);
    board->walk = coming_walk_new();
    return board;
}

void tally_board_free(struct tally_board *board)
{
    if (!board)
        return;
    pthread_mutex_destroy(&board->lock);
    coming_walk_free(board->walk);
    free(board);
}

/* ---- the board ---- */

enum look { LOOK_FRESH, LOOK_WAIT, LOOK_COUNT };

static bool coming_is_due(const struct tally_board *board, int64_t now_us)
{
    return board->is_walking || !board->walk_us || now_us - board->walk_us >= WALK_US;
}

/* Returns what the next count is to count. Every second count counts the jobs. The other counts alternate
 * between topics and receivers. While a walk is under way or due, every fourth count is a step of the walk
 * instead. */
static unsigned board_take_turn(struct tally_board *board, int64_t now_us)
{
    unsigned turn = board->turn++;
    if (turn % 2 == 0)
        return PART_JOBS;
    if (turn % 4 == 3 && coming_is_due(board, now_us))
        return PART_COMING;
    board->was_topics = !board->was_topics;
    return board->was_topics ? PART_TOPICS : PART_IMPAIRED;
}

/* Returns the parts of a count that begins now. */
static unsigned board_parts(struct tally_board *board, int64_t now_us)
{
    if (now_us >= board->wanted_us)
        return PARTS_SCRAPED;
    bool has_all = board->more_us && now_us - board->more_us < PART_OLD_US && board->status == STATUS_OK;
    board->more_us = now_us;
    return has_all ? board_take_turn(board, now_us) : PARTS_ALL;
}

/* Checks whether the board has a fresh count. LOOK_FRESH: status and count are set. LOOK_WAIT: another
 * reactor is counting. LOOK_COUNT: the caller must count the parts in *parts, put the numbers into count, and
 * then call board_note. */
static enum look board_look(struct tally_board *board, enum status *status, struct tally_count *count,
                            unsigned *parts)
{
    enum look look = LOOK_WAIT;
    int64_t now_us = clock_boot_us();
    pthread_mutex_lock(&board->lock);
    if (!board->is_counting && board->has_count && now_us - board->began_us < FRESH_US) {
        *status = board->status;
        *count = board->count;
        look = LOOK_FRESH;
    } else if (!board->is_counting) {
        board->is_counting = true;
        board->began_us = now_us;
        *parts = board_parts(board, now_us);
        *count = board->count;
        count->has_impaired =
            count->has_impaired && *parts != PARTS_SCRAPED; /* a count for /metrics has no receivers */
        look = LOOK_COUNT;
    }
    pthread_mutex_unlock(&board->lock);
    return look;
}

static void board_note(struct tally_board *board, enum status status, const struct tally_count *count)
{
    pthread_mutex_lock(&board->lock);
    board->is_counting = false;
    board->has_count = true;
    board->status = status;
    board->count = *count;
    pthread_mutex_unlock(&board->lock);
}

/* ---- one reactor ---- */

static void answer_all(struct tally *tally, enum status status)
{
    struct list waiters, *link;
    list_move(&tally->waiters, &waiters);
    while ((link = list_take(&waiters))) {
        struct waiter *waiter = LIST_ENTRY(link, struct waiter, link);
        waiter->fn(waiter->arg, status, &tally->count);
        free(waiter);
    }
}

static void end_count(struct tally *tally, enum status status)
{
    tally->is_counting = false;
    board_note(tally->board, status, &tally->count);
    answer_all(tally, status);
}

/* ---- what is coming ---- */

static void end_with_coming(struct tally *tally)
{
    const struct tally_board *board = tally->board;
    tally->count.has_coming = board->has_coming && clock_boot_us() - board->coming_us < COMING_OLD_US;
    tally->count.coming = board->coming;
    end_count(tally, STATUS_OK);
}

static void on_coming(void *arg, enum status status, const struct coming *coming)
{
    struct tally *tally = arg;
    struct tally_board *board = tally->board;
    board->is_walking = status == STATUS_OK && !coming;
    if (coming) {
        board->has_coming = true;
        board->coming = *coming;
        board->coming_us = board->walk_us;
    }
    end_with_coming(tally);
}

/* Does a step of the walk, which is the last part of a count. */
static void step_coming(struct tally *tally)
{
    struct tally_board *board = tally->board;
    int64_t now_us = clock_boot_us();
    if (!(tally->parts & PART_COMING) || !coming_is_due(board, now_us)) {
        end_with_coming(tally);
        return;
    }
    if (!board->is_walking)
        board->walk_us = now_us;
    coming_walk_step(board->walk, tally->store, on_coming, tally);
}

/* ---- impaired receivers ---- */

static void on_impaired(void *arg, enum status status, const struct impaired *impaired)
{
    struct tally *tally = arg;
    tally->count.has_impaired = status == STATUS_OK;
    tally->count.impaired = *impaired;
    step_coming(tally);
}

static void add_impaired(struct tally *tally)
{
    if (tally->parts & PART_IMPAIRED)
        impaired_read(tally->store, on_impaired, tally);
    else
        step_coming(tally);
}

/* ---- the most urgent topics ---- */

static void add_candidate(struct tally *tally, const struct topic *topic)
{
    struct urgent_topic *candidate = &tally->candidates[tally->count.topic_count++];
    *candidate = (struct urgent_topic){
        .delayed = topic->delayed,
        .ready = topic->ready,
        .held = topic->held,
        .leased = topic->leased,
        .dead = topic->dead,
        .lacks_url = topic->lacks_url,
        .due_ms = topic->due_ms < 0 ? INT64_MAX : topic->due_ms,
        .late_ms = topic->due_ms >= 0 && topic->due_ms < topic->now_ms ? topic->now_ms - topic->due_ms : 0,
    };
    snprintf(candidate->name, sizeof candidate->name, "%.*s", SLICE_ARG(topic->name));
    struct topic_settings settings;
    if (topic_settings_read(topic->settings, &settings) != STATUS_OK)
        return;
    candidate->is_paused = settings.is_paused && settings.lacks.size == 0;
    candidate->is_pull = topic_settings_are_pull(&settings);
    topic_settings_fini(&settings);
}

static void add_failing(struct tally *tally, const struct topic *topic)
{
    int64_t failed = topic->hour.retried + topic->hour.dead;
    struct failing_topic *failing = &tally->failing[tally->failing_count++];
    *failing = (struct failing_topic){.failed = failed, .attempts = failed + topic->hour.delivered};
    snprintf(failing->name, sizeof failing->name, "%.*s", SLICE_ARG(topic->name));
    snprintf(failing->last_answer, sizeof failing->last_answer, "%.*s", SLICE_ARG(topic->last_answer));
}

static int compare_failures(const void *a, const void *b)
{
    const struct failing_topic *left = a, *right = b;
    if (left->failed != right->failed)
        return left->failed > right->failed ? -1 : 1;
    return strcmp(left->name, right->name);
}

static int compare_urgency(const void *a, const void *b)
{
    const struct urgent_topic *left = a, *right = b;
    if (left->due_ms != right->due_ms)
        return left->due_ms < right->due_ms ? -1 : 1;
    return strcmp(left->name, right->name);
}

static void ask_topics(struct tally *);

/* Adds the topics of a shard. If a shard does not answer, its topics and those of the following shards are
 * left out. */
static void on_topics(void *arg, enum status status, const struct topic *topics, size_t count,
                      struct topic_cursor next)
{
    struct tally *tally = arg;
    (void)next;
    for (size_t i = 0; status == STATUS_OK && i < count && i < TALLY_TOPICS_MAX + STORE_FAILING_MAX; i++) {
        if (i < TALLY_TOPICS_MAX)
            add_candidate(tally, &topics[i]);
        if (topics[i].fails)
            add_failing(tally, &topics[i]);
    }
    qsort(tally->candidates, tally->count.topic_count, sizeof *tally->candidates, compare_urgency);
    if (tally->count.topic_count > TALLY_TOPICS_MAX)
        tally->count.topic_count = TALLY_TOPICS_MAX;
    qsort(tally->failing, tally->failing_count, sizeof *tally->failing, compare_failures);
    if (tally->failing_count > STORE_FAILING_MAX)
        tally->failing_count = STORE_FAILING_MAX;
    if (status == STATUS_OK && ++tally->shard < store_shards(tally->store)) {
        ask_topics(tally);
        return;
    }
    memcpy(tally->count.topics, tally->candidates, tally->count.topic_count * sizeof *tally->candidates);
    memcpy(tally->count.failing, tally->failing, tally->failing_count * sizeof *tally->failing);
    tally->count.failing_count = tally->failing_count;
    if (status == STATUS_OK || (tally->parts & PART_JOBS))
        add_impaired(tally);
    else
        end_count(tally, status);
}

static void ask_topics(struct tally *tally)
{
    struct store_topics topics = {
        .max = TALLY_TOPICS_MAX, .from = {.shard = tally->shard}, .is_urgent = true};
    store_topics(tally->store, &topics, on_topics, tally);
}

static void add_topics(struct tally *tally)
{
    if (!(tally->parts & PART_TOPICS)) {
        add_impaired(tally);
        return;
    }
    tally->count.topic_count = tally->failing_count = 0;
    tally->shard = 0;
    ask_topics(tally);
}

static void on_counted(void *arg, enum status status, const struct store_counts *counts)
{
    struct tally *tally = arg;
    tally->count.all = *counts;
    if (status == STATUS_OK)
        add_topics(tally);
    else
        end_count(tally, status);
}

static void begin_count(struct tally *tally)
{
    tally->is_counting = true;
    if (tally->parts & PART_JOBS)
        store_audit(tally->store, on_counted, tally);
    else
        add_topics(tally);
}

/* Only the timer calls this function, so that tally_ask never calls back before it returns. */
static void on_look(void *arg)
{
    struct tally *tally = arg;
    enum status status = STATUS_UNAVAILABLE;
    if (list_is_empty(&tally->waiters) || tally->is_counting)
        return;
    switch (board_look(tally->board, &status, &tally->count, &tally->parts)) {
    case LOOK_FRESH:
        answer_all(tally, status);
        break;
    case LOOK_WAIT:
        timer_start(tally->timer, LOOK_US);
        break;
    case LOOK_COUNT:
        begin_count(tally);
        break;
    }
}

void tally_ask(struct tally *tally, struct store *store, tally_fn *fn, void *arg)
{
    struct waiter *waiter = NEW(struct waiter);
    tally->store = store;
    waiter->fn = fn;
    waiter->arg = arg;
    list_append(&tally->waiters, &waiter->link);
    timer_arm(tally->timer, 0);
}

void tally_want_more(struct tally *tally)
{
    pthread_mutex_lock(&tally->board->lock);
    tally->board->wanted_us = clock_boot_us() + WANTED_US;
    pthread_mutex_unlock(&tally->board->lock);
}

struct tally *tally_new(struct loop *loop, struct tally_board *board)
{
    struct tally *tally = NEW(struct tally);
    tally->board = board;
    list_init(&tally->waiters);
    tally->timer = timer_new(loop, on_look, tally);
    return tally;
}

void tally_free(struct tally *tally)
{
    struct list *link;
    if (!tally)
        return;
    while ((link = list_take(&tally->waiters)))
        free(LIST_ENTRY(link, struct waiter, link));
    timer_free(tally->timer);
    free(tally);
}

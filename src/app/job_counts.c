#include "app/job_counts.h"

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
    WANTED_US = 15 * 1000 *
                1000, /* walks through the forecast continue for this time after the last request for them */
    WALK_US = 10 * 1000 * 1000,          /* time from the start of one walk to the start of the next */
    FORECAST_OLD_US = 120 * 1000 * 1000, /* a walk's result that is older than this is not shown */
    /* If the last count for job_counts_want_more is older than this, the next one has all parts. */
    PART_OLD_US = 5 * 1000 * 1000,
    /* The most topics that a shard returns: the most urgent ones, topics that fail, topics with a quota. */
    TOPICS_MAX = JOB_COUNTS_TOPICS_MAX + STORE_FAILING_MAX + JOB_COUNTS_QUOTAS_MAX,
};

/* Parts of a count. Each part needs one call to each shard of Redis. While clients watch the overview, each
 * count has only one part. */
enum {
    PART_JOBS = 1,
    PART_TOPICS = 2, /* topics, and limits that topics share */
    PART_IMPAIRED = 4,
    PART_COMING = 8,
    PARTS_SCRAPED = PART_JOBS | PART_TOPICS, /* the parts that GET /metrics needs */
    PARTS_ALL = PART_JOBS | PART_TOPICS | PART_IMPAIRED | PART_COMING,
};

struct job_counts_board {
    pthread_mutex_t lock;
    bool is_counting; /* a reactor is counting */
    bool has_count;
    int64_t began_us; /* time when the current count began, or else the last one */
    enum status status;
    struct job_counts_result count;
    int64_t wanted_us; /* until this time, counts also have the parts that job_counts_want_more adds */
    int64_t more_us;   /* time when the last count with such parts began */
    unsigned turn;     /* number of counts that had only one part, see board_take_turn */
    bool was_topics;
    /* The walk through the waiting jobs that counts the forecast. Only the reactor that is counting uses
     * the walk, so the walk needs no lock. */
    struct forecast_walk *walk;
    bool is_walking, has_forecast;
    int64_t walk_us; /* time when the last walk began */
    struct forecast forecast;
    int64_t forecast_us; /* time when the walk began whose result is in forecast */
};

struct waiter {
    struct list link;
    job_counts_fn *fn;
    void *arg;
};

struct job_counts {
    struct job_counts_board *board;
    struct store *store;
    struct list waiters;
    struct timer *timer;
    /* count is the current count, or the result for the waiting requests. candidates has the most urgent
     * topics of the shards that have answered so far, followed by the topics of the next shard; failing and
     * quotas have the topics that fail, and those with a quota, in the same way. */
    struct job_counts_result count;
    struct urgent_topic candidates[2 * JOB_COUNTS_TOPICS_MAX];
    struct failing_topic failing[STORE_FAILING_MAX + TOPICS_MAX];
    size_t failing_count;
    struct quota_topic quotas[JOB_COUNTS_QUOTAS_MAX + TOPICS_MAX];
    size_t quota_count;
    bool is_counting;
    unsigned parts; /* parts of the current count */
    size_t shard;   /* the shard whose topics are being read */
};

struct job_counts_board *job_counts_board_new(void)
{
    struct job_counts_board *board = NEW(struct job_counts_board);
    pthread_mutex_init(&board->lock, NULL);
    board->walk = forecast_walk_new();
    return board;
}

void job_counts_board_free(struct job_counts_board *board)
{
    if (!board)
        return;
    pthread_mutex_destroy(&board->lock);
    forecast_walk_free(board->walk);
    free(board);
}

/* ---- the board ---- */

enum look { LOOK_FRESH, LOOK_WAIT, LOOK_COUNT };

static bool forecast_is_due(const struct job_counts_board *board, int64_t now_us)
{
    return board->is_walking || !board->walk_us || now_us - board->walk_us >= WALK_US;
}

/* Returns what the next count is to count. Every second count counts the jobs. The other counts alternate
 * between topics and receivers. While a walk is under way or due, every fourth count is a step of the walk
 * instead. */
static unsigned board_take_turn(struct job_counts_board *board, int64_t now_us)
{
    unsigned turn = board->turn++;
    if (turn % 2 == 0)
        return PART_JOBS;
    if (turn % 4 == 3 && forecast_is_due(board, now_us))
        return PART_COMING;
    board->was_topics = !board->was_topics;
    return board->was_topics ? PART_TOPICS : PART_IMPAIRED;
}

/* Returns the parts of a count that begins now. */
static unsigned board_parts(struct job_counts_board *board, int64_t now_us)
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
static enum look board_look(struct job_counts_board *board, enum status *status,
                            struct job_counts_result *count, unsigned *parts)
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

static void board_note(struct job_counts_board *board, enum status status,
                       const struct job_counts_result *count)
{
    pthread_mutex_lock(&board->lock);
    board->is_counting = false;
    board->has_count = true;
    board->status = status;
    board->count = *count;
    pthread_mutex_unlock(&board->lock);
}

/* ---- one reactor ---- */

static void answer_all(struct job_counts *counts, enum status status)
{
    struct list waiters, *link;
    list_move(&counts->waiters, &waiters);
    while ((link = list_take(&waiters))) {
        struct waiter *waiter = LIST_ENTRY(link, struct waiter, link);
        waiter->fn(waiter->arg, status, &counts->count);
        free(waiter);
    }
}

static void end_count(struct job_counts *counts, enum status status)
{
    counts->is_counting = false;
    board_note(counts->board, status, &counts->count);
    answer_all(counts, status);
}

/* ---- the forecast ---- */

static void end_with_forecast(struct job_counts *counts)
{
    const struct job_counts_board *board = counts->board;
    counts->count.has_forecast =
        board->has_forecast && clock_boot_us() - board->forecast_us < FORECAST_OLD_US;
    counts->count.forecast = board->forecast;
    end_count(counts, STATUS_OK);
}

static void on_forecast(void *arg, enum status status, const struct forecast *forecast)
{
    struct job_counts *counts = arg;
    struct job_counts_board *board = counts->board;
    board->is_walking = status == STATUS_OK && !forecast;
    if (forecast) {
        board->has_forecast = true;
        board->forecast = *forecast;
        board->forecast_us = board->walk_us;
    }
    end_with_forecast(counts);
}

/* Does a step of the walk, which is the last part of a count. */
static void step_forecast(struct job_counts *counts)
{
    struct job_counts_board *board = counts->board;
    int64_t now_us = clock_boot_us();
    if (!(counts->parts & PART_COMING) || !forecast_is_due(board, now_us)) {
        end_with_forecast(counts);
        return;
    }
    if (!board->is_walking)
        board->walk_us = now_us;
    forecast_walk_step(board->walk, counts->store, on_forecast, counts);
}

/* ---- impaired receivers ---- */

static void on_impaired(void *arg, enum status status, const struct impaired *impaired)
{
    struct job_counts *counts = arg;
    counts->count.has_impaired = status == STATUS_OK;
    counts->count.impaired = *impaired;
    step_forecast(counts);
}

static void add_impaired(struct job_counts *counts)
{
    if (counts->parts & PART_IMPAIRED)
        impaired_read(counts->store, on_impaired, counts);
    else
        step_forecast(counts);
}

/* ---- limits that topics share ---- */

/* Without an answer, the count has no limits. */
static void on_limits(void *arg, enum status status, const struct limit *limits, size_t count, bool has_more)
{
    struct job_counts *counts = arg;
    (void)has_more;
    for (size_t i = 0; status == STATUS_OK && i < count && i < JOB_COUNTS_LIMITS_MAX; i++) {
        struct limit_use *use = &counts->count.limits[counts->count.limit_count++];
        *use = (struct limit_use){.in_flight = limits[i].in_flight, .waiting = limits[i].waiting};
        snprintf(use->name, sizeof use->name, "%.*s", SLICE_ARG(limits[i].name));
    }
    add_impaired(counts);
}

static void add_limits(struct job_counts *counts)
{
    counts->count.limit_count = 0;
    if (store_shards(counts->store) > 1)
        add_impaired(counts); /* there are no limits */
    else
        store_limits(counts->store, SLICE(""), SLICE(""), JOB_COUNTS_LIMITS_MAX, on_limits, counts);
}

/* ---- the most urgent topics ---- */

static void add_candidate(struct job_counts *counts, const struct topic *topic)
{
    struct urgent_topic *candidate = &counts->candidates[counts->count.topic_count++];
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

static void add_failing(struct job_counts *counts, const struct topic *topic)
{
    int64_t failed = topic->hour.retried + topic->hour.dead;
    struct failing_topic *failing = &counts->failing[counts->failing_count++];
    *failing = (struct failing_topic){.failed = failed, .attempts = failed + topic->hour.delivered};
    snprintf(failing->name, sizeof failing->name, "%.*s", SLICE_ARG(topic->name));
    snprintf(failing->last_answer, sizeof failing->last_answer, "%.*s", SLICE_ARG(topic->last_answer));
}

static void add_quota(struct job_counts *counts, const struct topic *topic)
{
    struct quota_topic *quota = &counts->quotas[counts->quota_count++];
    *quota = (struct quota_topic){.quota = topic->quota, .pending = topic_pending(topic)};
    snprintf(quota->name, sizeof quota->name, "%.*s", SLICE_ARG(topic->name));
}

static int compare_pending(const void *a, const void *b)
{
    const struct quota_topic *left = a, *right = b;
    if (left->pending != right->pending)
        return left->pending > right->pending ? -1 : 1;
    return strcmp(left->name, right->name);
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

static void ask_topics(struct job_counts *);

/* Adds the topics of a shard. If a shard does not answer, its topics and those of the following shards are
 * left out. */
static void on_topics(void *arg, enum status status, const struct topic *topics, size_t count,
                      struct topic_cursor next)
{
    struct job_counts *counts = arg;
    (void)next;
    for (size_t i = 0; status == STATUS_OK && i < count && i < TOPICS_MAX; i++) {
        if (i < JOB_COUNTS_TOPICS_MAX)
            add_candidate(counts, &topics[i]);
        if (topics[i].fails)
            add_failing(counts, &topics[i]);
        if (topics[i].has_quota)
            add_quota(counts, &topics[i]);
    }
    qsort(counts->candidates, counts->count.topic_count, sizeof *counts->candidates, compare_urgency);
    if (counts->count.topic_count > JOB_COUNTS_TOPICS_MAX)
        counts->count.topic_count = JOB_COUNTS_TOPICS_MAX;
    qsort(counts->failing, counts->failing_count, sizeof *counts->failing, compare_failures);
    if (counts->failing_count > STORE_FAILING_MAX)
        counts->failing_count = STORE_FAILING_MAX;
    qsort(counts->quotas, counts->quota_count, sizeof *counts->quotas, compare_pending);
    if (counts->quota_count > JOB_COUNTS_QUOTAS_MAX)
        counts->quota_count = JOB_COUNTS_QUOTAS_MAX;
    if (status == STATUS_OK && ++counts->shard < store_shards(counts->store)) {
        ask_topics(counts);
        return;
    }
    memcpy(counts->count.topics, counts->candidates, counts->count.topic_count * sizeof *counts->candidates);
    memcpy(counts->count.failing, counts->failing, counts->failing_count * sizeof *counts->failing);
    counts->count.failing_count = counts->failing_count;
    memcpy(counts->count.quotas, counts->quotas, counts->quota_count * sizeof *counts->quotas);
    counts->count.quota_count = counts->quota_count;
    if (status == STATUS_OK || (counts->parts & PART_JOBS))
        add_limits(counts);
    else
        end_count(counts, status);
}

static void ask_topics(struct job_counts *counts)
{
    struct store_topics topics = {
        .max = JOB_COUNTS_TOPICS_MAX, .from = {.shard = counts->shard}, .is_urgent = true};
    store_topics(counts->store, &topics, on_topics, counts);
}

static void add_topics(struct job_counts *counts)
{
    if (!(counts->parts & PART_TOPICS)) {
        add_impaired(counts);
        return;
    }
    counts->count.topic_count = counts->failing_count = counts->quota_count = 0;
    counts->shard = 0;
    ask_topics(counts);
}

static void on_counted(void *arg, enum status status, const struct store_counts *all)
{
    struct job_counts *counts = arg;
    counts->count.all = *all;
    if (status == STATUS_OK)
        add_topics(counts);
    else
        end_count(counts, status);
}

/* Only the timer calls this function, so that job_counts_ask never calls back before it returns. */
static void on_look(void *arg)
{
    struct job_counts *counts = arg;
    enum status status = STATUS_UNAVAILABLE;
    if (list_is_empty(&counts->waiters) || counts->is_counting)
        return;
    switch (board_look(counts->board, &status, &counts->count, &counts->parts)) {
    case LOOK_FRESH:
        answer_all(counts, status);
        break;
    case LOOK_WAIT:
        timer_start(counts->timer, LOOK_US);
        break;
    case LOOK_COUNT:
        counts->is_counting = true;
        if (counts->parts & PART_JOBS)
            store_audit(counts->store, on_counted, counts);
        else
            add_topics(counts);
        break;
    }
}

void job_counts_ask(struct job_counts *counts, struct store *store, job_counts_fn *fn, void *arg)
{
    struct waiter *waiter = NEW(struct waiter);
    counts->store = store;
    waiter->fn = fn;
    waiter->arg = arg;
    list_append(&counts->waiters, &waiter->link);
    timer_arm(counts->timer, 0);
}

void job_counts_want_more(struct job_counts *counts)
{
    pthread_mutex_lock(&counts->board->lock);
    counts->board->wanted_us = clock_boot_us() + WANTED_US;
    pthread_mutex_unlock(&counts->board->lock);
}

struct job_counts *job_counts_new(struct loop *loop, struct job_counts_board *board)
{
    struct job_counts *counts = NEW(struct job_counts);
    counts->board = board;
    list_init(&counts->waiters);
    counts->timer = timer_new(loop, on_look, counts);
    return counts;
}

void job_counts_free(struct job_counts *counts)
{
    struct list *link;
    if (!counts)
        return;
    while ((link = list_take(&counts->waiters)))
        free(LIST_ENTRY(link, struct waiter, link));
    timer_free(counts->timer);
    free(counts);
}

#include "base/metrics.h"

#include <assert.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/metrics_private.h"
#include "base/utf8.h"

/* ---- histograms ---- */

const int64_t histogram_bounds_us[HISTOGRAM_BUCKETS - 1] = {
    1000,   2500,   5000,    10000,   25000,   50000,    100000,
    250000, 500000, 1000000, 2500000, 5000000, 15000000, 60000000,
};

size_t histogram_bucket_of(int64_t us)
{
    size_t bucket = 0;
    while (bucket < HISTOGRAM_BUCKETS - 1 && us > histogram_bounds_us[bucket])
        bucket++;
    return bucket;
}

void histogram_observe(struct histogram *histogram, int64_t us)
{
    counter_raise(&histogram->counts[histogram_bucket_of(us)], 1);
    counter_raise(&histogram->sum_us, us < 0 ? 0 : (uint64_t)us);
}

void histogram_add(struct histogram *to, const struct histogram *from)
{
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        counter_raise(&to->counts[i], atomic_load_explicit(&from->counts[i], memory_order_relaxed));
    counter_raise(&to->sum_us, atomic_load_explicit(&from->sum_us, memory_order_relaxed));
}

/* ---- the metrics ---- */

struct metrics_board *metrics_board_new(size_t reactors)
{
    struct metrics_board *board = memory_new(sizeof *board + reactors * sizeof(struct metrics));
    pthread_mutex_init(&board->lock, NULL);
    board->reactor_count = reactors;
    for (size_t i = 0; i < reactors; i++) {
        board->reactors[i].board = board;
        pthread_mutex_init(&board->reactors[i].exemplars.lock, NULL);
    }
    return board;
}

void metrics_board_free(struct metrics_board *board)
{
    if (!board)
        return;
    for (size_t i = 0; i < board->reactor_count; i++)
        pthread_mutex_destroy(&board->reactors[i].exemplars.lock);
    pthread_mutex_destroy(&board->lock);
    free(board);
}

struct metrics *metrics_of(struct metrics_board *board, size_t index)
{
    return &board->reactors[index];
}

struct metrics_relay *metrics_relay(struct metrics_board *board)
{
    return &board->relay;
}

/* ---- topics ---- */

/* Returns the slot that holds name, or the free slot for it. */
static _Atomic unsigned *find_slot(struct metrics_board *board, struct slice name, size_t *row)
{
    for (size_t at = hash_of(name);; at++) {
        _Atomic unsigned *slot = &board->slots[at % TOPIC_SLOTS];
        unsigned number = atomic_load_explicit(slot, memory_order_acquire);
        *row = number ? number - 1 : METRICS_TOPICS_MAX;
        if (!number || slice_equal(slice_of(board->names[number - 1]), name))
            return slot;
    }
}

static size_t add_topic(struct metrics_board *board, struct slice name)
{
    size_t row;
    pthread_mutex_lock(&board->lock);
    _Atomic unsigned *slot = find_slot(board, name, &row);
    size_t count = atomic_load_explicit(&board->topic_count, memory_order_relaxed);
    if (row == METRICS_TOPICS_MAX && count < METRICS_TOPICS_MAX) {
        row = count;
        memcpy(board->names[row], name.data, name.size);
        atomic_store_explicit(slot, (unsigned)row + 1, memory_order_release);
        atomic_store_explicit(&board->topic_count, count + 1, memory_order_release);
    }
    pthread_mutex_unlock(&board->lock);
    return row;
}

static struct topic_row *row_of(struct metrics *metrics, struct slice topic)
{
    struct metrics_board *board = metrics->board;
    size_t row;
    find_slot(board, topic, &row);
    /* A damaged name from Redis counts as "_other", because it would make the whole text invalid. */
    bool is_new = row == METRICS_TOPICS_MAX && topic.size <= TOPIC_NAME_MAX &&
                  json_plain_end(topic.data, slice_end(topic)) == slice_end(topic);
    if (is_new && atomic_load_explicit(&board->topic_count, memory_order_acquire) < METRICS_TOPICS_MAX)
        row = add_topic(board, topic);
    return &metrics->topics[row];
}

/* ---- counting ---- */

void metrics_accepted(struct metrics *metrics, struct slice topic)
{
    counter_raise(&row_of(metrics, topic)->accepted, 1);
}

void metrics_attempt(struct metrics *metrics, struct slice topic, enum metrics_result result,
                     int64_t duration_us)
{
    struct topic_row *row = row_of(metrics, topic);
    counter_raise(&row->attempts[result], 1);
    counter_raise(&row->attempts_us, duration_us < 0 ? 0 : (uint64_t)duration_us);
    histogram_observe(&metrics->attempt, duration_us);
}

void metrics_lateness(struct metrics *metrics, int64_t late_us, int64_t held_us)
{
    histogram_observe(&metrics->lateness, late_us);
    if (held_us > 0)
        histogram_observe(&metrics->held, held_us);
}

void metrics_exemplify(struct metrics *metrics, enum metrics_exemplified which, int64_t us,
                       struct slice context, int64_t wall_us)
{
    struct exemplar made = {.us = us < 0 ? 0 : us, .wall_us = wall_us};
    memcpy(made.trace_id, trace_parent_trace_id(context).data, TRACE_ID_DIGITS);
    memcpy(made.span_id, trace_parent_span_id(context).data, TRACE_SPAN_DIGITS);
    pthread_mutex_lock(&metrics->exemplars.lock);
    metrics->exemplars.buckets[which][histogram_bucket_of(us)] = made;
    pthread_mutex_unlock(&metrics->exemplars.lock);
}

void metrics_fire_lateness(struct metrics *metrics, int64_t late_us)
{
    histogram_observe(&metrics->fire_lateness, late_us);
}

void metrics_ended(struct metrics *metrics, struct slice topic, enum metrics_end end)
{
    counter_raise(&row_of(metrics, topic)->ended[end], 1);
}

/* Returns the row of a label. Labels are compared by their addresses. If two literals at different addresses
 * have the same text, each gets its own row, and metrics_text.c adds up the rows. */
static struct route_row *find_route(struct metrics *metrics, const char *label)
{
    for (struct route_row *row = metrics->routes; row < metrics->routes + METRICS_ROUTES_MAX; row++) {
        const char *known = atomic_load_explicit(&row->label, memory_order_relaxed);
        if (!known)
            atomic_store_explicit(&row->label, label, memory_order_release);
        if (!known || known == label)
            return row;
    }
    return NULL;
}

void metrics_request(struct metrics *metrics, const char *label, unsigned status, int64_t duration_us)
{
    struct route_row *route = find_route(metrics, label);
    struct status_row *row = route ? route->statuses : NULL;
    if (!route)
        return;
    for (size_t i = 0; i < METRICS_STATUSES_MAX; i++, row++) {
        unsigned known = atomic_load_explicit(&row->status, memory_order_relaxed);
        if (known == 0)
            atomic_store_explicit(&row->status, status, memory_order_relaxed);
        if (known == 0 || known == status) {
            histogram_observe(&row->seconds, duration_us);
            return;
        }
    }
}

void metrics_count(struct metrics *metrics, enum metrics_counter which, uint64_t by)
{
    counter_raise(&metrics->counters[which], by);
}

void metrics_in_flight(struct metrics *metrics, size_t attempts)
{
    atomic_store_explicit(&metrics->in_flight, attempts, memory_order_relaxed);
}

void metrics_receivers(struct metrics *metrics, size_t open, size_t limited)
{
    atomic_store_explicit(&metrics->receivers_open, open, memory_order_relaxed);
    atomic_store_explicit(&metrics->receivers_limited, limited, memory_order_relaxed);
}

void metrics_redis_processor(struct metrics *metrics, int64_t us)
{
    atomic_store_explicit(&metrics->redis_processor_us, (uint64_t)us, memory_order_relaxed);
}

/* ---- sums ---- */

static uint64_t read_counter(const counter *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

static void add_row(struct metrics_topic_sums *sums, const struct topic_row *row)
{
    sums->accepted += read_counter(&row->accepted);
    sums->delivered += read_counter(&row->ended[METRICS_END_DELIVERED]);
    sums->cancelled += read_counter(&row->ended[METRICS_END_CANCELLED]);
    sums->dead += read_counter(&row->ended[METRICS_END_DEAD]);
    for (int result = METRICS_RESULT_3XX; result < METRICS_RESULT_COUNT; result++)
        sums->failed += read_counter(&row->attempts[result]);
}

static struct metrics_topic_sums sum_topic(const struct metrics_board *board, size_t row)
{
    struct metrics_topic_sums sums = {.name = row < METRICS_TOPICS_MAX ? board->names[row] : "_other"};
    for (size_t i = 0; i < board->reactor_count; i++)
        add_row(&sums, &board->reactors[i].topics[row]);
    return sums;
}

size_t metrics_sum(struct metrics_board *board, struct metrics_sums *sums,
                   struct metrics_topic_sums topics[METRICS_TOPICS_MAX + 1])
{
    size_t count = atomic_load_explicit(&board->topic_count, memory_order_acquire);
    for (size_t i = 0; i < count; i++)
        topics[i] = sum_topic(board, i);
    topics[count++] = sum_topic(board, METRICS_TOPICS_MAX);
    *sums = (struct metrics_sums){.accepted = 0};
    for (size_t i = 0; i < count; i++) {
        sums->accepted += topics[i].accepted;
        sums->delivered += topics[i].delivered;
        sums->cancelled += topics[i].cancelled;
        sums->dead += topics[i].dead;
        sums->failed += topics[i].failed;
    }
    for (size_t i = 0; i < board->reactor_count; i++) {
        const struct metrics *metrics = &board->reactors[i];
        sums->in_flight += read_counter(&metrics->in_flight);
        for (size_t b = 0; b < HISTOGRAM_BUCKETS; b++)
            sums->late[b] += read_counter(&metrics->lateness.counts[b]);
    }
    return count;
}

static struct metrics_duration topic_duration(struct metrics_board *board, size_t index)
{
    struct metrics_duration duration = {.name = index < METRICS_TOPICS_MAX ? board->names[index] : "_other"};
    for (size_t i = 0; i < board->reactor_count; i++) {
        const struct topic_row *row = &board->reactors[i].topics[index];
        duration.sum_us += read_counter(&row->attempts_us);
        for (size_t result = 0; result < METRICS_RESULT_COUNT; result++)
            duration.attempts += read_counter(&row->attempts[result]);
    }
    return duration;
}

size_t metrics_durations(struct metrics_board *board, struct metrics_duration topics[METRICS_TOPICS_MAX + 1])
{
    size_t count = atomic_load_explicit(&board->topic_count, memory_order_acquire);
    for (size_t i = 0; i < count; i++)
        topics[i] = topic_duration(board, i);
    topics[count++] = topic_duration(board, METRICS_TOPICS_MAX);
    return count;
}

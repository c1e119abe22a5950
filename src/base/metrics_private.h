/* metrics_private.h - the numbers that metrics.c counts and metrics_text.c writes. */
#ifndef DUEPOST_BASE_METRICS_PRIVATE_H
#define DUEPOST_BASE_METRICS_PRIVATE_H

#include <pthread.h>

#include "base/encoding.h"
#include "base/metrics.h"

enum {
    TOPIC_ROWS = METRICS_TOPICS_MAX + 1, /* the last is "_other" */
    TOPIC_NAME_MAX = 256,
    TOPIC_SLOTS = 512, /* size of the hash table: a power of two; at most a fifth of the slots is used */
};

typedef _Atomic uint64_t counter;

struct topic_row {
    counter accepted;
    counter attempts[METRICS_RESULT_COUNT];
    counter attempts_us; /* sum of their durations */
    counter ended[METRICS_END_COUNT];
};

struct status_row {
    _Atomic unsigned status; /* 0: unused */
    struct histogram seconds;
};

struct route_row {
    const char *_Atomic label; /* NULL: unused */
    struct status_row statuses[METRICS_STATUSES_MAX];
};

/* An example of a duration in a bucket, with the trace in which it was measured. */
struct exemplar {
    char trace_id[TRACE_ID_DIGITS + 1], span_id[TRACE_SPAN_DIGITS + 1]; /* empty: none */
    int64_t us, wall_us;
};

struct exemplars {
    pthread_mutex_t lock; /* held while an exemplar is copied */
    struct exemplar buckets[METRICS_EXEMPLIFIED_COUNT][HISTOGRAM_BUCKETS];
};

struct metrics {
    struct metrics_board *board;
    struct exemplars exemplars;
    struct topic_row topics[TOPIC_ROWS];
    struct route_row routes[METRICS_ROUTES_MAX];
    struct histogram lateness, held, attempt, fire_lateness;
    counter counters[METRICS_COUNTER_COUNT];
    counter in_flight;
    counter receivers_open, receivers_limited;
    counter redis_processor_us; /* 0: unknown */
};

/* Names are added under the lock, and never changed or removed. So a thread may read a name without the lock
 * after it has found the row of the name in slots, or has read a number of rows that includes this row. */
struct metrics_board {
    pthread_mutex_t lock;
    _Atomic size_t topic_count;
    char names[METRICS_TOPICS_MAX][TOPIC_NAME_MAX + 1];
    _Atomic unsigned slots[TOPIC_SLOTS]; /* number of the row + 1; 0: the slot is free */
    struct metrics_relay relay;
    size_t reactor_count;
    struct metrics reactors[];
};

#endif

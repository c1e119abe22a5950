/* metrics.h - the metrics of duepost, in Prometheus's text format or in OpenMetrics 1.0:
 * https://prometheus.io/docs/specs/om/open_metrics_spec/
 *
 * Each reactor has its own metrics, and only that reactor writes them. Any reactor may write the sum of all
 * reactors' metrics as text. Clients choose the topics, so the number of topics is not limited. The first
 * METRICS_TOPICS_MAX topics of this process are counted by name, and all other topics as "_other". */
#ifndef DUEPOST_BASE_METRICS_H
#define DUEPOST_BASE_METRICS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/slice.h"
#include "base/status.h"

/* ---- counters ---- */

/* A number that one thread raises and any thread reads. */

/* Raises the number. Only one thread writes it, so loading and storing may be two separate steps. */
static inline void counter_raise(_Atomic uint64_t *number, uint64_t by)
{
    uint64_t old = atomic_load_explicit(number, memory_order_relaxed);
    atomic_store_explicit(number, old + by, memory_order_relaxed);
}

/* ---- histograms ---- */

/* A histogram of durations.
 *
 * One thread adds durations, and any thread may read at the same time. Each number that is read is exact, but
 * two numbers may be read at different moments. */

/* The upper limits of the buckets are 1 ms to 60 s, in microseconds. The last bucket has no limit. */
enum { HISTOGRAM_BUCKETS = 15 };
extern const int64_t histogram_bounds_us[HISTOGRAM_BUCKETS - 1];

struct histogram {
    _Atomic uint64_t counts[HISTOGRAM_BUCKETS]; /* durations in each bucket, not cumulative */
    _Atomic uint64_t sum_us;
};

/* Returns the bucket of a duration. Negative durations belong to the first bucket. */
size_t histogram_bucket_of(int64_t us);

/* Counts one duration. Negative durations count as 0. */
void histogram_observe(struct histogram *, int64_t us);

/* Adds the current counts and the sum of the histogram "from" to the histogram "to". */
void histogram_add(struct histogram *to, const struct histogram *from);

/* ---- the metrics ---- */

enum { METRICS_TOPICS_MAX = 100, METRICS_ROUTES_MAX = 128, METRICS_STATUSES_MAX = 16 };

/* The label of requests that match no route, or that are refused before their route is known. */
#define METRICS_ROUTE_OTHER "other"

/* The result of one attempt: delivered, not yet, a class of statuses, or a failure. */
enum metrics_result {
    METRICS_RESULT_DELIVERED,
    METRICS_RESULT_NOT_YET, /* the receiver said "not yet": the job is to be sent again later */
    METRICS_RESULT_3XX,
    METRICS_RESULT_4XX,
    METRICS_RESULT_5XX,
    METRICS_RESULT_FAILURE, /* the first failure in FAILURES of status.h; the others follow in the same order
                             */
    METRICS_RESULT_COUNT = METRICS_RESULT_FAILURE + FAILURE_OTHER - FAILURE_NONE - 1,
};

/* Returns the result that stands for one of the FAILURES in status.h. */
#define METRICS_RESULT_OF(failure)                                                                           \
    ((enum metrics_result)(METRICS_RESULT_FAILURE + (int)(failure)-FAILURE_NONE - 1))

enum metrics_end { METRICS_END_DELIVERED, METRICS_END_CANCELLED, METRICS_END_DEAD, METRICS_END_COUNT };

enum metrics_counter {
    METRICS_COUNTER_RECOVERED, /* jobs that were returned because the process that delivered them was lost */
    METRICS_COUNTER_MENDED,    /* repairs by the janitor */
    METRICS_COUNTER_LOSSES,    /* times that Redis had lost its data, or another Redis had taken its place */
    METRICS_COUNTER_COMMANDS,  /* commands to Redis */
    METRICS_COUNTER_CLAIMS,    /* claims: calls that lease due jobs */
    METRICS_COUNTER_BREAKERS_OPENED,
    METRICS_COUNTER_BREAKERS_CLOSED,
    METRICS_COUNTER_PROBES,
    METRICS_COUNTER_LIMITS_HALVED,
    METRICS_COUNTER_HELD_BY_BREAKER, /* jobs held by an open circuit breaker; a job counts each time it is
                                        held */
    METRICS_COUNTER_HELD_BY_LIMIT,
    METRICS_COUNTER_HELD_BY_LOOKUPS,
    METRICS_COUNTER_HELD_BY_IDENTITY, /* the access token or the certificate of a request is missing */
    METRICS_COUNTER_HELD_WITHOUT_URL,
    METRICS_COUNTER_HELD_UNSERVED, /* jobs held because this process cannot serve the job or its topic */
    METRICS_COUNTER_DEAD_REMOVED_BY_RETENTION,
    METRICS_COUNTER_DEAD_REMOVED_BY_AGE,
    METRICS_COUNTER_DEAD_REMOVED_BY_NUMBER,
    METRICS_COUNTER_CALLBACKS, /* callbacks that were scheduled */
    METRICS_COUNTER_FIRED,     /* jobs that schedules created */
    METRICS_COUNTER_FIRES_MISSED,
    METRICS_COUNTER_FIRES_OVERLAPPED,
    METRICS_COUNTER_FIRES_REFUSED,
    METRICS_COUNTER_FIRES_HELD,      /* times that a schedule could not create its job yet, and must try again
                                        later */
    METRICS_COUNTER_LEASED,          /* jobs leased by workers */
    METRICS_COUNTER_DEFERRED,        /* attempts whose end the receiver has deferred */
    METRICS_COUNTER_LEASES_RETURNED, /* leases returned because the worker did not get the answer */
    METRICS_COUNTER_ARCHIVED,        /* ended jobs that were moved to the history */
    METRICS_COUNTER_THROTTLED,       /* new jobs for which another job with the same throttle key stands */
    METRICS_COUNTER_DEBOUNCED,       /* new jobs that have replaced the one with the same debounce key */
    METRICS_COUNTER_WRONG_TOKENS,    /* requests with a token that the server does not know */
    METRICS_COUNTER_COUNT,
};

/* The histograms that have exemplars: for each bucket, a measured duration with its trace. */
enum metrics_exemplified {
    METRICS_EXEMPLIFIED_LATENESS,
    METRICS_EXEMPLIFIED_ATTEMPT,
    METRICS_EXEMPLIFIED_COUNT
};

enum metrics_format {
    METRICS_FORMAT_TEXT,        /* Prometheus's text format, version 0.0.4 */
    METRICS_FORMAT_OPENMETRICS, /* with exemplars; the caller ends the text with METRICS_END */
};

#define METRICS_END "# EOF\n"

/* Numbers of the outbox's relay in this process (--outbox). The thread of the relay sets them, and any thread
 * reads them. Times are in milliseconds. */
struct metrics_relay {
    atomic_bool is_on;                              /* the process has a relay */
    atomic_bool is_up, is_active;                   /* see struct outbox_figures in cli/outbox/outbox.h */
    _Atomic int64_t sent, failed, stuck, oldest_ms; /* oldest_ms: -1: unknown */
};

struct metrics_board; /* the metrics of all reactors, and the names of topics, which the reactors share */
struct metrics;       /* the metrics of one reactor */

struct metrics_board *metrics_board_new(size_t reactors);
void metrics_board_free(struct metrics_board *);

/* Returns the metrics of one reactor, which are valid until the board is freed. */
struct metrics *metrics_of(struct metrics_board *, size_t index);

/* Returns the numbers of the relay, which are valid until the board is freed. */
struct metrics_relay *metrics_relay(struct metrics_board *);

void metrics_accepted(struct metrics *, struct slice topic);
void metrics_attempt(struct metrics *, struct slice topic, enum metrics_result, int64_t duration_us);

/* Counts how late an attempt begins. held_us: how long a hold or a pause kept its job before that, which does
 * not count as lateness; 0: not at all. */
void metrics_lateness(struct metrics *, int64_t late_us, int64_t held_us);

/* Replaces the exemplar of a bucket by this duration, whose trace was recorded. context is the traceparent
 * of the span; wall_us is the time since 1970. Does not count the duration. */
void metrics_exemplify(struct metrics *, enum metrics_exemplified, int64_t us, struct slice context,
                       int64_t wall_us);
void metrics_fire_lateness(struct metrics *, int64_t late_us);
void metrics_ended(struct metrics *, struct slice topic, enum metrics_end);

/* Counts a request of the route with this label, which must be a literal, such as "GET /jobs". At most
 * METRICS_ROUTES_MAX labels are counted, and at most METRICS_STATUSES_MAX statuses of each label. Requests
 * with other labels or statuses are not counted. */
void metrics_request(struct metrics *, const char *label, unsigned status, int64_t duration_us);
void metrics_count(struct metrics *, enum metrics_counter, uint64_t by);
void metrics_in_flight(struct metrics *, size_t attempts);

/* Sets the number of receivers with an open breaker and the number of receivers with a limit. All reactors
 * set the same numbers. */
void metrics_receivers(struct metrics *, size_t open, size_t limited);

/* Sets the processor time of Redis. Each reactor sets it at its own moments. The metrics show the largest
 * value, which is the latest. */
void metrics_redis_processor(struct metrics *, int64_t us);

/* Counts since the start of the process, summed over all reactors. accepted, delivered, cancelled and dead
 * count jobs; failed counts attempts. */
struct metrics_sums {
    uint64_t accepted, delivered, cancelled, dead, failed;
    uint64_t late[HISTOGRAM_BUCKETS]; /* number of attempts in each bucket of lateness */
    uint64_t in_flight;               /* attempts that are in flight now */
};

struct metrics_topic_sums {
    const char *name; /* "_other" stands for all topics without a row; valid until the board is freed */
    uint64_t accepted, delivered, cancelled, dead, failed;
};

/* Reads the sums of all topics and of each topic. Returns the number of topics. */
size_t metrics_sum(struct metrics_board *, struct metrics_sums *,
                   struct metrics_topic_sums topics[METRICS_TOPICS_MAX + 1]);

/* The mean duration of attempts since the start of the process, by topic; "_other" stands for all topics
 * without a row. */
struct metrics_duration {
    const char *name; /* valid until the board is freed */
    uint64_t attempts, sum_us;
};

/* Reads the durations of each topic. Returns the number of topics. */
size_t metrics_durations(struct metrics_board *, struct metrics_duration topics[METRICS_TOPICS_MAX + 1]);

/* Appends the sum of all reactors' metrics. */
void metrics_write(struct metrics_board *, struct buffer *, enum metrics_format);

/* Appends the lines HELP and TYPE of a metric. type is counter, gauge or histogram. The name of a counter
 * ends with "_total"; in OpenMetrics, these two lines have the name without this ending. */
void metrics_write_head(struct buffer *, enum metrics_format, const char *name, const char *type,
                        const char *help);

#endif

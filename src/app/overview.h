/* overview.h - use cases for the state of the whole: the overview of all processes and topics, health,
 * receivers and metrics. */
#ifndef DUEPOST_APP_OVERVIEW_H
#define DUEPOST_APP_OVERVIEW_H

#include "app/app.h"
#include "app/live.h"
#include "base/metrics.h"
#include "job/target/receiver.h"
#include "job/topic/topic.h"

struct store;

/* A summary of the impaired receivers, which failed or asked for fewer attempts: their number, and the
 * receivers that will be probed next. */
enum { IMPAIRED_FIRST = 10 };

struct impaired_receiver {
    char name[RECEIVER_NAME_SIZE];
    char cause[RECEIVER_CAUSE_SIZE]; /* cause of the last failure; empty: unknown */
    /* is_open: the receiver's breaker is open; otherwise the receiver asked for fewer attempts */
    bool is_open, is_probing;
    int64_t probe_ms; /* earliest time of the next probe; 0: the breaker is closed */
};

struct impaired {
    size_t count;
    /* the receivers whose probes are next, the earliest first */
    struct impaired_receiver first[IMPAIRED_FIRST];
};

/* Jobs of Redis. delayed and ready are -1 until they have been counted. leased includes the pulled jobs,
 * which workers hold. */
struct app_overview_jobs {
    int64_t delayed, ready, held, leased, pulled, dead;
    int64_t retrying; /* jobs that an attempt was made for, and that have not ended; they also count above */
    int64_t outbox, outbox_bytes, outbox_age_ms; /* ended jobs that are not in the history yet */
};

enum { APP_OVERVIEW_TOPICS = 10 };

struct app_overview_redis {
    bool is_up;
    const char *durability; /* durability class that Redis provides now */
    const char *version;
    bool is_private;
    int64_t used_bytes,
        max_bytes; /* memory of Redis; in a Cluster, of the fullest node; 0: unknown, or no limit */
};

struct app_overview {
    int64_t now_ms;                       /* time by Redis's clock */
    const struct app_overview_jobs *jobs; /* NULL: Redis did not answer */
    struct live_board *live;
    /* The most overdue topics that the caller has a right to; NULL: unknown. */
    const struct urgent_topic *const *overdue;
    size_t overdue_count;
    /* The topics that fail, those with the most failures first. Set if overdue is. */
    const struct failing_topic *const *failing;
    size_t failing_count;
    /* NULL: unknown, or the caller has a right only to some topics. */
    const struct impaired *receivers;
    const struct forecast *forecast;
    int64_t workers_waiting, worker_leases; /* figures of pull topics */
    struct app_overview_redis redis;
};

/* The overview is valid until the callback returns. */
typedef void app_overview_fn(void *arg, const struct app_overview *);

/* Reads the overview. A process queries Redis at most once a second, for any number of clients. */
void app_overview(struct app *, const struct app_caller *, app_overview_fn *, void *arg);

/* ---- health ----
 *
 * Reports whether this reactor can confirm changes, and the version, role and durability of
 * Redis. */

enum { APP_DURABILITY_SIZE = 32 };

struct app_health {
    bool is_ready;
    struct problem why; /* if the reactor is not ready: the reason */
    bool is_redis_known;
    const char *version, *role,
        *eviction; /* settings of Redis, if known; valid until the next turn of the loop */
    char durability[APP_DURABILITY_SIZE]; /* the configured durability */
    char in_force[APP_DURABILITY_SIZE];   /* the durability that Redis provides now, if known */
    bool is_trusted; /* the durability in in_force was not checked, see the option --trust-durability */
};

void app_health(const struct app *, struct app_health *);

/* ---- receivers ----
 *
 * Use cases for receivers: lists them, and closes a circuit breaker on request. */

typedef void app_receiver_fn(void *arg, const struct receiver_record *);

/* Reads a cursor from a page. Returns false if the text is not a cursor. */
bool app_receiver_cursor_parse(const struct app *, struct slice text, struct receiver_cursor *);

/* Calls each() for every receiver of a page, and then fn. max is 1 to APP_PAGE_MAX. */
void app_receivers(struct app *, size_t max, struct receiver_cursor from, app_receiver_fn *each,
                   app_verdict_fn *fn, void *arg);

/* Closes the breaker of a receiver and the breakers of its paths, and removes the receiver's limit of
 * attempts. Calls each() with the receiver, and then fn. Ends with NOT_FOUND if Redis has no record of the
 * receiver. */
void app_receiver_close(struct app *, const struct app_caller *, struct slice name, app_receiver_fn *each,
                        app_verdict_fn *fn, void *arg);

/* Called when the receivers have been read. At most a few thousand receivers are read. */
typedef void impaired_fn(void *arg, enum status, const struct impaired *);
void impaired_read(struct store *, impaired_fn *, void *arg);

/* ---- metrics ----
 *
 * The use case of GET /metrics: writes all metrics in the text format of Prometheus or in
 * OpenMetrics. */

typedef void app_exposed_fn(void *arg, struct slice text);

/* Clears text and writes the metrics into it, immediately before the callback. */
void app_expose(struct app *, struct buffer *text, enum metrics_format, app_exposed_fn *, void *arg);

#endif

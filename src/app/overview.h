/* overview.h - the use case of GET /overview: the state of all processes and topics. */
#ifndef DUEPOST_APP_OVERVIEW_H
#define DUEPOST_APP_OVERVIEW_H

#include "app/app.h"
#include "app/impaired.h"
#include "app/live_board.h"
#include "job/topic/topic.h"

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
    const struct coming *coming;
    int64_t workers_waiting, worker_leases; /* figures of pull topics */
    struct app_overview_redis redis;
};

/* The overview is valid until the callback returns. */
typedef void app_overview_fn(void *arg, const struct app_overview *);

/* Reads the overview. A process queries Redis at most once a second, for any number of clients. */
void app_overview(struct app *, const struct app_caller *, app_overview_fn *, void *arg);

#endif

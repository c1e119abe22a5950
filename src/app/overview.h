/* overview.h - the use case of GET /overview: the state of all processes and topics. */
#ifndef DUEPOST_APP_OVERVIEW_H
#define DUEPOST_APP_OVERVIEW_H

#include "app/app.h"
#include "app/live_board.h"

/* Jobs of Redis. delayed and ready are -1 until they have been counted. leased includes the pulled jobs,
 * which workers hold. */
struct app_overview_jobs {
    int64_t delayed, ready, held, leased, pulled, dead;
    int64_t retrying; /* jobs that an attempt was made for, and that have not ended; they also count above */
    int64_t outbox, outbox_bytes, outbox_age_ms; /* ended jobs that are not in the history yet */
};

enum { APP_OVERVIEW_TOPICS = 10, APP_OVERVIEW_RECEIVERS = 10 };

/* A topic whose first job is overdue. */
struct app_overdue {
    struct slice topic;
    int64_t due_ms, late_ms;
    int64_t ready, held; /* numbers of jobs */
    bool is_paused, is_pull;
    bool lacks_url; /* some of the held jobs have no url, and the topic has none either */
};

/* A topic that fails, with its attempts of the last hour and the last answer to a failed one (empty: none).
 */
struct app_failing {
    struct slice topic, last_answer;
    int64_t failed, attempts;
};

struct app_impaired {
    struct slice name, cause; /* as in app_receiver */
    /* is_open: the receiver's breaker is open; otherwise the receiver asked for fewer attempts */
    bool is_open, is_probing;
    int64_t probe_ms; /* set if is_open */
};

struct app_overview_receivers {
    size_t impaired;
    /* the receivers whose probes are next, the earliest first */
    struct app_impaired first[APP_OVERVIEW_RECEIVERS];
    size_t first_count;
};

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
    const struct app_overdue *overdue;
    size_t overdue_count;
    /* The topics that fail, those with the most failures first. Set if overdue is. */
    const struct app_failing *failing;
    size_t failing_count;
    /* NULL: unknown, or the caller has a right only to some topics. */
    const struct app_overview_receivers *receivers;
    const struct coming *coming;
    int64_t workers_waiting, worker_leases; /* figures of pull topics */
    struct app_overview_redis redis;
};

/* The overview is valid until the callback returns. */
typedef void app_overview_fn(void *arg, const struct app_overview *);

/* Reads the overview. A process queries Redis at most once a second, for any number of clients. */
void app_overview(struct app *, const struct app_caller *, app_overview_fn *, void *arg);

#endif

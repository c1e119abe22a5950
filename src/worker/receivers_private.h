/* receivers_private.h - what the parts of receivers.h share: receivers.c knows, receiver_report.c tells, and
 * receiver_hold.c says for how long jobs are held. */
#ifndef DUEPOST_WORKER_RECEIVERS_PRIVATE_H
#define DUEPOST_WORKER_RECEIVERS_PRIVATE_H

#include "base/list.h"
#include "worker/receivers.h"

enum { RECEIVER_BUCKETS = 4096 };

struct shard_view;

struct receivers {
    struct store *store;
    struct metrics *metrics;
    struct shard_view *shards;
    struct list buckets[RECEIVER_BUCKETS];
    struct list impaired; /* by age_link */
    size_t impaired_count, open_count, limited_count;
    struct list with_news; /* by news_link */
    struct hook *decide;
    struct timer *later; /* when what is new may be read again */
};

/* What is to be reported of a receiver. */
struct receiver_news {
    bool is_reachable; /* before the failures */
    int64_t failures, crowd, delivered;
    int64_t probe; /* number of the one that is over; 0: none */
    enum receiver_probe_end {
        RECEIVER_PROBE_CONCLUSIVE,   /* is_reachable or failures say how it went */
        RECEIVER_PROBE_INCONCLUSIVE, /* nothing came of it, see RECEIVER_INCONCLUSIVE */
        RECEIVER_PROBE_UNSENT,
    } probe_end;
    bool wants_probe;
    char cause[RECEIVER_CAUSE_SIZE], inconclusive_cause[RECEIVER_CAUSE_SIZE];
};

/* Each field is written by the file that is named above it. Times are CLOCK_BOOTTIME. */
struct receiver {
    /* receivers.c */
    struct receivers *receivers;
    struct list link;     /* of its bucket */
    struct list age_link; /* among those that are not well, the one heard of longest ago first */
    bool is_path;         /* of a receiver, rather than one */
    size_t shard;         /* its number */
    size_t in_flight;     /* attempts of this reactor */
    bool is_impaired;       /* Redis has something to say of it: all outcomes are reported */
    int64_t version;      /* of its shard when it was as it is known, see store_news_fn */
    int64_t heard_us;
    bool is_open;      /* its breaker */
    int64_t probe_us;  /* until then nobody may probe it */
    int64_t probe_ms;  /* the same by Redis's clock */
    int64_t wait_ms;   /* from one probe that failed to the next */
    int64_t probe;     /* number of the first probe under way, ours or another reactor's; 0: none */
    int64_t probed_us; /* since when */
    int64_t limit;     /* of in_flight; 0: none */
    int64_t since_us;  /* since when its breaker is open, or else it has a limit; by the clock of Redis it may
                          be later than now */

    /* receiver_report.c */
    struct list news_link; /* among those with news that is not on its way */
    struct receiver_news news, sent;
    bool is_reporting;
    int64_t reported_us; /* when that began */
    struct permit_part
        *asker;     /* whose attempt waits to hear whether it may probe; NULL: none, or it is gone */
    bool is_asking; /* all the same the answer is to come */

    /* receiver_hold.c */
    int64_t awaited_ms; /* a job comes back when probe_ms is this */
    int64_t row_us;     /* when the last of the row of jobs comes back */
    int64_t soon_us;    /* the same of those that are held until more is known */

    char name[];
};

/* ---- receivers.c ---- */

/* What Redis said of it when its shard was at version; NULL: nothing. Answers on two connections pass each
 * other: the older one changes nothing. */
void receiver_learn(struct receiver *, const struct store_receiver *, int64_t version);

/* There may be something newer, which is being asked for. */
bool receiver_is_outdated(const struct receiver *);

/* We know better than Redis: its breaker is closed. */
void receiver_set_well(struct receiver *);

/* Nobody can say who may probe it: the wait begins anew. */
void receiver_put_off_probe(struct receiver *);

void receivers_tell_numbers(const struct receivers *);

/* ---- receiver_hold.c ---- */

/* The jobs that have places in the row come back, but those that are held from now on don't wait for them. */
void receiver_begin_row(struct receiver *);

/* ---- receiver_report.c ---- */

bool receiver_is_telling(const struct receiver *);

/* At the end of a turn: a report of each with news. arg: the receivers. */
void receivers_send_reports(void *arg);

#endif

/* receivers.h - this reactor's copy of what Redis keeps about impaired receivers.
 *
 * A receiver whose attempts fail has an open circuit breaker; one that asks for fewer attempts has a limit.
 * report.lua decides both, by Redis's clock. Attempts go or are held by the copy (permit.h). It stays fresh
 * by the answers to this reactor's reports (receiver_report.h) and by reading what other reactors reported:
 * each claim brings a version, and what is newer is read. A healthy receiver costs Redis nothing.
 *
 * Used from the top down, never up: permit.c, receiver_report.c, hold.c, receivers.c. */
#ifndef DUEPOST_WORKER_RECEIVERS_H
#define DUEPOST_WORKER_RECEIVERS_H

#include "base/list.h"
#include "job/receiver.h"
#include "store/store.h"

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
    struct timer *later;   /* when news may be read again */
};

/* The next report about a receiver. */
struct receiver_news {
    bool is_reachable; /* before the failures */
    int64_t failures, crowd, delivered;
    int64_t probe; /* number of the one that is over; 0: none */
    enum receiver_probe_end {
        RECEIVER_PROBE_CONCLUSIVE,   /* is_reachable or failures say how it went */
        RECEIVER_PROBE_INCONCLUSIVE, /* see RECEIVER_INCONCLUSIVE */
        RECEIVER_PROBE_UNSENT,
    } probe_end;
    bool wants_probe;
    char cause[RECEIVER_CAUSE_SIZE], inconclusive_cause[RECEIVER_CAUSE_SIZE];
};

/* The answer to a permit that asked for the right to probe. may_send: with or without the right. */
typedef void receiver_probe_fn(void *arg, bool may_send, int64_t probe);

/* A receiver, or a path of one, that has attempts in flight or is impaired. Each field is written by the file
 * that is named above it. Times are CLOCK_BOOTTIME. */
struct receiver {
    /* receivers.c */
    struct receivers *receivers;
    struct list link;     /* of its bucket */
    struct list age_link; /* among the impaired, the one with the oldest news first */
    bool is_path;         /* of a receiver */
    size_t shard;         /* its number */
    size_t in_flight;     /* attempts of this reactor */
    bool is_impaired;     /* Redis has a record of it: all results are reported */
    int64_t version;      /* of its shard, when the copy was made; see store_news_fn */
    int64_t heard_us;
    bool is_open;      /* its breaker */
    int64_t probe_us;  /* until then no process may probe it */
    int64_t wait_ms;   /* from one probe that failed to the next */
    int64_t probe;     /* number of the first probe under way, of any reactor; 0: none */
    int64_t probed_us; /* when it began */
    int64_t limit;     /* of in_flight; 0: none */
    int64_t since_us;  /* when its breaker opened, or else its limit began; by Redis's clock it may be later
                          than now */

    /* receiver_report.c */
    struct list news_link; /* among those with news that is not on its way */
    struct receiver_news news, sent;
    bool is_reporting;
    int64_t reported_us; /* when that began */
    receiver_probe_fn
        *on_probe; /* of the attempt that waits for the right to probe; NULL: none, or it is gone */
    void *probe_arg;
    bool is_asking; /* the answer is to come, even if the attempt is gone */

    /* hold.c */
    int64_t row_us;     /* when the last job of the row comes back */
    int64_t recheck_us; /* the same, of the row of those that wait for news */

    char name[];
};

/* Borrows store and metrics. */
struct receivers *receivers_new(struct loop *, struct store *, struct metrics *);

/* When permits and the store are gone. NULL is fine. */
void receivers_free(struct receivers *);

/* A claim, or the answer to a report, that was sent at asked_us (CLOCK_BOOTTIME) or later brought this
 * version of shard number. */
void receivers_hear(struct receivers *, size_t number, int64_t version, int64_t asked_us);

/* Returns the receiver of that name. It lives until receiver_settle or receiver_leave finds no reason to keep
 * it. */
struct receiver *receivers_find(struct receivers *, const char *name);
void receiver_settle(struct receiver *);

/* An attempt begins, and is over. */
void receiver_enter(struct receiver *);
void receiver_leave(struct receiver *);

/* As many attempts are in flight as its limit allows. */
bool receiver_is_full(const struct receiver *);

/* There may be newer news, which is being read. */
bool receiver_is_outdated(const struct receiver *);

/* There is something to report. */
bool receiver_has_news(const struct receiver *);

/* Takes over the record that Redis had when the shard was at version; NULL: none. Answers on two connections
 * may arrive in any order: the older one changes nothing. */
void receiver_learn(struct receiver *, const struct store_receiver *, int64_t version);

/* Redis did not answer. The receiver did, so its breaker is closed here. */
void receiver_close(struct receiver *);

/* Redis did not answer, so no process may probe: the wait begins anew. */
void receiver_put_off_probe(struct receiver *);

void receivers_count(const struct receivers *);

#endif

/* receivers.h - what this reactor knows of receivers, and tells the others of them.
 *
 * A receiver whose attempts fail gets a breaker that opens, one that asks for fewer attempts a limit; both
 * are kept in Redis, and decided there, by report.lua. Here is a copy of what is known of those that are not
 * well, by which attempts go or are held (permit.h). It is kept fresh by the answers to what this reactor
 * reports, and by what others did: they tell, each claim brings a version, and what is newer is read. So a
 * well receiver costs Redis nothing.
 *
 * What a turn brings of a receiver leaves as one report, and the next gathers while that is under way. A
 * report that Redis did not take is lost: it was a hint. */
#ifndef DUEPOST_WORKER_RECEIVERS_H
#define DUEPOST_WORKER_RECEIVERS_H

#include "base/list.h"
#include "job/receiver.h"
#include "store/store.h"

struct receivers;
struct permit;

/* What is to be reported of a receiver. */
struct receiver_news {
    bool lives; /* before the failures */
    int64_t failures, crowd, delivered;
    int64_t probe, unsent_probe; /* their numbers; 0: none */
    int64_t probe_ms;            /* for how long the right to probe is asked for; 0: it is not */
    char cause[RECEIVER_CAUSE_SIZE];
};

/* One that has attempts in flight, or is not well. */
struct receiver {
    struct list link;      /* of its bucket */
    struct list age_link;  /* among those that are not well, the one heard of longest ago first */
    struct list news_link; /* among those with news that is not on its way */
    struct receivers *receivers;
    size_t shard;     /* its number */
    size_t in_flight; /* attempts of this reactor */
    bool is_unwell;   /* Redis has something to say of it: all outcomes are reported */
    int64_t version;  /* of its shard when it was as it is known, see store_news_fn */
    int64_t heard_us; /* CLOCK_BOOTTIME, as all times here */
    bool is_open;     /* its breaker */
    int64_t probe_us; /* until then nobody may probe it */
    int64_t probe_ms; /* the same by Redis's clock */
    int64_t wait_ms;
    int64_t probe;        /* number of the probe under way, ours or another reactor's; 0: none */
    int64_t probed_us;    /* since when */
    bool is_awaited;      /* a job comes back at probe_us */
    int64_t limit;        /* of in_flight; 0: none */
    int64_t return_us;    /* when the last of the jobs that the limit holds comes back */
    struct permit *asker; /* whose attempt waits to hear whether it may probe; NULL: none, or it is gone */
    bool is_asking;       /* all the same the answer is to come */
    bool is_reporting;
    int64_t reported_us; /* when that began */
    struct receiver_news news, sent;
    char name[];
};

/* Borrows store and metrics. */
struct receivers *receivers_new(struct loop *, struct store *, struct metrics *);

/* When permits and the store are gone. NULL is fine. */
void receivers_free(struct receivers *);

/* What a claim, or a report's answer, said that was sent at asked_us (CLOCK_BOOTTIME) or later: the version
 * of what is known of the receivers of shard number. */
void receivers_hear(struct receivers *, size_t number, int64_t version, int64_t asked_us);

/* The receiver of that name. It lives as long as there is something to know of it: see receiver_settle. */
struct receiver *receivers_find(struct receivers *, const char *name);

struct metrics *receivers_metrics(const struct receivers *);

/* Its news have changed: they leave at the end of the turn. */
void receiver_report(struct receiver *);

/* Frees it when there is nothing to know. */
void receiver_settle(struct receiver *);

#endif

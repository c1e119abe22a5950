/* receivers_private.h - what receivers.c, which knows, and receiver_report.c, which tells, share. */
#ifndef DUEPOST_WORKER_RECEIVERS_PRIVATE_H
#define DUEPOST_WORKER_RECEIVERS_PRIVATE_H

#include "worker/receivers.h"

enum { RECEIVER_BUCKETS = 4096 };

struct knowledge;

struct receivers {
    struct store *store;
    struct metrics *metrics;
    struct knowledge *shards;
    struct list buckets[RECEIVER_BUCKETS];
    struct list unwell; /* by age_link */
    size_t unwell_count, open_count, limited_count;
    struct list with_news;
    struct hook *decide;
    struct timer *later; /* when what is new may be read again */
};

/* What Redis said of it when its shard was at version; NULL: nothing. Answers on two connections pass each
 * other: the older one changes nothing. */
void receiver_learn(struct receiver *, const struct store_receiver *, int64_t version);

/* Whatever Redis says. */
void receiver_set_open(struct receiver *, bool is_open);

bool receiver_has_news(const struct receiver *);

void receivers_tell_numbers(const struct receivers *);

/* At the end of a turn: a report of each with news. arg: the receivers. */
void receivers_send_reports(void *arg);

#endif

/* alerts.h - finds out which alerts begin and end, and has jobs of duepost~alerts report it.
 *
 * The owner of the carry lock of a shard looks at the topics and receivers of the shard, every few seconds
 * while a topic or pattern has the setting alerts. All state is in Redis: a script changes an episode
 * (job/alert/alert.h) and schedules its job, only if the episode is still as this process has read it. So a
 * process that dies, or two that decide at the same time, neither lose an alert nor report it twice. */
#ifndef DUEPOST_WORKER_ALERTS_H
#define DUEPOST_WORKER_ALERTS_H

#include "store/shard.h"

struct alerts;

enum { ALERTS_PERIOD_MS = 5000 };

struct alerts_options {
    struct store *store;
    struct shard *shard;
    /* The durability that the operator has configured; NULL: none. */
    const struct durability *durability;
    /* Returns whether the server has a TLS certificate, and until when it is valid, ms since 1970. May be
     * NULL. */
    bool (*certificate)(void *arg, int64_t *until_ms);
    void *arg;
};

/* Borrows everything in options. */
struct alerts *alerts_new(const struct alerts_options *);

/* Looks at the shard, unless this is under way or was done a moment ago. The owner of the carry lock calls it
 * once a second. is_used: topics of the shard, or patterns, have alerts. */
void alerts_tick(struct alerts *, bool is_used);

/* Call it when the process has taken the carry lock. */
void alerts_begin(struct alerts *);

/* Call it after the store was freed. NULL is ignored. */
void alerts_free(struct alerts *);

#endif

/* alert.h - the facts by which alerts are decided, and the alerts that have begun (job/alert/alert.h).
 *
 * The facts are those of a shard. All episodes are in the shard of the topic duepost~alerts. */
#ifndef DUEPOST_STORE_ALERT_H
#define DUEPOST_STORE_ALERT_H

#include "job/alert/alert.h"
#include "store/shard.h"

enum {
    STORE_EPISODES_MAX = 1000,     /* maximum number of alerts that have begun, in all shards */
    STORE_ALERT_CHANGES_MAX = 100, /* maximum number of changes in one call */
    STORE_ALERT_NAMES_MAX = 200,   /* maximum number of topics that a caller names; also of others */
};

struct store_episode {
    struct slice name, state;
};

/* The slices are valid until the callback returns. */
typedef void store_alerts_fn(void *arg, enum status, const struct store_episode *, size_t count);
void store_alerts(struct store *, store_alerts_fn *, void *arg);

struct store_fact {
    struct alert_facts facts;
    /* settings of the topic (of a schedule: of its topic), or those of the pattern "*" for receivers and the
     * shard */
    struct slice settings;
};

/* The slices are valid until the callback returns. The last fact is that of the shard, without
 * lacks_durability and the certificate. */
typedef void shard_symptoms_fn(void *arg, enum status, int64_t now_us, const struct store_fact *,
                               size_t count);

struct store_alert_names {
    size_t count;
    struct slice items[STORE_ALERT_NAMES_MAX];
};

/* The names of topics, schedules and receivers that alerts which have begun are about. */
struct store_alert_subjects {
    struct store_alert_names topics, schedules, receivers; /* a schedule is topic/scheduleId */
    int64_t before_ms; /* receivers whose certificates end within this time are looked at, too; 0: none */
};

/* Reads facts about a bounded number of topics, receivers and missed schedules, and about those that the
 * caller names. Borrows the names until the callback. */
void shard_symptoms(struct shard *, const struct store_alert_subjects *, shard_symptoms_fn *, void *arg);

/* Begins (old is empty), changes or ends (new is empty) an episode, and schedules a job, unless id is empty.
 * If name is empty, only schedules the job. */
struct store_alert_change {
    struct slice name, old, new, id, record;
};

/* done has for each change whether it was made: it was not if another process has changed the episode, if
 * now_us is more than 10 s away from the time of Redis, or if too many alerts wait. */
typedef void store_change_alerts_fn(void *arg, enum status, const bool *done, size_t count);

/* Makes changes, which were decided by facts of the time now_us. Borrows the slices until the callback. */
void store_change_alerts(struct store *, int64_t now_us, const struct store_alert_change *, size_t count,
                         store_change_alerts_fn *, void *arg);

#endif

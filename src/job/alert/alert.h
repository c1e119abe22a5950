/* alert.h - decides when an alert begins and ends, and writes the jobs that report it. The functions are
 * pure: no clock, no I/O.
 *
 * An episode is the time from the begin of an alert to its end. Redis has the episodes that have begun, each
 * under the name of its rule and subject. A job of the topic duepost~alerts reports the begin, and another
 * one the end. The script that changes an episode also schedules the job (scripts/alert.lua). */
#ifndef DUEPOST_JOB_ALERT_ALERT_H
#define DUEPOST_JOB_ALERT_ALERT_H

#include "job/alert/alert_rules.h"
#include "job/job_id.h"
#include "job/target/receiver.h"

#define ALERT_TOPIC "duepost~alerts"

enum {
    ALERT_JOBS_MAX = 5, /* maximum number of dead jobs that an alert names */
    ALERT_NAME_SIZE = (int)RECEIVER_NAME_SIZE > (int)JOB_KEY_MAX ? RECEIVER_NAME_SIZE + 48 : JOB_KEY_MAX + 48,
    ALERT_STATE_SIZE = 96, /* including the NUL */
    ALERT_ID_SIZE = 128,
};

/* Kinds of things that alerts are about. */
enum alert_about { ALERT_OF_TOPIC, ALERT_OF_SCHEDULE, ALERT_OF_RECEIVER, ALERT_OF_SHARD };

/* Returns the kind of thing that an alert is about. */
enum alert_about alert_about(enum alert_kind, struct slice subject) MUST_USE;

/* The facts about a topic, a schedule, a receiver, or a shard and its server. The slices are borrowed. */
struct alert_facts {
    enum alert_about about;
    struct slice subject; /* name of the topic or receiver; topic/scheduleId; number of the shard */
    int64_t now_ms;
    /* A topic: attempts of the present and the previous period of five minutes. */
    int64_t delivered, failed;
    /* Numbers of jobs that died: "period number period number ..."; the number of the present period. */
    struct slice deaths;
    int64_t period;
    struct slice dead[ALERT_JOBS_MAX]; /* jobIds of the last ones */
    size_t dead_count;
    int64_t due_ms;         /* due time of the first job that waits; -1: none */
    int64_t pending, quota; /* without a quota, quota is -1 */
    /* A schedule */
    int64_t missed_ms; /* when it is missed unless an occurrence is delivered; -1: it expects no delivery */
    int64_t delivered_ms; /* when an occurrence was last delivered; 0: never */
    /* A receiver */
    int64_t opened_ms; /* 0: its breaker is closed */
    struct slice cause;
    /* A shard and its server */
    int64_t outbox_age_ms;
    bool lacks_durability, is_durability_unknown;
    bool has_certificate;        /* also for receivers: it has shown one */
    int64_t certificate_left_ms; /* time until it ends; may be negative */
};

/* An episode as Redis has it. */
struct alert_episode {
    int64_t since_ms;
    int64_t count;                 /* DIED: how many jobs have died since then */
    int64_t period, period_number; /* DIED: the last period that was counted, and its number */
};

/* Reads "since count period number". Returns false if duepost did not write the text. */
bool alert_episode_read(struct slice text, struct alert_episode *);
void alert_episode_write(const struct alert_episode *, char text[ALERT_STATE_SIZE]);

/* Writes the name of an episode: "died orders 00112233aabbccdd", whose last part identifies the rule. */
void alert_name_write(const struct alert_rule *, struct slice subject, char name[ALERT_NAME_SIZE]);

/* Splits such a name. Returns false if duepost did not write it. */
bool alert_name_read(struct slice name, enum alert_kind *, struct slice *subject);

enum alert_change {
    ALERT_UNCHANGED,
    ALERT_FIRED,
    ALERT_COUNTED, /* only the state in Redis changes */
    ALERT_RESOLVED,
};

/* Decides about a rule whose kind fits the facts. old: the episode that has begun, or NULL. The bounds at
 * which an episode ends are below those at which it begins, so that a value near a bound does not raise one
 * alert after the other. */
enum alert_change alert_decide(const struct alert_rule *, const struct alert_facts *,
                               const struct alert_episode *old, struct alert_episode *next);

/* Returns whether the kind of the rule fits the facts. An alert about the receiver of its own url does not.
 */
bool alert_rule_fits(const struct alert_rule *, const struct alert_facts *);

/* Writes the id and the record of the job that reports a change (job_write). */
void alert_job_write(const struct alert_rule *, const struct alert_facts *, const struct alert_episode *,
                     enum alert_change, char id[ALERT_ID_SIZE], struct buffer *record);

/* Writes the id and the record of a job that tries the rule out. number: makes the id unique. */
void alert_test_write(const struct alert_rule *, struct slice subject, int64_t now_ms, uint64_t number,
                      char id[ALERT_ID_SIZE], struct buffer *record);

#endif

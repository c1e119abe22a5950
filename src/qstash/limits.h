/* limits.h - the limits of a queue or of a flow-control key, as settings of their topic.
 *
 * A queue whose parallelism is 1 is a fifo topic. A rate limits the attempts in each window of time. Messages
 * with a key request its limits, but do not change limits that are pinned. The setting "note" has the other
 * data: when the queue was created, the limits that the last message with the key requested, and which limits
 * are pinned. */
#ifndef DUEPOST_QSTASH_LIMITS_H
#define DUEPOST_QSTASH_LIMITS_H

#include "job/topic/topic_settings.h"
#include "qstash/settings.h"

enum {
    LIMITS_PARALLELISM_MAX = TOPIC_MAX_IN_FLIGHT_MAX,
    LIMITS_NOTE_SIZE = 256,
};

struct limits {
    bool is_queue, is_paused;
    int64_t parallelism;    /* limit in force; 0: none except the limit that applies to all topics */
    int64_t rate, period_s; /* limit in force; rate 0: none */
    /* Windows of the rate that began before this time are ignored; 0: no window is ignored. */
    int64_t since_ms;
    int64_t created_ms, updated_ms;
    /* Only with a flow-control key: */
    struct settings_flow asked; /* limits of the last message that requested any; asked.key is not set */
    bool is_pinned_parallelism, is_pinned_rate;
};

/* Returns the limits that a new queue has, or, if is_queue is false, a new flow-control key. */
struct limits limits_new(bool is_queue, int64_t now_ms);

/* Reads the limits of a topic that has settings. */
struct limits limits_read(bool is_queue, const struct topic_settings *);
struct limits limits_read_text(bool is_queue, struct slice text);

/* Writes the limits into the settings, which borrow note. */
void limits_write(const struct limits *, char note[LIMITS_NOTE_SIZE], struct topic_settings *);

/* Applies the limits that a message requests, except pinned limits. Returns whether the limits have
 * changed. */
bool limits_ask(struct limits *, const struct settings_flow *);

/* Unpins the limits for which the argument is true, and sets them as the last message with the key
 * requested. */
void limits_unpin(struct limits *, bool parallelism, bool rate);

#endif

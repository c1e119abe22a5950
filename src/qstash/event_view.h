/* event_view.h - the events of one message, computed from its state and its last attempts.
 *
 *     CREATED ACTIVE DELIVERED                      the receiver answered the first attempt with 2xx
 *     CREATED ACTIVE ERROR RETRY ACTIVE DELIVERED   the first attempt failed, the second was answered 2xx
 *     CREATED ACTIVE ERROR FAILED                   the first attempt failed, and there were no retries
 *
 * Events are not stored. They show only the last ten attempts of a message, because older ones are not
 * kept (see attempt_line.h). */
#ifndef DUEPOST_QSTASH_EVENT_VIEW_H
#define DUEPOST_QSTASH_EVENT_VIEW_H

#include "job/attempt_line.h"
#include "job/job.h"
#include "qstash/message_view.h"

/* The states of events, as clients spell them. */
#define EVENT_STATES(X)                                                                                      \
    X(CREATED)                                                                                               \
    X(ACTIVE)                                                                                                \
    X(RETRY)                                                                                                 \
    X(ERROR)                                                                                                 \
    X(DELIVERED)                                                                                             \
    X(FAILED)                                                                                                \
    X(CANCELED)                                                                                              \
    X(CANCEL_REQUESTED) /* never occurs, because duepost cancels at once */

enum event_state {
#define EVENT_NAME(word) EVENT_##word,
    EVENT_STATES(EVENT_NAME)
#undef EVENT_NAME
};

enum { EVENTS_MAX = 64 /* maximum number of events of one message */ };

struct event {
    enum event_state state;
    int64_t at_ms;
    int number;               /* orders the events of a message; the number of an event never changes */
    int64_t next_ms;          /* RETRY: time at which the next attempt begins; 0: unknown */
    struct attempt_line line; /* ERROR: the failed attempt; points into lines of event_source */
    bool has_headers;         /* ERROR: the headers of the answer are kept with the message */
};

/* A message, read from Redis or from the history. The struct borrows the data of its pointers and slices. */
struct event_source {
    const struct message_view *view;
    enum job_state state;
    int64_t at_ms;      /* see stored_job */
    struct slice lines; /* lines of its attempts */
};

/* Writes the events, the oldest first. Returns their number. */
size_t events_of(const struct event_source *, struct event events[EVENTS_MAX]);

/* Writes an event as an object. */
void event_put(struct json_writer *, const struct message_view *, const struct event *);

/* Sets the bit 1 << state for each state that a filter's word means; IN_PROGRESS means three states. Returns
 * false for an unknown word. */
bool event_states_take(struct slice word, unsigned *states);

#endif

/* event_view.h - the events of one message, computed from its state and its last attempts.
 *
 *     CREATED ACTIVE DELIVERED                        the first attempt was answered with 2xx
 *     CREATED ACTIVE ERROR RETRY ACTIVE DELIVERED the first attempt failed, and the second one was answered
 *     with 2xx
 *     CREATED ACTIVE ERROR FAILED the first attempt failed, and there were no retries
 *
 * Events are not stored. Only the last ten attempts of a message are known, see attempt_line.h. */
#ifndef DUEPOST_QSTASH_EVENT_VIEW_H
#define DUEPOST_QSTASH_EVENT_VIEW_H

#include "job/attempt_line.h"
#include "job/job_state.h"
#include "qstash/message_view.h"

/* The states, with the words of the clients. */
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
    int number;               /* position of the event among the events of its message, which never changes */
    int64_t next_ms;          /* RETRY: time at which the next attempt begins; 0: unknown */
    struct attempt_line line; /* ERROR: the attempt; borrows the lines */
    bool has_headers;         /* ERROR: the headers of the answer are kept with the message */
};

/* The message, read from the store or from the history. The struct borrows the data of its pointers and
 * slices. */
struct event_source {
    const struct message_view *view;
    enum job_state state;
    int64_t at_ms;      /* see app_job */
    struct slice lines; /* lines of its attempts */
};

/* Writes the events, the oldest first. Returns their number. */
size_t events_of(const struct event_source *, struct event events[EVENTS_MAX]);

/* Writes an event as an object. */
void event_put(struct json_writer *, const struct message_view *, const struct event *);

/* Adds the bits 1 << state of the states that the word in a filter stands for. Returns false if the word is
 * not a state. */
bool event_states_take(struct slice word, unsigned *states);

#endif

/* event.h - the events of messages, and pages of messages with their attempts, from which the events are
 * computed. */
#ifndef DUEPOST_QSTASH_EVENT_H
#define DUEPOST_QSTASH_EVENT_H

#include "job/attempt_line.h"
#include "job/job.h"
#include "qstash/messages/lists.h"
#include "qstash/messages/message.h"
#include "qstash/qstash_private.h"

/* The events of one message, computed from its state and its last attempts.
 *
 *     CREATED ACTIVE DELIVERED                      the receiver answered the first attempt with 2xx
 *     CREATED ACTIVE ERROR RETRY ACTIVE DELIVERED   the first attempt failed, the second was answered 2xx
 *     CREATED ACTIVE ERROR FAILED                   the first attempt failed, and there were no retries
 *
 * Events are not stored. They show only the last ten attempts of a message, because older ones are not
 * kept (see attempt_line.h). */

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

/* ---- pages of messages ---- */

/* Reads a page of messages with their attempts, and keeps copies. The events are computed from
 * these copies.
 *
 * Messages are read by their ids or from a list. If a list comes without attempts, the attempts are read
 * separately. */

enum {
    EVENT_PAGE_MAX = 100, /* maximum number of messages in a page */
};

struct event_page;

/* A message. */
struct event_item {
    struct event_page *page;
    char key[MESSAGE_KEY_SIZE]; /* topic/messageId */
    struct slice id;            /* messageId; empty: there is no such message */
    enum job_state state;
    int64_t at_ms;               /* see stored_job */
    struct buffer record, lines; /* owned; lines: the attempts; marked as failed if there is no memory */
    bool needs_lines;
    /* Position of this message, from 1, among all messages that were read for the page, including those
     * that do not match the filters. */
    size_t position;
    int number; /* only events with smaller numbers are wanted; 0: all events */
};

typedef void event_page_fn(void *arg);

struct event_page {
    struct exchange *exchange;
    const struct filters *filters;
    event_page_fn *fn;
    void *arg;
    struct event_item items[EVENT_PAGE_MAX];
    /* count: number of items. seen: number of messages that were read, including those that do not match. */
    size_t count, seen;
    struct walk walk; /* the list; after a page, its cursor is behind this page */
    bool is_passing;  /* the page is read only for this cursor */
    /* Number of reads under way, plus 1 while further reads are started. */
    size_t pending;
    unsigned fault_status; /* HTTP status for the first read that failed; 0: none */
    char fault[ANSWER_TEXT_SIZE];
};

/* Borrows all arguments. fn is called each time a page was read, perhaps before the function that reads it
 * returns. */
void event_page_init(struct event_page *, struct exchange *, const struct filters *, event_page_fn *,
                     void *arg);
void event_page_fini(struct event_page *);

/* Read messages by their ids: call begin, then add for each id, then end. */
void event_page_begin_ids(struct event_page *);
void event_page_add_id(struct event_page *, struct slice message_id, int number);
void event_page_end_ids(struct event_page *);

/* Reads a page of the list in walk.messages, of at most max messages, and leaves out messages that do not
 * match the filters. With is_passing, moves to the next page without reading messages. */
void event_page_list(struct event_page *, size_t max, bool is_passing);

#endif

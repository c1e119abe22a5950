/* event_result.h - collects the events of one answer, sorted by time and without duplicates. */
#ifndef DUEPOST_QSTASH_EVENT_RESULT_H
#define DUEPOST_QSTASH_EVENT_RESULT_H

#include "qstash/event_view.h"
#include "qstash/message_id.h"

enum { EVENT_RESULT_BYTES = 4 * 1024 * 1024 /* an answer larger than this gets no further messages */ };

/* An event that was written. */
struct event_found {
    char message_id[MESSAGE_ID_MAX + 1];
    int64_t at_ms;
    int number;
    size_t text, size; /* where its JSON begins in texts, and its size */
};

struct event_result {
    struct event_found *items; /* owned */
    size_t count, max;
    struct buffer texts; /* the events as JSON; marked as failed if there is no memory */
};

void event_result_init(struct event_result *, size_t max);
void event_result_fini(struct event_result *);

bool event_result_is_full(const struct event_result *);

/* Adds an event, unless the result has it already. The result must not be full. */
void event_result_add(struct event_result *, const struct message_view *, const struct event *);

/* Sorts the events, the newest first, and writes them as items of an array. */
void event_result_write(struct event_result *, struct json_writer *);

#endif

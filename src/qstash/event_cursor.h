/* event_cursor.h - the cursor of GET /v2/events: where the next answer begins. An answer may end between two
 * events of a message. Then the cursor names this message, because its earlier events must still be listed.
 *
 *     p~0~7~<cursor of a list>~<messageId>
 *
 * The fields are: the source of the messages; how many ids of the request were read; the number of the
 * oldest event that was listed of the message; the cursor of the list of messages; the message. Fields may
 * be empty. */
#ifndef DUEPOST_QSTASH_EVENT_CURSOR_H
#define DUEPOST_QSTASH_EVENT_CURSOR_H

#include "qstash/event_page.h"

/* The sources of messages, in the order in which they are read. */
enum event_place {
    EVENTS_OF_IDS,     /* events of the messages whose ids the request names; no other source is read */
    EVENTS_OF_POOL,    /* events of messages that wait or are being delivered; without a history, also of dead
                          messages */
    EVENTS_OF_HISTORY, /* events of messages that have ended */
    EVENTS_END,
};

enum { EVENT_CURSOR_SIZE = EVENT_LIST_CURSOR_MAX + MESSAGE_ID_MAX + 64 };

struct event_cursor {
    enum event_place place;
    size_t ids;              /* number of the request's ids that were read */
    struct slice list;       /* cursor of the list; empty: its beginning */
    struct slice message_id; /* message of which some events are not listed yet; empty: none */
    /* The events of message_id with smaller numbers than this are not listed yet. */
    int number;
};

void event_cursor_write(struct buffer *, const struct event_cursor *);

/* Parses a cursor of events, which borrows text. Returns false if the text is not such a cursor. The cursor
 * of the list is not examined. */
bool event_cursor_parse(struct slice text, struct event_cursor *);

#endif

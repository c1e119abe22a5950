/* event_cursor.h - a position in the list of events. The position has the message of which some events are
 * not listed yet, and the position at which the next messages are read.
 *
 *     p~0~7~<cursor of a list>~<messageId>
 *
 * The fields are: the source of the messages; the number of ids that were read; the number of the message's
 * oldest listed event, because the events before it are not listed yet; the cursor of the list; the message.
 * Fields may be empty. */
#ifndef DUEPOST_QSTASH_EVENT_CURSOR_H
#define DUEPOST_QSTASH_EVENT_CURSOR_H

#include "qstash/event_page.h"

/* Where messages are read, in this order. */
enum event_place {
    EVENTS_OF_IDS,  /* events of the messages whose ids the request names; no other source is read */
    EVENTS_OF_POOL, /* events of messages that wait or are under way; without a history, also of dead ones */
    EVENTS_OF_HISTORY, /* events of messages that have ended */
    EVENTS_END,
};

enum { EVENT_CURSOR_SIZE = EVENT_LIST_CURSOR_MAX + MESSAGE_ID_MAX + 64 };

struct event_cursor {
    enum event_place place;
    size_t ids;              /* ids that were read */
    struct slice list;       /* cursor of the list; empty: its beginning */
    struct slice message_id; /* message of which some events are not listed yet; empty: none */
    /* Only events of this message before the one with this number are still to be listed. */
    int number;
};

void event_cursor_write(struct buffer *, const struct event_cursor *);

/* Parses a cursor of events, which borrows text. Returns false if the text is not such a cursor. The cursor
 * of the list is not examined. */
bool event_cursor_parse(struct slice text, struct event_cursor *);

#endif

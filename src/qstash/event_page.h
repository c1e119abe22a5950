/* event_page.h - reads a page of messages with their attempts, and keeps copies. The events are computed from
 * these copies.
 *
 * Messages are read by their ids or from a list. If a list comes without attempts, the attempts are read
 * separately. */
#ifndef DUEPOST_QSTASH_EVENT_PAGE_H
#define DUEPOST_QSTASH_EVENT_PAGE_H

#include "app/lists.h"
#include "qstash/answer.h"
#include "qstash/event_view.h"
#include "qstash/filters.h"
#include "qstash/message_id.h"

enum {
    EVENT_PAGE_MAX = 100,        /* maximum number of messages in a page */
    EVENT_LIST_CURSOR_MAX = 2048 /* maximum size of a list's cursor in bytes */
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
    size_t place;
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
    char next[EVENT_LIST_CURSOR_MAX + 1]; /* cursor of the list after this page; empty: the list ends here */
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

/* Reads a page of a list, and leaves out messages that do not match the filters. The list has at most
 * EVENT_PAGE_MAX jobs. The call borrows it until the callback. */
void event_page_list(struct event_page *, const struct app_list *);

/* Reads a page of a list, but only to get the cursor of the next page. */
void event_page_pass(struct event_page *, const struct app_list *);

#endif

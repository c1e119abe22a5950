/* bulk.h - an action on many messages, or a list: those with these ids, or those that the filters find.
 *
 *   1. page   reads a page of messages, and notes those that match
 *   2. act    acts on each of them, on all at once or on one after the other
 *   3. again  from 1, until there are enough or no more; then the answer
 *
 * With ids, step 1 is left out, and unknown ids are skipped. */
#ifndef DUEPOST_QSTASH_BULK_H
#define DUEPOST_QSTASH_BULK_H

#include "app/lists.h"
#include "qstash/filters.h"
#include "qstash/place.h"

struct bulk;

/* The messages that an action may concern. */
enum bulk_scope {
    BULK_ALL,
    BULK_OF_NO_RUN, /* they do not belong to a run in any way */
    BULK_OF_RUNS,   /* their death has failed a run */
};

struct bulk_kind {
    enum bulk_scope scope;
    unsigned accepted; /* filters, as 1 << each */
    enum filter ids;   /* the filter that has ids */
    unsigned states;   /* 1 << each state of the messages */
    bool is_in_order;  /* acts on one message after the other, in the order of the answer */
    bool is_newest_first;
    bool needs_limit;  /* without any filter, the action concerns only the first messages */
    int64_t count_max; /* maximum of the parameter count; 0: any */
    /* Acts on one message, whose id is borrowed until bulk_end_one, which it calls once. */
    void (*act)(struct bulk *, struct slice message_id);
    /* Writes a message that was found, for a list; NULL: the action is act. */
    void (*show)(struct bulk *, const struct app_job *, const struct message_view *);
    /* Answers the exchange when all is done. */
    void (*answer)(struct bulk *);
};

enum {
    BULK_COUNT = 100,       /* default of the parameter count */
    BULK_LIST_MAX = 1000,   /* messages of a list */
    BULK_RETRY_MAX = 500,   /* messages or runs that one request sends again */
    BULK_CURSOR_MAX = 2048, /* bytes */
};

struct bulk {
    struct exchange *exchange;
    const struct bulk_kind *kind;
    struct filters filters;
    struct app_list list;
    struct buffer ids;      /* messages of this page that match, each with a newline */
    char topic[PLACE_SIZE]; /* topic of the only queue that the filter names */
    char cursor[BULK_CURSOR_MAX + 1];
    size_t cursor_bytes;   /* size of the next page's cursor; 0: the list has ended */
    int64_t left;          /* messages that may still be acted on */
    int64_t done;          /* messages that were */
    size_t pending;        /* actions under way, and one more while they are begun */
    struct slice rest;     /* ids that wait for their turn */
    bool is_unknown;       /* the outcome of some */
    struct buffer results; /* what the actions write for the answer */
};

/* Begins the action that the request asks for. */
void bulk_begin(struct exchange *, const struct bulk_kind *);

/* Ends the action on one message. An unknown message counts as neither done nor failed. */
void bulk_end_one(struct bulk *, enum app_end);

/* Answers with {name: number of messages} and the cursor, or 503 if the outcome of some is unknown. */
void bulk_answer_count(struct bulk *, const char *name);

/* Ends the action on one message that turned out not to match, and does not count. */
void bulk_skip_one(struct bulk *);

/* Returns a writer for the next result. */
struct json_writer bulk_writer(struct bulk *);

/* Answers with {name: [results]} and the cursor, or 503 if the outcome of some is unknown. */
void bulk_answer_results(struct bulk *, unsigned status, const char *name);

#endif

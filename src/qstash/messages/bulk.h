/* bulk.h - acts on many messages, or lists them; or acts on many durable runs. The request selects them by
 * their ids or by filters.
 *
 *   1. page   reads a page of messages or runs, and notes those that match
 *   2. act    acts on each of them, in parallel or one after the other
 *   3. repeat begins again with 1, until the action has processed enough messages, or all; then answers
 *
 * If ids are given, step 1 is left out, and unknown ids are skipped. An action that takes_all is answered
 * after 30 s with its count so far, because clients give up, and then continues without its exchange. */
#ifndef DUEPOST_QSTASH_BULK_H
#define DUEPOST_QSTASH_BULK_H

#include "app/audit.h"
#include "qstash/messages/lists.h"
#include "qstash/topics/topics.h"

struct bulk;

/* The messages that an action may concern. */
enum bulk_scope {
    BULK_ALL,
    BULK_OF_NO_RUN, /* messages that do not belong to a run */
    BULK_OF_RUNS,   /* dead messages that made their run fail */
};

struct bulk_kind {
    enum bulk_scope scope;
    unsigned accepted; /* filters that the request may use, as bits 1 << filter */
    enum filter ids;   /* the filter whose words are ids */
    unsigned states;   /* states of the messages, as bits 1 << state */
    bool is_in_order;  /* acts on one message after the other, so that the answer lists them in this order */
    bool is_newest_first;
    /* Reads several pages before it acts, because the action on one message may end others that match. */
    bool gathers;
    bool needs_limit; /* the parameter count limits the action even if the request has no filter */
    /* A count of BULK_COUNT or more, and none, means no limit: the clients always send BULK_COUNT if their
     * user has not chosen a count, and promise that everything that matches is processed. */
    bool takes_all;
    int64_t count_max; /* maximum of the parameter count; 0: any */
    /* Returns false after refusing the request. NULL: accepts each request. */
    bool (*admit)(struct bulk *);
    /* Returns whether a run is selected. NULL: the action is one on messages. */
    bool (*wants_run)(struct bulk *, const struct workflow *);
    /* Acts on one message, and then calls bulk_end_one once. Borrows the id until that call. The id of a run
     * from a page begins with '/', which no id contains, if its settings were not in the list; act then
     * has to find out whether the run is selected. */
    void (*act)(struct bulk *, struct slice id);
    /* Writes one message of a list. NULL: the request is an action, not a list; act is called instead. */
    void (*show)(struct bulk *, const struct stored_job *, const struct message_view *);
    /* Answers the exchange at the end. */
    void (*answer)(struct bulk *);
};

enum {
    BULK_COUNT = 100,     /* default of the parameter count */
    BULK_LIST_MAX = 1000, /* maximum number of messages of a list */
    BULK_RETRY_MAX = 500, /* maximum number of messages or runs that one request sends again */
};

struct bulk {
    struct exchange *exchange; /* NULL: answered, but the action continues */
    struct qstash *qstash;
    struct app_caller
        caller; /* the exchange's caller; its texts are in owned once the exchange is answered */
    struct app_notes
        notes; /* lines of the audit log after this answer, which waits for none; unused without app */
    struct buffer owned;
    char from[APP_FROM_SIZE];
    const struct bulk_kind *kind;
    struct filters filters;
    struct walk walk;
    struct buffer ids; /* ids of the matching messages of one page or several, each followed by a newline */
    size_t gathered;   /* number of ids in ids */
    char topic[MESSAGE_TOPIC_SIZE]; /* topic of the queue, if the filter names exactly one queue */
    int64_t left;                   /* number of messages on which the action may still act */
    int64_t done;                   /* number of messages on which it has acted */
    size_t pending;        /* number of messages being acted on, plus 1 while further ones are started */
    struct slice rest;     /* the part of ids that is not processed yet */
    bool is_unknown;       /* at least one message failed, or its outcome is unknown */
    struct buffer results; /* results that the actions write for the answer */
};

/* Begins the action or the list that the request asks for. */
void bulk_begin(struct exchange *, const struct bulk_kind *);

/* Reports how the action on one message ended. NOT_FOUND counts neither as done nor as failed. */
void bulk_end_one(struct bulk *, enum status);

/* Answers with {name: number of messages} and the cursor, or 503 if a message failed or its outcome is
 * unknown. */
void bulk_answer_count(struct bulk *, const char *name);

/* Reports that a message did not match, so that nothing was done. The message counts neither as done nor
 * as failed. */
void bulk_skip_one(struct bulk *);

/* Returns a writer for the next result. */
struct json_writer bulk_writer(struct bulk *);

/* Answers with {name: [results]} and the cursor, or 503 if a message failed or its outcome is unknown. */
void bulk_answer_results(struct bulk *, unsigned status, const char *name);

/* ---- dead_letters.c ---- */

/* /v2/dlq: dead messages. Lists, reads and deletes them, and sends them again as new
 * messages. */

/* Removes the message in the path, and answers the request. */
void dead_letter_delete_and_answer(struct exchange *, struct slice message_id);

/* Removes one of the messages of a bulk action. */
void dead_letter_delete_of_bulk(struct bulk *, struct slice message_id);
void dead_letters_answer_deleted(struct bulk *);

#endif

/* handler.h - the data, macros and answers that all handlers of the QStash API use; defined in qstash.c. */
#ifndef DUEPOST_QSTASH_HANDLER_H
#define DUEPOST_QSTASH_HANDLER_H

#include "app/app.h"
#include "base/json_writer.h"
#include "http/exchange.h"

/* The data of the QStash API in one reactor (a thread with its event loop). */
struct qstash {
    struct app *app;
    bool is_development; /* see jwt_keys.h */
    /* Last time (CLOCK_BOOTTIME) at which this reactor saw that the keys exist, see jwt_keys.h; 0: never. */
    int64_t keys_seen_us;
    size_t continuing; /* number of bulk actions that continue after their answer, see bulk.h */
};

static inline struct app *app_of(const struct exchange *exchange)
{
    return ((struct qstash *)exchange->self)->app;
}

static inline struct qstash *qstash_of(const struct exchange *exchange)
{
    return exchange->self;
}

/* Defines a handler. qstash.c declares all of them. */
#define HANDLER(name)                                                                                        \
    exchange_fn name;                                                                                        \
    void name(struct exchange *exchange)

/* ---- answers, and the errors of use cases (the operations of app/) ---- */

enum { ANSWER_TEXT_SIZE = 768 };

/* Writes a text that says to the client why a use case did not end with OK. Returns the HTTP status. */
unsigned answer_of_verdict(const struct app_verdict *, char text[ANSWER_TEXT_SIZE]);

/* Returns true if the read succeeded, so it is known whether the message exists. */
static inline bool answer_is_known(const struct app_verdict *verdict)
{
    return verdict->end == STATUS_OK || verdict->end == STATUS_NOT_FOUND ||
           verdict->end == STATUS_HISTORY_UNAVAILABLE;
}

/* Answers with the text and status of answer_of_verdict. */
void answer_refuse_verdict(struct exchange *, const struct app_verdict *);

/* The error of a list that is incomplete, because too many topics have messages (is_partial of
 * app_verdict.page). */
#define ANSWER_PARTIAL                                                                                       \
    "over 100,000 queues and flow-control keys have messages, too many for one list; select messages by "    \
    "their ids, or one queue with queueName"

/* Answers 200 without a body if the use case ended with OK, else like answer_refuse_verdict. */
void answer_done(struct exchange *, const struct app_verdict *);

/* Writes {"error":"..."}. */
void answer_write_error(struct buffer *, struct slice error);

#endif

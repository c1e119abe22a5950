/* qstash_private.h - what the handlers of the QStash API share: their data and answers, and the keys that
 * sign deliveries. */
#ifndef DUEPOST_QSTASH_QSTASH_PRIVATE_H
#define DUEPOST_QSTASH_QSTASH_PRIVATE_H

#include "app/app.h"
#include "base/json_writer.h"
#include "http/exchange.h"

/* ---- data, macros and answers of the handlers (qstash.c) ---- */

/* The data of the QStash API in one reactor (a thread with its event loop). */
struct qstash {
    struct app *app;
    bool is_development; /* see jwt_keys.c */
    /* Last time (CLOCK_BOOTTIME) at which this reactor saw that the keys exist, see jwt_keys.c; 0: never. */
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

/* ---- jwt_keys.c ---- */

/* The keys that sign deliveries: the current key, and the next key, which receivers also
 * accept.
 *
 * The keys are a member of the settings of the topic "qstash", so that each process gets them with the
 * settings of a job's topic. The keys are created when they are first needed. A rotation makes the next key
 * the current one.
 *
 * The development mode uses the two public keys that QStash's clients contain. If other keys exist, duepost
 * does not replace them in this mode, and refuses to publish. Without the development mode, the two public
 * keys are replaced by new keys. */

struct jwt_keys {
    struct slice current, next;
};

/* Reads the keys from the member of the settings. Returns false if there are no keys in it. The keys borrow
 * the member. */
bool jwt_keys_read(struct slice member, struct jwt_keys *);

/* Creates the keys, unless they exist. Does not ask Redis if the keys existed within the last two seconds.
 * The verdict is OK if they exist. Calls back once, perhaps before the call returns. */
void jwt_keys_ensure(struct exchange *, app_verdict_fn *, void *arg);

#endif

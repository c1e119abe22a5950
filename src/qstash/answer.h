/* answer.h - answers of this dialect, and the errors of use cases. */
#ifndef DUEPOST_QSTASH_ANSWER_H
#define DUEPOST_QSTASH_ANSWER_H

#include "base/json_writer.h"
#include "qstash/handler.h"

enum { ANSWER_TEXT_SIZE = 768 };

/* Writes why a use case did not end with DONE. Returns the status of HTTP. */
unsigned answer_of_verdict(const struct app_verdict *, char text[ANSWER_TEXT_SIZE]);

/* Returns whether a use case that reads a message knows what the pool has: the message, or no such message.
 */
static inline bool answer_is_known(const struct app_verdict *verdict)
{
    return verdict->end == APP_DONE || verdict->end == APP_NOT_FOUND ||
           verdict->end == APP_HISTORY_UNAVAILABLE;
}

/* Answers with that. */
void answer_refuse_verdict(struct exchange *, const struct app_verdict *);

/* Why a list of messages is refused if more topics than a list examines have some (app_verdict.page). */
#define ANSWER_PARTIAL                                                                                       \
    "over 100,000 queues and flow-control keys have messages; name messages by their ids, or one queue "     \
    "with "                                                                                                  \
    "queueName"

/* Answers 200 without a body if the use case ended with DONE, else with that. */
void answer_done(struct exchange *, const struct app_verdict *);

/* Writes {"error":"..."}. */
void answer_write_error(struct buffer *, struct slice error);

#endif

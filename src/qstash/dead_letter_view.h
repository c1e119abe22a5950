/* dead_letter_view.h - writes a dead message (a dead letter) as JSON. */
#ifndef DUEPOST_QSTASH_DEAD_LETTER_VIEW_H
#define DUEPOST_QSTASH_DEAD_LETTER_VIEW_H

#include "app/app.h"
#include "qstash/message_view.h"

/* Returns whether the job is dead and still in Redis. */
bool dead_letter_is(const struct app_verdict *);

/* Adds the members of a dead letter to an object: the message, dlqId, the run that failed because of the
 * message, if there is one, and the receiver's answer. */
void dead_letter_add(struct json_writer *, const struct stored_job *, const struct message_view *);

/* Adds the answer to the last attempt: responseStatus, its headers under this name, and responseBody or, if
 * it is not UTF-8, responseBodyBase64: at most 1024 bytes. */
void dead_letter_add_answer(struct json_writer *, const struct stored_job *, const struct message_view *,
                            const char *headers_name);

#endif

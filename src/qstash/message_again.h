/* message_again.h - sends a dead message again, as a new message, and removes the dead one. */
#ifndef DUEPOST_QSTASH_MESSAGE_AGAIN_H
#define DUEPOST_QSTASH_MESSAGE_AGAIN_H

#include "qstash/handler.h"
#include "qstash/message.h"

/* Called with the new message, or with the error; 404: there is no such dead letter. */
typedef void message_again_fn(void *arg, const struct message_sent *);

/* Sends the message with its own settings, except those that the request's headers replace. If the process
 * dies after the new message is sent and before the dead one is removed, both exist. If the request is
 * repeated within ten minutes, it finds the same new message, and removes the dead one. Copies message_id.
 * Calls back once, perhaps before the call returns. */
void message_again(struct exchange *, struct slice message_id, message_again_fn *, void *arg);

#endif

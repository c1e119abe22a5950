/* run_message.h - sends one message of a durable run: the message that creates the run, a step, or a call of
 * a third party. */
#ifndef DUEPOST_QSTASH_RUN_MESSAGE_H
#define DUEPOST_QSTASH_RUN_MESSAGE_H

#include "qstash/message.h"
#include "qstash/run_group.h"

struct run_message;

/* Creates a message. The caller frees it after its callback, or if it was never sent. */
struct run_message *run_message_new(struct app *, message_sent_fn *, void *arg);
void run_message_free(struct run_message *);

/* Sends the message. The settings of the run are added to those of the request. group: the messages that are
 * added to the run together with this one; NULL: none. An error of this message is also an error of the
 * group. Calls back once, perhaps before the call returns. */
void run_message_send(struct run_message *, const struct message_request *, struct settings *,
                      struct run_group *group);

#endif

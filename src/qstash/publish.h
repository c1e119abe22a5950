/* publish.h - POST /v2/publish, and what other files need to publish: to a queue, from a batch. */
#ifndef DUEPOST_QSTASH_PUBLISH_H
#define DUEPOST_QSTASH_PUBLISH_H

#include "qstash/destination.h"
#include "qstash/handler.h"
#include "qstash/message.h"

/* Takes the settings of a request from its headers. */
void publish_take_headers(struct exchange *, struct settings *);

/* Publishes the request to exchange->rest, as a message of this topic of the dialect. queue is its queue, or
 * empty. Answers the exchange. */
void publish_to(struct exchange *, struct slice topic, struct slice queue);

/* Writes the answer for a message: {"messageId":...} or {"error":...}. */
void publish_write_sent(struct buffer *, const struct message_sent *);

#endif

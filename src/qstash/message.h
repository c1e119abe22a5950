/* message.h - one message: made from its settings, sent to the store as a job of a topic of the dialect.
 *
 * A message is sent once; its callback comes when Redis has confirmed it, or the reason is known why not. */
#ifndef DUEPOST_QSTASH_MESSAGE_H
#define DUEPOST_QSTASH_MESSAGE_H

#include "app/submission.h"
#include "qstash/message_id.h"
#include "qstash/message_job.h"

/* How sending ended. */
struct message_sent {
    unsigned status;    /* 200, 202 for a duplicate, or that of an error */
    struct slice id;    /* messageId of the message, or of the message that it duplicates */
    struct slice error; /* a sentence */
    int64_t made_ms;    /* first message of a run: when the run was created */
};

typedef void message_sent_fn(void *arg, const struct message_sent *);

struct message;

/* A message is freed after its callback, or if it was never sent. */
struct message *message_new(struct app *, message_sent_fn *, void *arg);
void message_free(struct message *);

/* Sends the message to the topic of its queue and its flow control (see place.h). Copies the request, and
 * borrows what it points to until the callback. Calls back once, perhaps before the call returns. */
void message_send(struct message *, const struct message_request *);

#endif

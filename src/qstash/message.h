/* message.h - creates one message from its settings, and stores it in Redis as a job of a topic qstash~...
 * (place.h). A message is sent once. Its callback comes when Redis has confirmed the job, or with an
 * error. */
#ifndef DUEPOST_QSTASH_MESSAGE_H
#define DUEPOST_QSTASH_MESSAGE_H

#include "app/submission.h"
#include "qstash/message_id.h"
#include "qstash/message_job.h"

/* How sending ended. */
struct message_sent {
    unsigned status;    /* HTTP status: 200, 202 for a duplicate, or the status of an error */
    struct slice id;    /* messageId of the message, or of the message that it duplicates */
    struct slice error; /* error as a sentence */
    int64_t made_ms;    /* for the first message of a run: time at which the run was created */
};

typedef void message_sent_fn(void *arg, const struct message_sent *);

/* Called when a message can be sent. */
typedef void message_ready_fn(void *arg);

struct message;

/* Creates a message. The caller frees it after its callback, or if it was never sent. */
struct message *message_new(struct app *, message_sent_fn *, void *arg);
void message_free(struct message *);

/* Sends the message to the topic of its queue and its flow control (see place.h). Copies the request. Borrows
 * the data to which the request points until the callback. Calls back once, perhaps before the call
 * returns. */
void message_send(struct message *, const struct message_request *);

/* Prepares the message for messages_send; borrows the data of the request until then. Calls either ready or,
 * with an error, the message_sent_fn, both with the arg of message_new. This may happen before the call
 * returns. */
void message_prepare(struct message *, const struct message_request *, message_ready_fn *ready);

/* Sends messages that are ready, at most APP_SUBMISSIONS_MAX. Redis schedules them in one script: all
 * new messages or none. Each message calls back. */
void messages_send(struct message *const *, size_t count);

#endif

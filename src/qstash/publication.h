/* publication.h - publishes to one destination, with settings and a body: one message, or a message to each
 * endpoint of a group. POST /v2/publish, POST /v2/enqueue and each item of a batch use it. */
#ifndef DUEPOST_QSTASH_PUBLICATION_H
#define DUEPOST_QSTASH_PUBLICATION_H

#include "http/trace_context.h"
#include "qstash/destination.h"
#include "qstash/handler.h"
#include "qstash/group_publication.h"
#include "qstash/message.h"
#include "qstash/run.h"
#include "qstash/run_message.h"

struct publication;

/* Called when the messages are sent, or refused. answer is the JSON for the client: an object, or an array
 * for a group, or {"error":...} for a status from 400 on. answer is valid until the callback returns. */
typedef void publication_fn(void *arg, const struct publication *, unsigned status, struct slice answer);

struct publication {
    struct exchange *exchange;
    struct settings settings; /* filled by the caller before publication_send */
    struct destination destination;
    struct message_request request;
    struct message *message;            /* message to a url */
    struct group_publication *to_group; /* messages to a group */
    struct run_message *of_run;         /* message to the endpoint of a durable run */
    struct run_group
        *run_group; /* borrowed; the messages that are added to the run together with this one; NULL: none */
    char from[HTTP_FROM_SIZE];
    char run_id[RUN_ID_NEW_SIZE]; /* id of the run, if the server chooses it */
    struct trace_context trace;
    struct buffer answer;
    publication_fn *fn;
    void *arg;
};

void publication_init(struct publication *, struct exchange *, publication_fn *, void *arg);
/* Makes the message the first one of a new run, as POST /v2/trigger does. The answer is then workflowRunId
 * and workflowCreatedAt. */
void publication_begin_run(struct publication *);
void publication_fini(struct publication *);

/* Sends the messages. destination is raw, see destination.h. queue may be empty. Borrows the three slices
 * until the callback. Calls back once, perhaps before the call returns. */
void publication_send(struct publication *, struct slice destination, struct slice queue, struct slice body);

#endif

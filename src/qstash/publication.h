/* publication.h - one destination with its settings and its body: a message, or one for each endpoint of a
 * group.
 *
 * It is what POST /v2/publish and /v2/enqueue, and each item of a batch, have in common. */
#ifndef DUEPOST_QSTASH_PUBLICATION_H
#define DUEPOST_QSTASH_PUBLICATION_H

#include "http/trace_context.h"
#include "qstash/destination.h"
#include "qstash/handler.h"
#include "qstash/group_publication.h"
#include "qstash/message.h"
#include "qstash/run_id.h"
#include "qstash/run_message.h"

struct publication;

/* Called when the messages are sent, or refused. answer is the JSON for the client: an object, or an array
 * for a group; with a status from 400 on {"error":...}. The slice is borrowed until the callback returns. */
typedef void publication_fn(void *arg, const struct publication *, unsigned status, struct slice answer);

struct publication {
    struct exchange *exchange;
    struct settings settings; /* the caller fills them before publication_send */
    struct destination destination;
    struct message_request request;
    struct message *message;            /* message to a url */
    struct group_publication *to_group; /* messages to a group */
    struct run_message *of_run;         /* message to the endpoint of a durable run */
    struct run_group *run_group;        /* borrowed; the messages that are appended with it; NULL: none */
    char from[HTTP_FROM_SIZE];
    char run_id[RUN_ID_NEW_SIZE]; /* id of a run that the server names */
    struct trace_context trace;
    struct buffer answer;
    publication_fn *fn;
    void *arg;
};

void publication_init(struct publication *, struct exchange *, publication_fn *, void *arg);
/* Makes the message begin a run, as POST /v2/trigger does. The answer is then workflowRunId and
 * workflowCreatedAt. */
void publication_begin_run(struct publication *);
void publication_fini(struct publication *);

/* Sends the messages. destination is raw, see destination.h; queue may be empty. Both are borrowed until the
 * callback, like body. Calls back once, perhaps before the call returns. */
void publication_send(struct publication *, struct slice destination, struct slice queue, struct slice body);

#endif

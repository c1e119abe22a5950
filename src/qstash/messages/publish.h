/* publish.h - publishes: from the headers, the destination and the body of a request, or of an item of a
 * batch, to messages.
 *
 *   1. read     reads the destination, and the settings in its query
 *   2. keys     creates the keys that sign messages, unless they exist
 *   3. group    if the destination is a URL group: finds it, and takes its default settings
 *   4. send     sends one message, or one to each endpoint of the group, or one that belongs to a run
 *   5. answer   writes the answer, and calls back
 *
 * POST /v2/schedules does steps 1 to 3, and stores a schedule instead of sending. */
#ifndef DUEPOST_QSTASH_PUBLISH_H
#define DUEPOST_QSTASH_PUBLISH_H

#include "http/exchange.h"
#include "qstash/messages/message.h"
#include "qstash/qstash_private.h"
#include "qstash/runs/runs.h"
#include "qstash/topics/topics.h"

struct destination {
    struct slice url;   /* empty: a group */
    struct slice group; /* name of the group */
    struct buffer text; /* owned; url points into it */
};

/* Reads a destination: a url, or the name of a group, in the target of the request. The destination is raw,
 * without any decoding, unless the whole url is percent-encoded (https%3A%2F%2F...). The parameters of its
 * query that belong to the request (the token, and settings whose names begin with "upstash-") are removed;
 * the settings are taken. The rest is kept byte for byte, also a query inside an encoded url.
 *
 * Returns NULL, or why the destination is invalid. The caller frees the destination with destination_fini in
 * both cases. */
const char *destination_read(struct slice raw, struct destination *, struct message_settings *);
void destination_fini(struct destination *);

struct outgoing;

struct publication {
    struct exchange *exchange;
    struct message_settings settings; /* the caller takes the headers before publication_send */
    struct destination destination;
    struct group_lookup *group; /* NULL: the destination is a url */
    struct message_request request;
    struct outgoing *outgoing; /* the messages */
    size_t count;
    /* Number of messages that are still being prepared or sent, plus 1 while further ones are started. */
    size_t pending;
    bool is_prepared;           /* all messages of a group were prepared, or refused */
    struct run_message *of_run; /* the message, if it belongs to a run */
    /* The messages that are added to the run together with this one. Borrowed; NULL: none. */
    struct run_append *run_append;
    char from[HTTP_FROM_SIZE];
    char run_id[RUN_ID_NEW_SIZE]; /* id of the run, if the server chooses it */
    struct trace_context trace;
    void (*ready)(struct publication *); /* called after step 3; NULL: step 4 follows */
    void (*fn)(void *arg);
    void *arg;
    /* How it ended. */
    unsigned status;
    char error[ANSWER_TEXT_SIZE]; /* a sentence; empty: none */
    struct buffer answer;         /* JSON: an object, or an array for a group; {"error":...} with an error */
};

/* fn is called once: when the messages are sent, or refused, perhaps before publication_send returns. */
void publication_init(struct publication *, struct exchange *, void (*fn)(void *arg), void *arg);
void publication_fini(struct publication *);

/* Makes the message the first one of a new run, as POST /v2/trigger does. The answer is then workflowRunId
 * and workflowCreatedAt. */
void publication_begin_run(struct publication *);

/* Does all steps. destination is raw, see destination_read. queue may be empty. Borrows the three slices
 * until the callback. */
void publication_send(struct publication *, struct slice destination, struct slice queue, struct slice body);

/* Step 1 alone. Returns false with the error in settings. */
bool publication_read(struct publication *, struct slice destination);

/* Steps 2 and 3 alone. Then calls ready, or fn after an error. */
void publication_prepare(struct publication *, void (*ready)(struct publication *));

/* Ends with an error. */
void publication_refuse(struct publication *, unsigned status, struct slice error);
void publication_refuse_verdict(struct publication *, const struct app_verdict *);

/* Publishes the body of the request to the destination exchange->rest, in this queue; empty: no queue.
 * Answers the exchange. Borrows queue until the answer. */
void publish_in(struct exchange *, struct slice queue);

#endif

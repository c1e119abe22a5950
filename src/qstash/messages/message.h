/* message.h - one message: its id, the data that its job keeps for QStash (formData), its job, and sending
 * it. */
#ifndef DUEPOST_QSTASH_MESSAGE_H
#define DUEPOST_QSTASH_MESSAGE_H

#include "app/submission.h"
#include "base/json_writer.h"
#include "job/job_id.h"
#include "job/schedule/recurring.h"
#include "qstash/topics/message_topic.h"

/* Ids of messages. An id contains the topic of its message, so the server finds the topic
 * without a lookup.
 *
 *     msg_01J8ZK3V5Q8T9W0X1Y2Z3A4B5C                  a message of qstash~messages
 *     msg_queue.orders.01J8ZK3V5Q8T9W0X1Y2Z3A4B5C     a message of qstash~queue.orders
 *
 *     msg_01J8ZK3V5Q8T9W0X1Y2Z3A4B5C~20261122T221800Z an occurrence of a schedule
 *     msg_01J8ZK3V5Q8T9W0X1Y2Z3A4B5C~20261122T221800Z~2 an occurrence that is sent to an endpoint of a URL
 *     group
 *
 * The messageId is the jobId. All topics qstash~... are siblings of the topic qstash, so they are in one
 * shard of Redis. */

#define MESSAGE_ID_PREFIX "msg_"
#define DLQ_ID_PREFIX     "dlq_" /* the id of a dead message has this prefix instead */

enum {
    ENDPOINT_NUMBER_SIZE = 4, /* "~100" */
    MESSAGE_ID_MAX =
        4 + JOB_SIBLING_MAX + 1 + JOB_ID_NEW_SIZE + 1 + RECURRING_TIME_SIZE + ENDPOINT_NUMBER_SIZE,
    MESSAGE_KEY_SIZE = JOB_TOPIC_NAME_MAX + 1 + MESSAGE_ID_MAX + 1
};

/* Writes an id for a new message of a topic, which is a sibling of QSTASH_TOPIC, into room. Returns the id.
 */
struct slice message_id_make(struct slice topic, int64_t now_ms, char room[MESSAGE_ID_MAX + 1]);

/* Writes topic/messageId into room. Returns it, or an empty slice if the text cannot be a messageId. */
struct slice message_id_key(struct slice message_id, char room[MESSAGE_KEY_SIZE]);

/* Convert the id of a message to the id of its dead letter, and back. The functions write the result into
 * room, and return it, or an empty slice if the id is invalid. */
struct slice dead_letter_id(struct slice message_id, char room[MESSAGE_ID_MAX + 1]);
struct slice dead_letter_message(struct slice dead_letter_id, char room[MESSAGE_ID_MAX + 1]);

/* ---- formData ---- */

/* The data of a message that only its delivery, its callbacks and its answers need. The job has
 * it in the member formData. */

/* The durable run of a message. */
struct message_run {
    struct slice id; /* empty: none */
    struct slice url, call_type;
    bool is_init;          /* the message created the run */
    bool is_without_sdk;   /* the endpoint must start the run again, see POST /v2/trigger */
    int64_t made_ms;       /* time at which the run was created; 0: together with this message */
    struct slice inherits; /* for a call: settings of the run that the call's answer gets, as a JSON object,
                              see run.h */
};

/* The kinds of messages of a run, see runs/run.h; a step has no kind. */
#define RUN_CALL    "toCallback"
#define RUN_ANSWER  "fromCallback"
#define RUN_FAILURE "failureCall"

/* The data of a message. The struct borrows the texts of all slices. An empty slice means that the value is
 * absent. */
struct message_data {
    struct slice group, endpoint; /* message to a group: the group and its endpoint, which may have no name */
    struct slice queue, schedule_id, caller_ip;
    struct slice callback, failure_callback; /* objects: names of settings without their prefix, and values */
    struct flow_control flow;
    struct redaction redact;
    struct message_run run;
};

/* Writes the object formData. The callbacks, flow and redact are taken from settings. */
void message_data_write(struct buffer *, const struct message_data *, const struct message_settings *);

/* message_run_is_call returns whether a message is a call. message_run_has_job returns whether it is one of
 * the jobs of its run. */
bool message_run_is_call(const struct message_run *);
bool message_run_has_job(const struct message_run *);

/* Reads the object formData of a message. If duepost did not write the object, members are left empty. text
 * gets the decoded strings, and must have room for JOB_FORM_DATA_MAX bytes. */
void message_data_read(struct slice object, struct message_data *, struct buffer *text);

/* ---- the job; the functions are pure: no clock, no I/O ---- */

struct app_caller;

/* The parts of a message. Borrows the data of its pointers and slices until the message is sent. */
struct message_request {
    struct slice url, body;
    const struct message_settings *settings;
    struct message_data data; /* group, endpoint, queue, scheduleId, callerIp */
    const struct app_caller *caller;
    struct slice trace_parent, trace_state; /* empty: none */
};

/* Texts that message_job_make writes. The job borrows these texts. */
struct message_texts {
    struct buffer base64; /* marked as failed if there is no memory */
    struct buffer data, callbacks;
};

void message_texts_init(struct message_texts *);
void message_texts_fini(struct message_texts *);

/* Fills a job of this topic, without a jobId. Returns NULL, or a literal that says why the request is
 * refused. The job has nothing to free. */
const char *message_job_make(const struct message_request *, struct slice topic, int64_t now_ms,
                             struct message_texts *, struct job *);

/* Returns an upper limit for the size of the job's record. */
size_t message_job_bytes(const struct job *);

/* ---- sending ---- */

/* Creates one message from its settings, and stores it in Redis as a job of a topic qstash~...
 * (message_topic.h). A message is sent once. Its callback comes when Redis has confirmed the job, or with an
 * error. */

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

/* Sends the message to the topic of its queue and its flow control (see message_topic.h). Copies the request.
 * Borrows the data to which the request points until the callback. Calls back once, perhaps before the call
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

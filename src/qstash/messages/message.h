/* message.h - one message: its id, the data that its job keeps for QStash (formData), its job, sending it,
 * its form as JSON, and its callbacks. */
#ifndef DUEPOST_QSTASH_MESSAGE_H
#define DUEPOST_QSTASH_MESSAGE_H

#include "app/app.h"
#include "app/jobs.h"
#include "base/json_writer.h"
#include "base/slice.h"
#include "job/delivery/callback_job.h"
#include "job/delivery/digest.h"
#include "job/job_id.h"
#include "job/schedule/recurring.h"
#include "qstash/topics/topics.h"

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
                              see runs.h */
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
 * (topics.h). A message is sent once. Its callback comes when Redis has confirmed the job, or with an
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

/* Sends the message to the topic of its queue and its flow control (see topics.h). Copies the request.
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

/* ---- message_view.c ---- */

/* Writes a message as JSON: the members that all answers with messages have in common. */

/* A message that was read. */
struct message_view {
    struct job job;
    struct message_data data;
    struct buffer text;    /* owned: decoded strings of data */
    struct buffer payload; /* owned: decoded body */
    struct slice body;     /* body as delivered */
};

/* Reads the record of a job with this id, topic/messageId. Returns false if it is not a message, or cannot be
 * read. The caller frees a view that was read with message_view_fini. The view borrows id and record. */
bool message_view_read(struct slice id, struct slice record, struct message_view *);
void message_view_fini(struct message_view *);

/* message_view_of creates a view from a job that was already read; the view borrows the job.
 * message_view_release frees what this view owns. */
void message_view_of(const struct job *, struct message_view *);
void message_view_release(struct message_view *);

/* Adds the members of a message to an object; messageId is the first. Redacted parts are replaced by their
 * digests. */
void message_view_add(struct json_writer *, const struct message_view *);

/* The name of the headers of callbacks: callbackHeader in messages and schedules, callbackHeaders in
 * events. */
enum message_naming { MESSAGE_HEADER, MESSAGE_HEADERS };

/* Add the members that messages, schedules and events share: method, headers and body; callbacks, queue,
 * labels and flow control. */
void message_view_add_content(struct json_writer *, const struct message_view *);
void message_view_add_settings(struct json_writer *, const struct message_view *, enum message_naming);

enum { REDACTED_SIZE = sizeof "REDACTED:" + DIGEST_TEXT_SIZE };

/* Writes the text that is shown instead of a redacted value. */
struct slice message_view_redacted(struct slice bytes, char room[REDACTED_SIZE]);

/* Adds the headers that are forwarded, as arrays by their names in canonical form. Adds nothing if there are
 * none. */
void message_view_add_headers(struct json_writer *, const char *name, const struct message_view *);

/* Adds bytes as base64. */
void message_view_add_base64(struct json_writer *, const char *name, struct slice bytes);

/* Adds bytes as a text, or as base64 under the second name if they are not UTF-8. */
void message_view_add_bytes(struct json_writer *, const char *name, const char *base64_name,
                            struct slice bytes);

/* Writes the name of a header in canonical form, such as Bypass-Tunnel-Reminder. */
void message_view_put_name(struct json_writer *, struct slice name);

/* Adds the run of the message: workflowRunId, workflowCreatedAt and workflowUrl. */
void message_view_add_run(struct json_writer *, const struct message_view *);

/* Returns the time at which the message's run was created, in ms since 1970. */
int64_t message_view_run_ms(const struct message_view *);

/* Returns whether the message is a step of a run, or the answer to a call. If such a message dies, its run
 * fails. */
bool message_view_is_of_run(const struct message_view *);

/* Returns the url in a job's member for a callback. The member is a text, or an object with the member "url".
 * Returns an empty slice if the member has no url. */
struct slice message_view_callback(struct slice member, struct buffer *text);

/* Adds the first label as label, and all labels. Adds nothing for a job without labels. */
void message_view_add_labels(struct json_writer *, const struct job_labels *);

/* ---- settings with which a message was published, for a new message with the same settings ---- */

enum { MESSAGE_VIEW_SETTINGS_TEXT = 2 * JOB_FORM_DATA_MAX }; /* bytes of decoded values */

/* Sets all settings except the time and the run. The settings borrow the view and text. text receives decoded
 * values, and must have room for MESSAGE_VIEW_SETTINGS_TEXT. */
void message_view_take_settings(const struct message_view *, struct message_settings *, struct buffer *text);

/* ---- the answer of a receiver ---- */

/* Adds the headers in lines as an object. A member has the header's name in canonical form, and an array of
 * its values. Each line is "Name: value" and a newline. */
void answer_headers_add(struct json_writer *, const char *member, struct slice lines);

/* Finds the value of the first header with this name, in any case. Returns false if there is no such header.
 */
bool answer_headers_find(struct slice lines, struct slice wanted, struct slice *value);

/* ---- a dead letter: a dead message that is still in Redis ---- */

/* Returns whether the job is dead and still in Redis. */
bool dead_letter_is(const struct app_verdict *);

/* A dead letter with copies of its texts, which stay after the callback that read it. All zeros: none. */
struct dead_letter {
    bool is_there;
    struct stored_job job; /* slices point into texts */
    struct message_view view;
    struct buffer texts; /* owned */
};

/* Copies the job of the verdict, if it is a dead letter that can be read and there is memory. */
void dead_letter_keep(struct dead_letter *, const struct app_verdict *);
void dead_letter_fini(struct dead_letter *);

/* Adds the members of a dead letter to an object: the message, dlqId, the run that failed because of the
 * message, if there is one, and the receiver's answer. */
void dead_letter_add(struct json_writer *, const struct stored_job *, const struct message_view *);

/* Adds the answer to the last attempt: responseStatus, its headers under this name, and responseBody or, if
 * it is not UTF-8, responseBodyBase64: at most 1024 bytes. */
void dead_letter_add_answer(struct json_writer *, const struct stored_job *, const struct message_view *,
                            const char *headers_name);

/* ---- delivery.c ---- */

/* How messages are delivered (job/delivery/delivery_form.h): the headers of a delivery, the meaning of the
 * receiver's answer, and the callbacks, which are messages themselves. The functions are pure: no clock, no
 * I/O.
 *
 * A callback is a message of qstash~callbacks. The settings of a callback are the message's settings that
 * begin with Upstash-Callback- or Upstash-Failure-Callback-. The id of a callback is a hash of the message's
 * id and of the nonce of the lease that ended, so each callback exists once. A run fails only once, so the id
 * of its failure callback is a hash without a nonce. */

/* Writes a callback of a message. This is the function write_callback of the form of delivery, see
 * job/delivery/delivery_form.h. */
bool callback_write(const struct callback_report *, bool is_failure, struct slice url, struct callback_job *);

enum { CALLBACK_KEY_SIZE = 128 };

/* Appends topic/messageId of the failure callback of a run. id: topic/messageId of the message that made
 * the run fail. */
void callback_write_failure_key(struct slice id, struct buffer *);

/* ---- Retry-After and X-RateLimit-Reset: the time at which a receiver wants the next attempt ---- */

#define RETRY_TIME_MAX_MS INT64_C(86400000) /* longer waits are ignored */

/* Parses seconds ("30", "1.5"), an HTTP date, or a duration ("6m5s", "2000ms"; units ns us ms s m h), and
 * sets *wait_ms to the wait from now_ms on. Returns false for any other text, and for more than a day. */
bool retry_time_parse(struct slice, int64_t now_ms, int64_t *wait_ms);

#endif

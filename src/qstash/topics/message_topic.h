/* message_topic.h - finds the topic of a message: the topic of its queue, or else of its flow-control key, or
 * else the topic of all other messages.
 *
 *     queue orders            qstash~queue.orders
 *     key mail                qstash~flow.mail
 *     key "any text"          qstash~flow.~<the key as base64url>
 *
 * A message with a queue and a key goes to the topic of the queue, so it keeps the order of the queue. The
 * rate of its key then applies to the whole queue. */
#ifndef DUEPOST_QSTASH_MESSAGE_TOPIC_H
#define DUEPOST_QSTASH_MESSAGE_TOPIC_H

#include "app/app.h"
#include "app/topics.h"
#include "job/topic/topic_settings.h"
#include "qstash/handler.h"
#include "qstash/messages/message_settings.h"

#define QSTASH_TOPIC          "qstash"
#define QSTASH_TOPIC_MESSAGES QSTASH_TOPIC "~messages"

#define QUEUE_TOPICS "qstash~queue." /* prefix of the topics of queues */
#define FLOW_TOPICS  "qstash~flow."  /* prefix of the topics of flow-control keys */

enum {
    MESSAGE_TOPIC_SIZE = JOB_TOPIC_NAME_MAX + 1,
    QUEUE_NAME_MAX = JOB_SIBLING_MAX - (sizeof "~queue." - 1), /* maximum size of a queue's name */
    FLOW_KEY_MAX = 90,                                         /* maximum size of a key */
};

/* Write the topic of a queue or of a key into room, and return it. Return an empty slice if the name or the
 * key is invalid. */
struct slice queue_topic(struct slice name, char room[MESSAGE_TOPIC_SIZE]);
struct slice flow_topic(struct slice key, char room[MESSAGE_TOPIC_SIZE]);

/* Returns the key of a topic that begins with FLOW_TOPICS. The result is a part of topic, or is in room. */
struct slice flow_topic_key(struct slice topic, char room[MESSAGE_TOPIC_SIZE]);

/* Use topic only if the verdict is OK. It is valid until the callback returns. */
typedef void message_topic_fn(void *arg, const struct app_verdict *, struct slice topic);

/* Finds the topic, and creates or changes its settings as the message requests. queue and the key of the flow
 * may be empty. Borrows the arguments until the callback, which may come before the call returns. */
void message_topic_find(struct app *, const struct app_caller *, struct slice queue,
                        const struct flow_control *, message_topic_fn *, void *arg);

/* ---- limits ---- */

/* The limits of a queue or of a flow-control key, as settings of their topic.
 *
 * A queue whose parallelism is 1 is a fifo topic. A rate limits the attempts in each window of time. Messages
 * with a key request its limits, but do not change limits that are pinned. The setting "note" has the other
 * data: when the queue was created, the limits that the last message with the key requested, and which limits
 * are pinned. */

enum {
    LIMITS_PARALLELISM_MAX = TOPIC_MAX_IN_FLIGHT_MAX,
    LIMITS_NOTE_SIZE = 256,
};

struct limits {
    bool is_queue, is_paused;
    int64_t parallelism;    /* limit in force; 0: none except the limit that applies to all topics */
    int64_t rate, period_s; /* limit in force; rate 0: none */
    /* Windows of the rate that began before this time are ignored; 0: no window is ignored. */
    int64_t since_ms;
    int64_t created_ms, updated_ms;
    /* Only with a flow-control key: */
    struct flow_control asked; /* limits of the last message that requested any; asked.key is not set */
    bool is_pinned_parallelism, is_pinned_rate;
};

/* Returns the limits that a new queue has, or, if is_queue is false, a new flow-control key. */
struct limits limits_new(bool is_queue, int64_t now_ms);

/* Reads the limits of a topic that has settings. */
struct limits limits_read(bool is_queue, const struct topic_settings *);
struct limits limits_read_text(bool is_queue, struct slice text);

/* Writes the limits into the settings, which borrow note. */
void limits_write(const struct limits *, char note[LIMITS_NOTE_SIZE], struct topic_settings *);

/* Applies the limits that a message requests, except pinned limits. Returns whether the limits have
 * changed. */
bool limits_ask(struct limits *, const struct flow_control *);

/* Unpins the limits for which the argument is true, and sets them as the last message with the key
 * requested. */
void limits_unpin(struct limits *, bool parallelism, bool rate);

/* ---- lists of queues and of flow-control keys ---- */

/* Writes a topic as an item of the array. To leave the topic out, writes nothing. */
typedef void sibling_list_fn(struct json_writer *, const struct topic *, const void *arg);

/* Answers with an array of the topics whose names begin with prefix, at most max of them. Call this at most
 * once for an exchange. Borrows prefix and arg until the answer. */
void sibling_list_answer(struct exchange *, struct slice prefix, size_t max, sibling_list_fn *put,
                         const void *arg);

#endif

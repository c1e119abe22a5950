/* message_id.h - ids of messages. An id contains the topic of its message, so the server finds the topic
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
#ifndef DUEPOST_QSTASH_MESSAGE_ID_H
#define DUEPOST_QSTASH_MESSAGE_ID_H

#include "job/job_id.h"
#include "job/schedule/recurring.h"

#define QSTASH_TOPIC          "qstash"
#define QSTASH_TOPIC_MESSAGES QSTASH_TOPIC "~messages"

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

#endif

/* place.h - finds the topic of a message: the topic of its queue, or else of its flow-control key, or else
 * the topic of all other messages.
 *
 *     queue orders            qstash~queue.orders
 *     key mail                qstash~flow.mail
 *     key "any text"          qstash~flow.~<the key as base64url>
 *
 * A message with a queue and a key goes to the topic of the queue, so it keeps the order of the queue. The
 * rate of its key then applies to the whole queue. */
#ifndef DUEPOST_QSTASH_PLACE_H
#define DUEPOST_QSTASH_PLACE_H

#include "app/app.h"
#include "qstash/settings.h"

#define PLACE_QUEUES "qstash~queue." /* prefix of the topics of queues */
#define PLACE_FLOWS  "qstash~flow."  /* prefix of the topics of flow-control keys */

enum {
    PLACE_SIZE = JOB_TOPIC_NAME_MAX + 1,
    PLACE_QUEUE_MAX = JOB_SIBLING_MAX - (sizeof "~queue." - 1), /* maximum size of a queue's name */
    PLACE_KEY_MAX = 90,                                         /* maximum size of a key */
};

/* Write the topic of a queue or of a key into room, and return it. Return an empty slice if the name or the
 * key is invalid. */
struct slice place_of_queue(struct slice name, char room[PLACE_SIZE]);
struct slice place_of_flow(struct slice key, char room[PLACE_SIZE]);

/* Returns the key of a topic that begins with PLACE_FLOWS. The result is a part of topic, or is in room. */
struct slice place_flow_key(struct slice topic, char room[PLACE_SIZE]);

/* Use topic only if the verdict is OK. It is valid until the callback returns. */
typedef void place_fn(void *arg, const struct app_verdict *, struct slice topic);

/* Finds the topic, and creates or changes its settings as the message requests. queue and the key of the flow
 * may be empty. Borrows the arguments until the callback, which may come before the call returns. */
void place_find(struct app *, const struct app_caller *, struct slice queue, const struct settings_flow *,
                place_fn *, void *arg);

#endif

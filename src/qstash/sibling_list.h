/* sibling_list.h - answers a list of topics that have their own settings: queues, flow-control keys.
 */
#ifndef DUEPOST_QSTASH_SIBLING_LIST_H
#define DUEPOST_QSTASH_SIBLING_LIST_H

#include "app/topics.h"
#include "qstash/handler.h"

/* Writes a topic as an item of the array, or nothing to leave the topic out. */
typedef void sibling_list_fn(struct json_writer *, const struct app_topic *, const void *arg);

/* Answers with an array of the topics whose names begin with prefix, at most max of them. Call this at most
 * once for an exchange. Borrows prefix and arg until the answer. */
void sibling_list_answer(struct exchange *, struct slice prefix, size_t max, sibling_list_fn *put,
                         const void *arg);

#endif

/* sibling_list.h - answers with a list of the queues, or of the flow-control keys, which are topics with
 * their own settings. */
#ifndef DUEPOST_QSTASH_SIBLING_LIST_H
#define DUEPOST_QSTASH_SIBLING_LIST_H

#include "app/topics.h"
#include "qstash/handler.h"

/* Writes a topic as an item of the array. To leave the topic out, writes nothing. */
typedef void sibling_list_fn(struct json_writer *, const struct topic *, const void *arg);

/* Answers with an array of the topics whose names begin with prefix, at most max of them. Call this at most
 * once for an exchange. Borrows prefix and arg until the answer. */
void sibling_list_answer(struct exchange *, struct slice prefix, size_t max, sibling_list_fn *put,
                         const void *arg);

#endif

/* group_publication.h - publishes a message to each endpoint of a URL group.
 *
 *   1. read  reads the group; ends if it is unknown
 *   2. send  sends a message to each endpoint, with the group's default settings
 *   3. end   calls back when all messages are sent or refused
 *
 * The messages are sent one by one. If the process dies between two messages, the client gets no answer, and
 * only a part of the messages has been sent. */
#ifndef DUEPOST_QSTASH_GROUP_PUBLICATION_H
#define DUEPOST_QSTASH_GROUP_PUBLICATION_H

#include "qstash/message.h"
#include "qstash/settings.h"

/* answer is the JSON for the client: an array of {"messageId":...,"url":...} in the order of the endpoints.
 * If no message was sent, answer is empty, and error is a sentence. Both texts are valid until the callback
 * returns.
 */
typedef void group_publication_fn(void *arg, unsigned status, struct slice answer, struct slice error);

struct group_publication;

/* Creates a publication. The url of the request is not used. Borrows group, request and settings until the
 * callback, which comes once after the start, perhaps before group_publication_start returns. */
struct group_publication *group_publication_new(struct app *, struct slice group,
                                                const struct message_request *, struct settings *,
                                                group_publication_fn *, void *arg);
void group_publication_start(struct group_publication *);
void group_publication_free(struct group_publication *); /* NULL is ignored */

#endif

/* group_publication.h - a message for each endpoint of a URL group.
 *
 *   1. read  the group; an unknown one ends it
 *   2. send  a message to each endpoint, with what the group sets by default
 *   3. end   when all messages are sent or refused
 *
 * The messages are sent one by one: when the process dies meanwhile, the client has no answer, and some of
 * them are sent. */
#ifndef DUEPOST_QSTASH_GROUP_PUBLICATION_H
#define DUEPOST_QSTASH_GROUP_PUBLICATION_H

#include "qstash/message.h"
#include "qstash/settings.h"

/* answer is the JSON for the client: an array of {"messageId":...,"url":...} in the order of the endpoints.
 * If no message was sent, it is empty, and error is a sentence. Both are borrowed until the callback returns.
 */
typedef void group_publication_fn(void *arg, unsigned status, struct slice answer, struct slice error);

struct group_publication;

/* The url of the request is not used. group, request and settings are borrowed until the callback, which
 * comes once after the start, perhaps before group_publication_start returns. */
struct group_publication *group_publication_new(struct app *, struct slice group,
                                                const struct message_request *, struct settings *,
                                                group_publication_fn *, void *arg);
void group_publication_start(struct group_publication *);
void group_publication_free(struct group_publication *); /* NULL is ignored */

#endif

/* group_publication.h - publishes a message to each endpoint of a URL group.
 *
 *   1. read     reads the group; ends if it is unknown
 *   2. prepare  prepares a message for each endpoint, with the group's default settings. Drops messages that
 *   cannot be delivered, for example because the address of the endpoint's url is not allowed
 *   3. send     sends all other messages in one script: all or none
 *   4. end      calls back
 */
#ifndef DUEPOST_QSTASH_GROUP_PUBLICATION_H
#define DUEPOST_QSTASH_GROUP_PUBLICATION_H

#include "http/exchange.h"
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
struct group_publication *group_publication_new(struct exchange *, struct slice group,
                                                const struct message_request *, struct settings *,
                                                group_publication_fn *, void *arg);
void group_publication_start(struct group_publication *);
void group_publication_free(struct group_publication *); /* NULL is ignored */

#endif

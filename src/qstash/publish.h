/* publish.h - publishes the body of a request as a message, for POST /v2/publish and POST /v2/enqueue. */
#ifndef DUEPOST_QSTASH_PUBLISH_H
#define DUEPOST_QSTASH_PUBLISH_H

#include "qstash/handler.h"

/* Publishes the body of the request to the destination exchange->rest, in this queue; empty: no queue.
 * Answers the exchange. Borrows queue until the answer. */
void publish_in(struct exchange *, struct slice queue);

#endif

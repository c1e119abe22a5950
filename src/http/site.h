/* site.h - the HTTP side of one reactor: routes requests to dialects, and refuses what no handler should see.
 *
 * Checks run in this order: 404 (path), 405, 503 (over the limits), 401, 429, 403, 415, 413, 400, then the
 * handler. */
#ifndef DUEPOST_HTTP_SITE_H
#define DUEPOST_HTTP_SITE_H

#include "http/site_state.h"
#include "io/http_server.h"

/* Borrows what options point to. */
struct site *site_new(const struct site_options *);

/* Adds a dialect; its handlers find self in their exchanges. Paths are searched in the order in which
 * dialects were added; the first one also answers what belongs to none. Borrows both. */
void site_add(struct site *, const struct dialect *, void *self);

/* Takes new tokens and hosts, borrowed like those before. */
void site_reload(struct site *, const struct site_options *);

/* Call it after the server is gone. NULL is fine. */
void site_free(struct site *);

/* Fills in the callbacks of a server that answers for this site. */
void site_attach(struct site *, struct http_server_options *);

/* The same for a server that answers probes only. */
void site_attach_probes(struct site *, struct http_server_options *);

#endif

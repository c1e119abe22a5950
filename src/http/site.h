/* site.h - serves HTTP in one reactor (a thread with its event loop): finds the dialect (an API, see
 * dialect.h) and the handler of each request, and answers requests that have no handler.
 *
 * Checks run in this order: 404 (path), 405, 503 (over the limits), 401, 429, 403, 415, 413, 400, then the
 * handler. */
#ifndef DUEPOST_HTTP_SITE_H
#define DUEPOST_HTTP_SITE_H

#include "http/exchange.h"
#include "io/http/server.h"

/* Creates a site without dialects. Borrows the data that options point to. */
struct site *site_new(const struct site_options *);

/* Adds a dialect. Its handlers get self as exchange->self. Paths are searched in the order in which dialects
 * were added. A request for an unknown path is answered by the dialect whose root is the beginning of the
 * path, else by the first dialect. Borrows the dialect and self. */
void site_add(struct site *, const struct dialect *, void *self);

/* Replaces the tokens and hosts of the site by those in options, and borrows the new ones as site_new
 * does. */
void site_reload(struct site *, const struct site_options *);

/* Frees a site, after its servers have been freed. NULL is ignored. */
void site_free(struct site *);

/* Fills in the callbacks of a server that answers for this site. */
void site_attach(struct site *, struct http_server_options *);

/* Fills in the callbacks of a server that answers this process itself, as the relay of the outbox does: it
 * takes only inner_token of the site's options, whose owner has a right to all. */
void site_attach_inner(struct site *, struct http_server_options *);

/* Fills in the callbacks of a server that answers health probes only. */
void site_attach_probes(struct site *, struct http_server_options *);

#endif

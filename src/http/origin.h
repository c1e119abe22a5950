/* origin.h - protects a server without tokens against requests from web pages (cross-site requests and DNS
 * rebinding).
 *
 * Without tokens (see access.h) every process on this host may send any request. Web pages must not be able
 * to do the same from a browser on this host. Without this check, they could: a browser POSTs a form to
 * another site without asking, and a page can let a name of its own site resolve to this host. A browser
 * sends the name in the request's url as the header Host, and the site of the page as the header Origin. So
 * this check accepts only names of this host in both headers. */
#ifndef DUEPOST_HTTP_ORIGIN_H
#define DUEPOST_HTTP_ORIGIN_H

#include "http/exchange.h"

/* Checks a request to a server without tokens. Returns false after answering 403. */
bool origin_admit(struct exchange *);

#endif

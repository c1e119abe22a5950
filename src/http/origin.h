/* origin.h - protects a site without tokens against web pages (cross-site requests and DNS rebinding).
 *
 * Without tokens (see access.h) every process on this host may send any request. Web pages must not be able
 * to do the same from a browser on this host. Without this check they could, because browsers POST forms to
 * other sites without asking, and a page can make a name of its own site resolve to this host. A browser
 * sends the name of the server that it asks in the header Host, and the site of the page in the header
 * Origin. So this check accepts only names of this host in both headers. */
#ifndef DUEPOST_HTTP_ORIGIN_H
#define DUEPOST_HTTP_ORIGIN_H

#include "http/exchange.h"

/* Checks a request to a site without tokens. Returns false after answering 403. */
bool origin_admit(struct exchange *);

#endif

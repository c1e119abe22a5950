/* access.h - authenticates a request and checks its rights.
 *
 * With tokens (see token.h) each request names a token, "Authorization: Bearer ...", unless its route needs
 * no token. The scopes and topics of the token limit what the request may do. The table of the API
 * (dialect.h) has the rights that each method requires. Without tokens, which is possible on loopback only,
 * every request may do everything, except those from web pages (origin_admit), which only health probes
 * answer.
 *
 * The checks come first, so a refused request changes nothing. If the topic is only in the body or the query,
 * the handler checks the right to it. If a token is restricted to topics, the cursors in its answers name no
 * other topics. */
#ifndef DUEPOST_HTTP_ACCESS_H
#define DUEPOST_HTTP_ACCESS_H

#include "http/exchange.h"

/* Requests of this process itself have a token of their own (site_attach_inner).
 *
 * Checks the head of the request, as soon as the method is known. Returns false after answering 401, 429 or
 * 403. */
bool access_admit(struct exchange *);

/* Checks the right to the job in the path, when the whole request has arrived. Returns false after answering
 * 404, because the token has no right to this job. */
bool access_admit_job(struct exchange *);

/* Checks the right to a topic that the query names; an empty topic means all topics. The handlers of methods
 * with REACH_ASKED call this function. Returns false after answering 403. */
bool access_admit_topic(struct exchange *, struct slice topic);

/* Checks scopes that only some requests of a method need. Returns false after answering 403. */
bool access_has_scopes(struct exchange *, unsigned scopes);

/* Counts a request with several jobs in the rate of its token: each job counts as one request. */
void access_charge(struct exchange *, size_t jobs);

/* ---- servers without tokens ----
 *
 * Protects a server without tokens against requests from web pages (cross-site requests and DNS
 * rebinding).
 *
 * Without tokens (see access.h) every process on this host may send any request. Web pages must not be able
 * to do the same from a browser on this host. Without this check, they could: a browser POSTs a form to
 * another site without asking, and a page can let a name of its own site resolve to this host. A browser
 * sends the name in the request's url as the header Host, and the site of the page as the header Origin. So
 * this check accepts only names of this host in both headers. */

/* Checks a request to a server without tokens. Returns false after answering 403. */
bool origin_admit(struct exchange *);

#endif

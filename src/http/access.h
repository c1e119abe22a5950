/* access.h - authenticates a request and checks its rights.
 *
 * With tokens (see token.h) each request names a token, "Authorization: Bearer ...", unless its route needs
 * no token. The scopes and topics of the token limit what the request may do. The dialect's table has the
 * rights that each method needs. Without tokens, which is possible on loopback only, every request may do
 * everything, except those from web pages (origin.h).
 *
 * The checks come first, so a refused request changes nothing. If the topic is only in the body or the query,
 * the handler checks the right to it. If a token is restricted to topics, its cursors do not name other
 * topics. */
#ifndef DUEPOST_HTTP_ACCESS_H
#define DUEPOST_HTTP_ACCESS_H

#include "http/exchange.h"

/* Checks the head, when the method is known. Returns false after answering 401, 429 or 403. */
bool access_admit(struct exchange *);

/* Checks the whole request. Returns false after answering 404, because the token has no right to the path's
 * job. */
bool access_admit_job(struct exchange *);

/* Checks the topic of the query; an empty topic means all topics. Handlers of REACH_ASKED call this function.
 * Returns false after answering 403. */
bool access_admit_topic(struct exchange *, struct slice topic);

/* Counts a request with this number of jobs as that many requests in its token's rate. */
void access_charge(struct exchange *, size_t jobs);

#endif

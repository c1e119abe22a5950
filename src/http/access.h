/* access.h - authenticates a request and decides whether it may do what it asks for.
 *
 * With tokens (see token.h) each request names one, "Authorization: Bearer ...", unless its route is free.
 * The scopes and topics of the token bound what the request may do; the dialect's table has what each method
 * needs. Without tokens, which is possible on loopback only, every request may do everything, except those
 * from web pages (origin.h).
 *
 * The checks come first: a request that is refused has changed nothing. A topic that only a body or a query
 * names is checked by the handler. Cursors of a token that is bound to topics name no other topic. */
#ifndef DUEPOST_HTTP_ACCESS_H
#define DUEPOST_HTTP_ACCESS_H

#include "http/exchange.h"

/* Checks the head, once the method is known. False: it has answered 401, 429 or 403. */
bool access_admit(struct exchange *);

/* Checks the whole request. False: it has answered 404, because the token does not reach the path's job. */
bool access_admit_job(struct exchange *);

/* For REACH_ASKED: checks the topic that the query names, or empty for all topics. False: it has answered
 * 403. */
bool access_admit_topic(struct exchange *, struct slice topic);

/* Takes the further jobs of a request with this many from its token's rate. */
void access_charge(struct exchange *, size_t jobs);

#endif

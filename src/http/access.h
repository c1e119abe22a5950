/* access.h - authenticates a request and checks its rights.
 *
 * With tokens (see token.h) each request names a token, "Authorization: Bearer ...", unless its route needs
 * no token. The scopes and topics of the token limit what the request may do. The table of the API
 * (dialect.h) has the rights that each method requires. Without tokens, which is possible on loopback only,
 * every request may do everything, except those from web pages (origin.h), which only health probes answer.
 *
 * The checks come first, so a refused request changes nothing. If the topic is only in the body or the query,
 * the handler checks the right to it. If a token is restricted to topics, the cursors in its answers name no
 * other topics. */
#ifndef DUEPOST_HTTP_ACCESS_H
#define DUEPOST_HTTP_ACCESS_H

#include "http/exchange.h"

/* Checks the head of the request, as soon as the method is known. Returns false after answering 401, 429 or
 * 403. */
bool access_admit(struct exchange *);

/* Checks the right to the job in the path, when the whole request has arrived. Returns false after answering
 * 404, because the token has no right to this job. */
bool access_admit_job(struct exchange *);

/* Checks the right to a topic that the query names; an empty topic means all topics. The handlers of methods
 * with REACH_ASKED call this function. Returns false after answering 403. */
bool access_admit_topic(struct exchange *, struct slice topic);

/* Counts a request with several jobs in the rate of its token: each job counts as one request. */
void access_charge(struct exchange *, size_t jobs);

#endif

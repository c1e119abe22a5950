/* access.h - who asks, and whether they may.
 *
 * With tokens (see token.h) each request but those that are free names one: "Authorization: Bearer ...". Its
 * scopes and its topics bound what it may do; api/route.c says for each method which it takes. Without any,
 * which is on loopback only, everybody may do everything, but web pages may not (origin.h).
 *
 * All of it comes before anything is done: a request that is refused has changed nothing. */
#ifndef DUEPOST_API_ACCESS_H
#define DUEPOST_API_ACCESS_H

#include "api/exchange.h"

/* At the head, once the method is known. False: it has answered 401, 429 or 403. */
bool access_admit(struct exchange *);

/* When all has come. False: it has answered 404, because the path's job is none of this token's. */
bool access_admit_job(struct exchange *);

/* For REACH_ASKED: of the topic that the query names, or empty for all of them. False: it has answered 403.
 */
bool access_admit_topic(struct exchange *, struct slice topic);

/* For REACH_ASKED: whether the token reaches the topic; and what a 403 says where it does not, as
 * problem_write does. */
bool access_has_topic(const struct exchange *, struct slice topic);
void access_write_topic_refused(struct buffer *members, const struct exchange *, struct slice topic);

/* For REACH_ASKED: patterns of the token's topics (see topic_patterns.h); empty: all. */
struct slice access_topics(const struct exchange *);

/* This request has so many jobs, not one: its token's rate is used up by all of them. */
void access_charge(struct exchange *, size_t jobs);

/* The name of the token, for logs; "-" without tokens. */
const char *access_name(const struct exchange *);

#endif

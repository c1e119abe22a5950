/* problem.h - errors as answers: application/problem+json (RFC 9457). */
#ifndef DUEPOST_API_PROBLEM_H
#define DUEPOST_API_PROBLEM_H

#include "api/exchange.h"

/* These answer, and end the exchange. */

void problem_answer(struct exchange *, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* 400 with all that is wrong; what is "job" or "query". */
void problem_answer_errors(struct exchange *, const char *what, const struct job_errors *);

/* 405 */
void problem_answer_allow(struct exchange *, struct slice allow);

/* 409: job is in the way. */
void problem_answer_conflict(struct exchange *, const char *detail, const struct store_job *);

/* 404, 503, 507: what the store says, for people. consequence: what an unknown outcome means here. */
void problem_answer_status(struct exchange *, enum status, const char *consequence);

/* Every answer that confirms a change keeps the durability that was promised. True: for what the exchange's
 * key names that cannot be now, and 503 was answered. */
bool problem_answer_unready(struct exchange *);

/* The opening of a problem: type, title, status, detail; the caller adds members and '}'. */
void problem_write_head(struct buffer *, unsigned status, struct slice detail);

/* For requests that have no exchange: the header gate's 400. */
void problem_answer_request(struct http_request *, unsigned status, const char *detail);

/* 503 tells when to come again. */
extern const struct http_header problem_retry_after;

#endif

/* problem.h - errors as answers: application/problem+json (RFC 9457). */
#ifndef DUEPOST_API_PROBLEM_H
#define DUEPOST_API_PROBLEM_H

#include "api/handler.h"
#include "base/json_writer.h"

/* ---- Members of a problem (the JSON object of an error), without its braces, detail first. ---- */

void problem_write(struct buffer *members, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes all errors. The argument what names the part of the request that has these errors: "job" or
 * "query". */
void problem_write_errors(struct buffer *members, const char *what, const struct job_errors *);

/* Parts of the texts of problems that depend on the kind of request. */
struct problem_words {
    const char *what;        /* the object that the request is about: "job", "topic" */
    const char *consequence; /* what to do if the outcome is unknown, as a sentence */
};

extern const struct problem_words problem_of_read; /* words for requests that change nothing */

/* Writes the problem for a verdict other than OK, and returns the HTTP status. */
unsigned problem_write_verdict(struct buffer *members, const struct exchange *, const struct app_verdict *,
                               const struct problem_words *);

/* ---- Whole bodies. ---- */

/* Writes the beginning of a problem: '{', type, title, status and detail. The caller adds further members and
 * '}'. */
void problem_write_head(struct buffer *body, unsigned status, struct slice detail);

/* Writes the body of an error: the function write_error of struct dialect. */
void problem_write_error(struct buffer *body, const struct exchange_error *);

/* ---- These functions answer with an error, and end the exchange. ---- */

void problem_answer_members(struct exchange *, unsigned status, struct slice members);
void problem_answer_verdict(struct exchange *, const struct app_verdict *, const struct problem_words *);

/* Answers with the errors that a parser found in the body. */
void problem_answer_unparsed(struct exchange *, enum status, const char *what, const struct job_errors *);

#endif

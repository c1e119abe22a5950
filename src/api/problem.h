/* problem.h - errors as answers: application/problem+json (RFC 9457). */
#ifndef DUEPOST_API_PROBLEM_H
#define DUEPOST_API_PROBLEM_H

#include "api/handlers.h"
#include "job/job.h"

/* What is said, as members of a JSON object without its braces: detail first. */

void problem_write(struct buffer *members, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* All that is wrong; what is "job" or "query". */
void problem_write_errors(struct buffer *members, const char *what, const struct job_errors *);

/* Why a job's record cannot be written anew. */
#define PROBLEM_UNREADABLE "The job's record in Redis cannot be read. PUT replaces the job, DELETE removes it."
#define PROBLEM_LACKING                                                                                      \
    "The job needs a later version of duepost than this process is: send the request to one of that version."

/* job is in the way. */
void problem_write_conflict(struct buffer *members, const char *detail, const struct store_job *);

/* The consequence where a request only reads. */
#define PROBLEM_READ_ONLY "Nothing was to be changed; ask again."

/* What the store says, for people, and the status that goes with it: 404, 503, 507. key: of the job or topic
 * that it is about, empty for all. consequence: what an unknown outcome means here. */
unsigned problem_write_status(struct buffer *members, const struct api *, struct slice key, enum status,
                              const char *consequence);

/* These answer with them, and end the exchange. */

void problem_answer_members(struct exchange *, unsigned status, struct slice members);
void problem_answer_conflict(struct exchange *, const char *detail, const struct store_job *); /* 409 */

/* What a parser says that is not OK: 400 where it is INVALID. */
void problem_answer_invalid(struct exchange *, enum status, const char *what, const struct job_errors *);
void problem_answer_status(struct exchange *, enum status, const char *consequence);

/* Every answer that confirms a change keeps the durability that was promised. True: for what the exchange's
 * key names that cannot be now, and 503 was answered. */
bool problem_answer_unready(struct exchange *);

/* Answers 403, and returns true, for the topic of a path that only the server writes to. */
bool problem_answer_sibling(struct exchange *);

/* The opening of a problem: type, title, status, detail; the caller adds members and '}'. */
void problem_write_head(struct buffer *, unsigned status, struct slice detail);

/* The whole body of an error; see dialect.h. */
void problem_write_error(struct buffer *body, const struct exchange_error *);

#endif

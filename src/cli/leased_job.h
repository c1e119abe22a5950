/* leased_job.h - a job that this worker has leased, with the body and the environment for its command.
 *
 * The command gets the body on standard input, byte for byte as a receiver would get it, and the rest in its
 * environment:
 *
 *     DUEPOST_TOPIC  DUEPOST_JOB_ID  DUEPOST_ATTEMPT  DUEPOST_CREATED_AT  DUEPOST_DUE_AT
 *     DUEPOST_EXPIRES_AT              if the job expires
 *     DUEPOST_LABELS                  one label on each line
 *     DUEPOST_HEADER_CONTENT_TYPE     a header; letters are upper case, and other characters are '_'
 *
 * The command inherits the worker's own variables, except those that begin with DUEPOST_: they may hold the
 * token, or belong to a job of another worker. DUEPOST_SERVER is inherited. */
#ifndef DUEPOST_CLI_LEASED_JOB_H
#define DUEPOST_CLI_LEASED_JOB_H

#include "base/buffer.h"
#include "base/status.h"
#include "job/text/json.h"

enum { LEASED_JOBS_MAX = 100 }; /* maximum number of jobs in one answer */

struct leased_job {
    char *id, *token; /* jobId; the lease token */
    long attempt;
    struct buffer body;
    char **environment; /* ends with a NULL */
    size_t variables;
};

/* Opens the list of jobs in an answer to a lease. Returns false if the text is not such an answer. The cursor
 * borrows answer. */
bool leased_jobs_open(struct slice answer, struct json_cursor *);

/* Reads the next job. NOT_FOUND: there are no more jobs. INVALID: the item is not a leased job. If OK, the
 * caller frees the job with leased_job_fini. */
enum status leased_job_next(struct json_cursor *, struct leased_job *) MUST_USE;
void leased_job_fini(struct leased_job *);

#endif

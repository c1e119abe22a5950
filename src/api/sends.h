/* sends.h - sends: a request with the member "group" sends one job to each endpoint of the group. POST /jobs
 * and PUT /jobs/<topic>/<jobId> send; GET and DELETE /jobs/<topic>/<jobId>?group=<name> read and cancel the
 * jobs of a send. */
#ifndef DUEPOST_API_SENDS_H
#define DUEPOST_API_SENDS_H

#include "api/handler.h"

struct app_send;
struct sent_job;
struct job;

enum sends_detail { SENDS_WITH_JOBS, SENDS_WITHOUT_JOBS };

/* Writes the result of a send as members of an object, without its braces. Returns the HTTP status. */
unsigned sends_write(struct buffer *members, const struct exchange *, const struct app_send *,
                     const struct app_verdict *, enum sends_detail);

/* Adds the jobs of a send. id is topic/jobId of the request that sent them. */
void sends_add_jobs(struct json_writer *, struct slice id, const struct sent_job *, size_t count);

/* Sends a job whose member "group" is set, and answers. Takes the job's content. */
void sends_submit(struct exchange *, struct job *);

/* Sends the job of a PUT, instead of the jobs that were sent before under its jobId, and answers.
 * exchange->seen has the tags of If-Match or If-None-Match. Takes the job's content. */
void sends_replace(struct exchange *, struct job *);

/* Answer a request to read or to cancel the jobs that were sent under the jobId in the path, to the group in
 * the query. */
void sends_read(struct exchange *);
void sends_cancel(struct exchange *);

#endif

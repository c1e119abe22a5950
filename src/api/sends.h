/* sends.h - jobs that are sent to a group: the parts of POST /jobs, of PUT
 * /jobs/<topic>/<jobId>, and of GET and DELETE /jobs/<topic>/<jobId>?group=<name>. */
#ifndef DUEPOST_API_SENDS_H
#define DUEPOST_API_SENDS_H

#include "api/handler.h"

struct app_send;
struct app_sent_job;
struct job;

enum sends_detail { SENDS_WITH_JOBS, SENDS_WITHOUT_JOBS };

/* Writes the result of a send, as members without the braces of the object, and returns the HTTP status. */
unsigned sends_write(struct buffer *members, const struct exchange *, const struct app_send *,
                     const struct app_verdict *, enum sends_detail);

/* Adds the jobs of the send with the id topic/jobId. */
void sends_add_jobs(struct json_writer *, struct slice id, const struct app_sent_job *, size_t count);

/* Sends a job whose member "group" is set, and answers. The job has nothing to free after that. */
void sends_submit(struct exchange *, struct job *);

/* Sends the job of a PUT, whose tags are in exchange->seen, replaces the jobs that were sent before, and
 * answers. The job has nothing to free after that. */
void sends_replace(struct exchange *, struct job *);

/* Answer a request for the jobs that were sent under the jobId of the path, to the group of the query. */
void sends_read(struct exchange *);
void sends_cancel(struct exchange *);

#endif

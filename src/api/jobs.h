/* jobs.h - requests that schedule jobs: one job, many jobs, or a send to a group. */
#ifndef DUEPOST_API_JOBS_H
#define DUEPOST_API_JOBS_H

#include "api/answer.h"

/* ---- many jobs: a JSON array, or NDJSON ----
 *
 * The text is cut into jobs first. If it is malformed, the request is refused and nothing is stored. Then
 * each job is submitted like the job of a single request (app/submission.h). The jobs are submitted in order,
 * and an error of one job does not affect the others. For each job, the answer has the same status and
 * members as the answer to a request with only this job.
 *
 * Batches take turns. One turn of the event loop spends about a millisecond on all batches together, and only
 * a limited number of their jobs is being sent to Redis at any time. So a large batch does not delay single
 * requests and deliveries for long. Memory is limited, too: only a few batches are open at the same time, and
 * a waiting batch uses memory only for its text. If its client disconnects, a batch continues, as a single
 * job does. */

enum { JOB_BATCH_BYTES_MAX = 16 * 1024 * 1024 };

/* Creates the batches of one reactor. */
struct job_batches *job_batches_new(struct loop *);

/* Call this function after all batches have ended. NULL is ignored. */
void job_batches_free(struct job_batches *);

/* Returns whether the request has many jobs. Reads only the beginning of the body. */
bool job_batch_is_meant(const struct exchange *);

/* Begins a batch. When the batch ends, it answers the exchange. */
void job_batch_begin(struct exchange *);

/* ---- sends ----
 *
 * A request with the member "group" sends one job to each endpoint of the group. POST /jobs
 * and PUT /jobs/<topic>/<jobId> send; GET and DELETE /jobs/<topic>/<jobId>?group=<name> read and cancel the
 * jobs of a send. */

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

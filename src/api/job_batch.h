/* job_batch.h - POST /jobs with many jobs: a JSON array, or NDJSON.
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
#ifndef DUEPOST_API_JOB_BATCH_H
#define DUEPOST_API_JOB_BATCH_H

#include "api/handler.h"

enum { JOB_BATCH_BYTES_MAX = 16 * 1024 * 1024 };

/* Creates the batches of one reactor. */
struct job_batches *job_batches_new(struct loop *);

/* Call this function after all batches have ended. NULL is ignored. */
void job_batches_free(struct job_batches *);

/* Returns whether the request has many jobs. Reads only the beginning of the body. */
bool job_batch_is_meant(const struct exchange *);

/* Begins a batch. When the batch ends, it answers the exchange. */
void job_batch_begin(struct exchange *);

#endif

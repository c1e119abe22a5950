/* job_batch.h - POST /jobs with many jobs: a JSON array, or NDJSON.
 *
 * The text is cut into jobs first. If it is malformed, the request is refused and nothing is stored. Then
 * each job is submitted like a single one (app/submission.h), in order and independently of the others. For
 * each job, the answer has the same status and members as the answer to a request with only this job.
 *
 * Batches take turns. One turn of the loop does about a millisecond's work on all of them, and the store has
 * only a limited number of their jobs at once. So a large batch does not delay single requests and deliveries
 * for long. Memory is limited: only a few batches are open at the same time, and the others need memory for
 * their text only. A batch continues when its client disconnects, like a single job. */
#ifndef DUEPOST_API_JOB_BATCH_H
#define DUEPOST_API_JOB_BATCH_H

#include "api/handler.h"

enum { JOB_BATCH_BYTES_MAX = 16 * 1024 * 1024 };

/* Creates the batches of one reactor. */
struct job_batches *job_batches_new(struct loop *);

/* Call it after all batches have ended. NULL is ignored. */
void job_batches_free(struct job_batches *);

/* Returns whether the request has many jobs. The beginning of the body is enough. */
bool job_batch_is_meant(const struct exchange *);

/* Begins a batch. When the batch ends, it answers the exchange. */
void job_batch_begin(struct exchange *);

#endif

/* job_batch.h - POST /jobs with many jobs: a JSON array, or NDJSON.
 *
 * The text is cut into jobs first. If it is malformed, the request is refused and nothing is stored. Then
 * each job is submitted like a single one (app/submission.h), in order and independently of the others. The
 * answer has for each job the status and the members that a request of its own would have got.
 *
 * Batches take turns. One turn of the loop does about a millisecond's work on all of them, and a bounded
 * number of their jobs are in the store's hands at once: single requests and deliveries do not wait long
 * behind a large batch. Memory is bounded, because a batch that is not open yet holds its text only. A batch
 * goes on when its client disconnects, as a single job would. */
#ifndef DUEPOST_API_JOB_BATCH_H
#define DUEPOST_API_JOB_BATCH_H

#include "api/handler.h"

enum { JOB_BATCH_BYTES_MAX = 16 * 1024 * 1024 };

/* The batches of one reactor. */
struct job_batches *job_batches_new(struct loop *);

/* Call it when all have ended. NULL is fine. */
void job_batches_free(struct job_batches *);

/* Whether the body, or its beginning, is that of a request with many jobs. */
bool job_batch_is_meant(const struct exchange *);

/* Begins a batch, which answers the exchange. */
void job_batch_begin(struct exchange *);

#endif

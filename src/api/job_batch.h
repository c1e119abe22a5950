/* job_batch.h - POST /jobs with many jobs: a JSON array, or NDJSON.
 *
 * The text is cut into jobs first; when it is not sound, the request is refused and nothing is stored. Then
 * each job goes the way of a single one (submission.h), in their order and independently of each other. The
 * answer says of each what a request of its own would have been answered.
 *
 * Batches take turns. One turn of the loop does about a millisecond's work on them all, and only so many of
 * their jobs are in the store's hands at once: single requests and deliveries don't wait long behind a large
 * batch, and memory is bounded, since a batch that is not open yet holds its text and nothing else. Nobody
 * tells when the client leaves meanwhile; the batch goes on, as a single job would. */
#ifndef DUEPOST_API_JOB_BATCH_H
#define DUEPOST_API_JOB_BATCH_H

#include "api/handler.h"

enum { JOB_BATCH_BYTES_MAX = 16 * 1024 * 1024 };

/* Those of one reactor. */
struct job_batches *job_batches_new(struct loop *);

/* When all have ended. NULL is fine. */
void job_batches_free(struct job_batches *);

/* Does the body, or its beginning, say that there are many jobs? */
bool job_batch_is_meant(const struct exchange *);

/* Takes a request that is one to its answer. */
void job_batch_begin(struct exchange *);

#endif

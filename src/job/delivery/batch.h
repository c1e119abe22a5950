/* batch.h - several jobs in one request, for topics with the setting batch: the body of the request, and what
 * the answer says of each job. The functions are pure.
 *
 * The body is an array with an object for each job:
 *     [{"jobId":"a","topic":"mails","key":"k","attempt":1,"labels":["x"],"body":{}}, ...]
 * key and labels are absent if the job has none. A body of bytes is in bodyBase64, a body that is a text is a
 * JSON text, and a job without a body has neither.
 *
 * A 2xx delivers all jobs, unless its body is an object with results:
 *     {"results":[{"jobId":"a","ok":true},{"jobId":"b","retry":"5m"},{"jobId":"c","bury":"no such user"}]}
 * Each job of the request is then decided for itself. A job without a result, or whose result has "ok":false,
 * has failed. Results of other jobs are ignored, and of several results for a job the first counts. */
#ifndef DUEPOST_JOB_DELIVERY_BATCH_H
#define DUEPOST_JOB_DELIVERY_BATCH_H

#include "job/job.h"

enum { BATCH_DETAIL_MAX = 200 }; /* maximum size of the text with which a receiver gives up a job, in bytes */

/* Begins the body with "[", adds a job, ends it. attempt: number of the attempt that begins. */
void batch_body_begin(struct buffer *);
void batch_body_add(struct buffer *, const struct job *, int attempt);
void batch_body_end(struct buffer *);

enum batch_verdict {
    BATCH_DELIVERED,
    BATCH_FAILED, /* the attempt has failed; the job is tried again by its schedule, or after wait_ms */
    BATCH_BURIED, /* the receiver has given up the job */
};

struct batch_result {
    enum batch_verdict verdict;
    bool has_wait;
    int64_t wait_ms;
    char detail[BATCH_DETAIL_MAX + 1]; /* why the job has failed or is given up; may be empty */
};

/* Returns whether a 2xx decides each job for itself. answer: the beginning of its body. */
bool batch_has_results(struct slice answer);

/* Returns whether results may follow a part of an answer, of which the rest was lost with the connection.
 * Then what became of the jobs is not known, so each of them has failed. */
bool batch_may_have_results(struct slice part);

/* The results of an answer, found once for all jobs of the request. */
struct batch_results {
    struct batch_found {
        struct slice job_id; /* as JSON */
        struct slice item;
    } * items; /* owned; in the order of the answer, from which the slices borrow */
    size_t count, capacity;
    bool are_whole;
};

/* Finds the results. is_cut: the answer was longer. Call it only if the answer has results, or may have them.
 */
void batch_results_read(struct slice answer, bool is_cut, struct batch_results *);
void batch_results_fini(struct batch_results *);

/* Reads the result of a job. */
void batch_result_of(const struct batch_results *, struct slice job_id, struct batch_result *);

#endif

/* outcome.h - what becomes of a job after an attempt. Pure: no clock, no I/O. */
#ifndef DUEPOST_JOB_OUTCOME_H
#define DUEPOST_JOB_OUTCOME_H

#include "job/job.h"

enum verdict { VERDICT_COMPLETE, VERDICT_RETRY, VERDICT_BURY };

struct outcome {
    enum verdict verdict;
    int64_t wait_ms;     /* VERDICT_RETRY: from now */
    bool is_at_once;     /* VERDICT_RETRY: at the place that it had among the due; the attempt is uncounted */
    struct slice reason; /* VERDICT_BURY: a literal, "retries_exhausted", "gone" or "target_refused" */
};

#define RETRY_AFTER_MAX_MS (INT64_C(24) * 3600 * 1000)

/* job->attempts is without this one. retry_after_ms: -1 without the header.
 * 2xx completes. 410 is dead with "gone", a refused target with "target_refused".
 * A reset of an idle connection is no word of the receiver's: the first time in a job's life it is retried at
 * once and uses up no retry. Everything else is retried after the longer of schedule and Retry-After (at most
 * RETRY_AFTER_MAX_MS of it), until the retries are used up. */
struct outcome outcome_decide(const struct job *, const struct retry_schedule *fallback,
                              const struct attempt_result *, int64_t retry_after_ms);

#endif

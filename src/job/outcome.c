#include "job/outcome.h"

static struct outcome bury(struct slice reason)
{
    return (struct outcome){.verdict = VERDICT_BURY, .reason = reason};
}

/* A receiver may ask for a longer wait than the schedule's, never for a shorter one. */
static int64_t longer_wait(int64_t schedule_ms, int64_t retry_after_ms)
{
    if (retry_after_ms > RETRY_AFTER_MAX_MS)
        retry_after_ms = RETRY_AFTER_MAX_MS;
    return retry_after_ms > schedule_ms ? retry_after_ms : schedule_ms;
}

struct outcome outcome_decide(const struct job *job, const struct retry_schedule *fallback,
                              const struct attempt_result *result, int64_t retry_after_ms)
{
    if (result->error == ATTEMPT_ERROR_TARGET_REFUSED)
        return bury(SLICE("target_refused"));
    if (result->error == ATTEMPT_ERROR_NONE && result->status >= 200 && result->status <= 299)
        return (struct outcome){.verdict = VERDICT_COMPLETE};
    if (result->error == ATTEMPT_ERROR_NONE && result->status == 410)
        return bury(SLICE("gone"));
    if (result->error == ATTEMPT_ERROR_RESET && result->is_idle_closed && job->uncounted == 0)
        return (struct outcome){.verdict = VERDICT_RETRY, .is_at_once = true};
    int counted = job->attempts - job->uncounted;
    if (counted >= job_max_retries(job, fallback))
        return bury(SLICE("retries_exhausted"));
    int64_t wait_ms = job_wait_ms(job, fallback, counted + 1);
    return (struct outcome){.verdict = VERDICT_RETRY, .wait_ms = longer_wait(wait_ms, retry_after_ms)};
}

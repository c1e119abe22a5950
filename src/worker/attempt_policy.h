/* attempt_policy.h - what operators decide about attempts, and may change while duepost runs. Borrowed. */
#ifndef DUEPOST_WORKER_ATTEMPT_POLICY_H
#define DUEPOST_WORKER_ATTEMPT_POLICY_H

#include "job/retry_schedule.h"
#include "job/signature.h"
#include "job/target.h"

struct attempt_policy {
    const struct target_policy *targets;
    const struct retry_schedule *schedule; /* for jobs that bring none */
    const struct signing_keys *keys;       /* for topics that have none; maybe none */
    bool is_breaker_on;                    /* for topics that don't say */
};

#endif

/* attempt_policy.h - options for attempts, which a reload may change. Borrowed. */
#ifndef DUEPOST_WORKER_ATTEMPT_POLICY_H
#define DUEPOST_WORKER_ATTEMPT_POLICY_H

#include "job/retry_schedule.h"
#include "job/signature.h"
#include "job/target.h"

struct attempt_policy {
    const struct target_policy *targets;
    const struct retry_schedule *schedule; /* of jobs and topics that have none */
    const struct signing_keys *keys;       /* of topics that have none; may be empty */
    bool is_breaker_on;                    /* of topics that do not say */
};

#endif

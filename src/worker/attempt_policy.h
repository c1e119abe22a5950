/* attempt_policy.h - options for attempts. A reload may change them. */
#ifndef DUEPOST_WORKER_ATTEMPT_POLICY_H
#define DUEPOST_WORKER_ATTEMPT_POLICY_H

#include "job/delivery/delivery_form.h"
#include "job/delivery/signature.h"
#include "job/retry.h"
#include "job/target/target.h"

struct attempt_policy {
    const struct target_policy *targets;
    const struct retry_schedule *schedule; /* default for jobs and topics without a retry schedule */
    const struct delivery_forms *forms;
    const struct signing_keys *keys; /* signing keys for topics without their own keys; may be empty */
    bool is_breaker_on;              /* default for topics without a setting of their own */
    struct tracer *tracer;           /* NULL: no spans are recorded */
    bool has_history; /* there is a history, so the last attempt of a delivered job is also kept */
};

#endif

/* attempt_policy.h - options for attempts. A reload may change them. */
#ifndef DUEPOST_WORKER_ATTEMPT_POLICY_H
#define DUEPOST_WORKER_ATTEMPT_POLICY_H

#include "job/form.h"
#include "job/retry_schedule.h"
#include "job/signature.h"
#include "job/target.h"

struct attempt_policy {
    const struct target_policy *targets;
    const struct retry_schedule *schedule; /* for jobs and topics without a schedule of their own */
    const struct delivery_forms *forms;
    const struct signing_keys *keys; /* for topics without keys of their own; may be empty */
    bool is_breaker_on;              /* for topics without this setting */
    struct tracer *tracer;           /* NULL: no spans are recorded */
    bool has_history;                /* the last attempt of a delivered job is kept, too */
};

#endif

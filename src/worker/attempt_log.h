/* attempt_log.h - what the log tells of an attempt: one line for each that failed, and for each job that it
 * ended.
 *
 * They name the receiver by host and port: a path may be as good as a password. Nothing is gathered for what
 * the log's level leaves out. */
#ifndef DUEPOST_WORKER_ATTEMPT_LOG_H
#define DUEPOST_WORKER_ATTEMPT_LOG_H

#include "worker/attempt.h"

/* attempt_failed, or job_dead. While its job's last_attempt is this one. */
void attempt_log_failure(const struct attempt *);

/* job_dead, without an attempt: why is in its job. */
void attempt_log_unsent(const struct attempt *);

/* job_delivered: once Redis has it. */
void attempt_log_delivery(const struct attempt *);

#endif

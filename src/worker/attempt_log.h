/* attempt_log.h - the log's lines about attempts: one for each failure, and for each job that ended.
 *
 * A line names the receiver by host and port, because a path may be a secret. Nothing is gathered for lines
 * that the log's level leaves out. */
#ifndef DUEPOST_WORKER_ATTEMPT_LOG_H
#define DUEPOST_WORKER_ATTEMPT_LOG_H

#include "worker/attempt_data.h"

/* Writes attempt_failed or job_dead. The job's last_attempt is this one. */
void attempt_log_failure(const struct attempt *);

/* Writes job_dead for a job that was not attempted. */
void attempt_log_unsent(const struct attempt *);

/* Writes job_delivered, once Redis has taken it. */
void attempt_log_delivery(const struct attempt *);

#endif

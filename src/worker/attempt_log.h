/* attempt_log.h - logs one line for each failed attempt and for each job that ended.
 *
 * A line names the receiver by host and port only, because a path may be a secret. If the log level omits a
 * line, the functions return at once. */
#ifndef DUEPOST_WORKER_ATTEMPT_LOG_H
#define DUEPOST_WORKER_ATTEMPT_LOG_H

#include "worker/attempt_data.h"

/* Writes attempt_failed, or job_dead if this attempt was the job's last. The job's last_attempt must be
 * this attempt. */
void attempt_log_failure(const struct attempt *);

/* Writes job_not_yet for a job that the receiver wants to get again later. */
void attempt_log_round(const struct attempt *);

/* Writes job_dead for a job that was not attempted. */
void attempt_log_unsent(const struct attempt *);

/* Writes attempt_replaced: a new job has replaced the job during this attempt, so its outcome has no effect.
 */
void attempt_log_replaced(const struct attempt *);

/* Writes job_delivered. Call it after Redis has stored the ending. */
void attempt_log_delivery(const struct attempt *);

#endif

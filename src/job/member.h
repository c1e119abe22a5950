/* member.h - members that jobs and the settings of topics have in common: each is read from its raw value,
 * and what is wrong with it is added to errors under name. */
#ifndef DUEPOST_JOB_MEMBER_H
#define DUEPOST_JOB_MEMBER_H

#include "job/job_errors.h"

/* A number of seconds, exact; finer than a millisecond is rounded up. */
void member_seconds(struct job_errors *, const char *name, struct slice value, int64_t min_ms, int64_t max_ms,
                    int64_t *ms);

void member_integer(struct job_errors *, const char *name, struct slice value, int64_t min, int64_t max,
                    int64_t *number);

/* At most RETRY_SCHEDULE_MAX waits. */
void member_schedule(struct job_errors *, const char *name, struct slice value, struct retry_schedule *);

#endif

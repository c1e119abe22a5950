/* one_job.h - commands about one job: schedule, show, why, attempts, run, cancel. */
#ifndef DUEPOST_CLI_ONE_JOB_H
#define DUEPOST_CLI_ONE_JOB_H

#include "cli/call.h"

bool one_job_schedule(struct call *);
bool one_job_show(struct call *);
bool one_job_why(struct call *);
bool one_job_attempts(struct call *);
bool one_job_run(struct call *);
bool one_job_cancel(struct call *);

#endif

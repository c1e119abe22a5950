/* many_jobs.h - commands that act on all jobs that match a filter: cancel, redrive, run, reschedule. */
#ifndef DUEPOST_CLI_MANY_JOBS_H
#define DUEPOST_CLI_MANY_JOBS_H

#include "cli/call.h"

/* These commands call the API page by page. Either --limit, the maximum number of jobs in all pages together,
 * or --all, for all jobs that match, is required. --dry-run only counts the jobs. */
bool many_jobs_cancel(struct call *);
bool many_jobs_redrive(struct call *);
bool many_jobs_run(struct call *);
bool many_jobs_reschedule(struct call *);

#endif

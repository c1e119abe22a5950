/* many_jobs.h - commands that act on all jobs which a filter finds: cancel, redrive. */
#ifndef DUEPOST_CLI_MANY_JOBS_H
#define DUEPOST_CLI_MANY_JOBS_H

#include "cli/call.h"

/* Each page of the API acts on what the filter finds; --limit bounds the jobs of all pages together, and
 * --dry-run only counts them. */
bool many_jobs_cancel(struct call *);
bool many_jobs_redrive(struct call *);

#endif

/* export.h - writes the jobs of the history to standard output, one per line. */
#ifndef DUEPOST_CLI_EXPORT_H
#define DUEPOST_CLI_EXPORT_H

#include "cli/call.h"

/* Writes all jobs that match the filter of the call, with a progress bar on standard error. */
bool export_run(struct call *);

#endif

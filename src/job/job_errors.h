/* job_errors.h - collects the rules that a client's job breaks. */
#ifndef DUEPOST_JOB_JOB_ERRORS_H
#define DUEPOST_JOB_JOB_ERRORS_H

#include "job/job.h"

/* For field, "" for the document. Beyond JOB_ERRORS_MAX nothing is added. */
void job_errors_add(struct job_errors *, const char *field, const char *detail);

/* The same for a field whose name has a part from the client, cut where it is too long. */
void job_errors_add_named(struct job_errors *, const char *prefix, struct slice name, const char *detail);

#endif

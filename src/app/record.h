/* record.h - reads the record of a job, which may be damaged. */
#ifndef DUEPOST_APP_RECORD_H
#define DUEPOST_APP_RECORD_H

#include "app/app.h"

/* Reads the job, which borrows its record. The caller frees it with job_fini. Returns false if the record
 * cannot be read. Then job has only the members that are known without it, and need not be freed. */
bool app_job_read(const struct stored_job *, struct job *);

/* Returns whether the job had a body that the history does not keep. job: the job that app_job_read has read.
 */
bool app_job_lacks_body(const struct stored_job *, const struct job *);

/* Returns why a dead job is dead. */
struct slice app_job_reason(const struct job *, int64_t at_ms);

#endif

/* record.h - reads the record of a job that may be damaged. */
#ifndef DUEPOST_APP_RECORD_H
#define DUEPOST_APP_RECORD_H

#include "app/app.h"

/* Reads the job, which borrows from its record and is for job_fini. False: the record cannot be read; job has
 * what is known, and needs no fini. */
bool app_job_read(const struct app_job *, struct job *);

/* Returns why a dead job is dead. */
struct slice app_job_reason(const struct job *);

#endif

/* job_errors.h - collects the faults of a client's job. */
#ifndef DUEPOST_JOB_JOB_ERRORS_H
#define DUEPOST_JOB_JOB_ERRORS_H

#include "base/slice.h"

enum { JOB_ERRORS_MAX = 64 }; /* reported at once */

/* One fault. */
struct job_error {
    char field[160];  /* "retrySchedule[2]"; "" for the document as a whole */
    char detail[160]; /* "must be 0 to 31536000" */
};

struct job_errors {
    size_t count; /* the first JOB_ERRORS_MAX are kept, in the order of the members */
    struct job_error items[JOB_ERRORS_MAX];
};

/* Adds a fault of field; "" for the document. Faults beyond JOB_ERRORS_MAX are dropped. */
void job_errors_add(struct job_errors *, const char *field, const char *detail);

/* The same for a field whose name contains text of the client, shortened when it is too long. */
void job_errors_add_named(struct job_errors *, const char *prefix, struct slice name, const char *detail);

#endif

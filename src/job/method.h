/* method.h - the method of a job's requests. */
#ifndef DUEPOST_JOB_METHOD_H
#define DUEPOST_JOB_METHOD_H

#include <stdbool.h>

#include "base/slice.h"

enum job_method {
    JOB_METHOD_POST, /* the default */
    JOB_METHOD_GET,
    JOB_METHOD_PUT,
    JOB_METHOD_PATCH,
    JOB_METHOD_DELETE,
    JOB_METHOD_HEAD,
    JOB_METHODS,
};

#define JOB_METHOD_EXPECTED "must be GET, POST, PUT, PATCH, DELETE or HEAD"

/* Returns the name of the method, such as "POST". */
const char *job_method_word(enum job_method);

/* Parses a name. Names are case-sensitive, as in HTTP. Returns false for any other text. */
bool job_method_parse(struct slice, enum job_method *);

/* Returns whether requests of this method may have a body. */
bool job_method_allows_body(enum job_method);

#endif

/* callback.h - where duepost reports what has happened to a job: a url, or an object with a url, its method
 * and headers.
 *
 *     "http://example.com/done"
 *     {"url":"http://example.com/done","method":"PUT","headers":{"Authorization":"Bearer
 * x"},"includeBody":true}
 *
 * Jobs and the settings of topics store this value as text. The text is parsed only when a callback is
 * created, because most jobs end without callbacks. */
#ifndef DUEPOST_JOB_DELIVERY_CALLBACK_H
#define DUEPOST_JOB_DELIVERY_CALLBACK_H

#include "base/buffer.h"
#include "base/status.h"
#include "job/request.h"
#include "job/text/job_errors.h"

enum { CALLBACK_BYTES_MAX = 16 * 1024 }; /* maximum size of the text */

/* The slices point into the text that was parsed, and into the buffer "text". */
struct callback {
    struct slice url;
    enum job_method method; /* POST, PUT or PATCH */
    struct job_header headers[JOB_HEADERS_MAX];
    size_t header_count;
    bool has_body;      /* the body of the callback includes the body of the job */
    struct buffer text; /* owned: decoded strings */
};

/* Parses a JSON value. If the value is not valid, adds the faults to errors, under names that begin with
 * "name", and returns false; the callback then has nothing to free. */
bool callback_parse(struct job_errors *, const char *name, struct slice value, struct callback *) MUST_USE;

/* Reads a value that callback_parse accepted before, for example from a record. */
bool callback_read(struct slice value, struct callback *) MUST_USE;

void callback_fini(struct callback *);

/* Writes the value as clients may see it: the query of the url and the values of headers are masked. */
void callback_show(struct slice value, struct buffer *out);

/* Returns whether both values are callbacks with the same url, method, headers and body. */
bool callback_is_same(struct slice a, struct slice b);

#endif

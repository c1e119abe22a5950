/* header.h - the extra request headers that a job may ask for. */
#ifndef DUEPOST_JOB_HEADER_H
#define DUEPOST_JOB_HEADER_H

#include "base/buffer.h"
#include "base/slice.h"

enum {
    JOB_HEADERS_MAX = 50,
    JOB_HEADER_BYTES_MAX = 8192, /* names and values together */
};

struct job_header {
    struct slice name, value;
};

/* A token (RFC 9110, 5.6.2). */
bool header_name_is_valid(struct slice name);

/* Visible ASCII, space and tab; may be empty. */
bool header_value_is_valid(struct slice value);

/* Names that belong to the connection, to proxies or to us, in any case. */
bool header_is_refused(struct slice name);

/* What stands for a value that is not shown. */
#define HEADER_HIDDEN "***"

/* Whether people may see the value: Content-Type's. */
bool header_is_shown(struct slice name);

/* As an object. is_hidden: for people, with no value but those that may be seen. */
void headers_write(struct buffer *, const struct job_header *headers, size_t count, bool is_hidden);

/* NULL: there is none with this name, in whatever case. */
const struct slice *headers_find(const struct job_header *headers, size_t count, struct slice name);

#endif

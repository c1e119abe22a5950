/* request.h - a job's request: its method, additional headers, and trace context. */
#ifndef DUEPOST_JOB_REQUEST_H
#define DUEPOST_JOB_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/encoding.h"
#include "base/slice.h"

/* ---- the method ---- */

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

/* ---- headers ---- */

enum {
    JOB_HEADERS_MAX = 50,
    JOB_HEADER_BYTES_MAX = 8192, /* maximum size of all names and values together */
};

struct job_header {
    struct slice name, value;
};

/* Returns whether a name is a token (RFC 9110, 5.6.2). */
bool header_name_is_valid(struct slice name);

/* Returns whether a value contains only visible ASCII, spaces and tabs. An empty value is valid. */
bool header_value_is_valid(struct slice value);

/* Returns whether a job must not set the header with this name, because the header belongs to the connection,
 * to proxies or to duepost. The case of the name does not matter. */
bool header_is_refused(struct slice name);

/* The mask: clients see this text in place of a hidden value. */
#define HEADER_HIDDEN "***"

/* Returns whether clients may see the value of the header with this name. Only the value of Content-Type is
 * shown. */
bool header_is_shown(struct slice name);

/* Writes the headers as an object. If is_hidden is true, masks the values that clients must not see. */
void headers_write(struct buffer *, const struct job_header *headers, size_t count, bool is_hidden);

/* Returns the value of the header with this name, in any case, or NULL if there is no such header. */
const struct slice *headers_find(const struct job_header *headers, size_t count, struct slice name);

/* ---- trace context ----
 *
 * W3C Trace Context. The trace of a request is stored with the job, and each attempt is a span of
 * this trace: https://www.w3.org/TR/trace-context/ */

enum {
    TRACE_SPAN_BYTES = 8,
    TRACE_STATE_MAX = 512,    /* in bytes; by the standard, a tracestate up to this size must be passed on */
    TRACE_STATE_MEMBERS = 32, /* at most */
    TRACE_STATE_MEMBER =
        128, /* in bytes; if a tracestate is too long, members longer than this are dropped first */
};

/* Reads a traceparent of version 00. Returns false if it is invalid; the caller then ignores it and its
 * tracestate. */
bool trace_parent_read(struct slice header, char parent[TRACE_PARENT_BYTES]);

/* Writes a traceparent of the same trace with another span. span has the bytes of the span id: random, and
 * not all 0. */
void trace_parent_next(struct slice parent, const uint8_t span[TRACE_SPAN_BYTES],
                       char next[TRACE_PARENT_BYTES]);

/* Returns whether the flag "sampled" is set, which means that the trace is recorded. */
bool trace_parent_is_sampled(struct slice parent);

/* Reads a tracestate. If it is longer than TRACE_STATE_MAX bytes, drops whole members. */
void trace_state_read(struct slice header, struct buffer *state);

#endif

/* trace.h - W3C Trace Context: what a request says of its trace is kept with the job, and each attempt says
 * it on as a span of its own: https://www.w3.org/TR/trace-context/ */
#ifndef DUEPOST_JOB_TRACE_H
#define DUEPOST_JOB_TRACE_H

#include <stdint.h>

#include "base/buffer.h"

enum {
    TRACE_PARENT_BYTES = 55,
    TRACE_SPAN_BYTES = 8,
    TRACE_STATE_MAX = 512,    /* bytes; what is propagated at least */
    TRACE_STATE_MEMBERS = 32, /* at most */
    TRACE_STATE_MEMBER = 128, /* longer ones go first */
};

/* A traceparent as version 00 has it. False: it is none, and counts as if it were not there, with its
 * tracestate. */
bool trace_parent_read(struct slice header, char parent[TRACE_PARENT_BYTES]);

/* The same trace with another span; bytes: random, not all 0. */
void trace_parent_next(struct slice parent, const uint8_t span[TRACE_SPAN_BYTES],
                       char next[TRACE_PARENT_BYTES]);

/* A tracestate, whole members of it, as far as they fit TRACE_STATE_MAX. */
void trace_state_read(struct slice header, struct buffer *state);

#endif

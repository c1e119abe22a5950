/* trace.h - W3C Trace Context. The trace of a request is stored with the job, and each attempt is a span of
 * this trace: https://www.w3.org/TR/trace-context/ */
#ifndef DUEPOST_JOB_DELIVERY_TRACE_H
#define DUEPOST_JOB_DELIVERY_TRACE_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/encoding.h"

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

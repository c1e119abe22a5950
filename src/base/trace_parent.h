/* trace_parent.h - the layout of a traceparent (W3C Trace Context): "00-<trace id>-<span id>-<flags>", all in
 * hex. job/delivery/trace.h checks and writes it. */
#ifndef DUEPOST_BASE_TRACE_PARENT_H
#define DUEPOST_BASE_TRACE_PARENT_H

#include <assert.h>

#include "base/slice.h"

enum {
    TRACE_PARENT_BYTES = 55,
    TRACE_ID_AT = 3,
    TRACE_ID_DIGITS = 32,
    TRACE_SPAN_AT = 36,
    TRACE_SPAN_DIGITS = 16,
    TRACE_FLAGS_AT = 53,
    TRACE_FLAGS_DIGITS = 2,
};

/* Return the digits of the trace id and of the span id of a valid traceparent. */
static inline struct slice trace_parent_trace_id(struct slice parent)
{
    assert(parent.size == TRACE_PARENT_BYTES);
    return slice_from(parent.data + TRACE_ID_AT, TRACE_ID_DIGITS);
}

static inline struct slice trace_parent_span_id(struct slice parent)
{
    assert(parent.size == TRACE_PARENT_BYTES);
    return slice_from(parent.data + TRACE_SPAN_AT, TRACE_SPAN_DIGITS);
}

#endif

#include "http/trace_context.h"

enum { HEAD_MAX = 64 * 1024 }; /* bytes; more than a request's head can have */

void trace_context_take(const struct http_request *request, struct trace_context *context, struct job *job)
{
    struct buffer state = {
        .data = context->state, .capacity = sizeof context->state, .max = sizeof context->state - 1};
    struct buffer joined;
    if (!http_request_has_header(request, "traceparent") ||
        !trace_parent_read(http_request_header(request, "traceparent"), context->parent))
        return;
    buffer_init(&joined, HEAD_MAX);
    http_request_join_header(request, "tracestate", &joined);
    trace_state_read(buffer_slice(&joined), &state);
    buffer_fini(&joined);
    job->trace_parent = slice_from(context->parent, sizeof context->parent);
    job->trace_state = buffer_slice(&state);
}

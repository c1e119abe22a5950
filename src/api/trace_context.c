#include "api/trace_context.h"

void trace_context_take(const struct http_request *request, struct trace_context *context, struct job *job)
{
    struct buffer state = {
        .data = context->state, .capacity = sizeof context->state, .max = sizeof context->state - 1};
    if (!http_request_has_header(request, "traceparent") ||
        !trace_parent_read(http_request_header(request, "traceparent"), context->parent))
        return;
    trace_state_read(http_request_header(request, "tracestate"), &state);
    job->trace_parent = slice_from(context->parent, sizeof context->parent);
    job->trace_state = buffer_slice(&state);
}

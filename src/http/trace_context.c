#include "http/trace_context.h"

enum { HEAD_MAX = 64 * 1024 }; /* in bytes; no head of a request is longer */

/* Reads the trace of the client's request. Returns false if the request has no valid trace. */
static bool read_headers(const struct http_request *request, struct trace_context *context, struct job *job)
{
    struct buffer state = buffer_of(context->state, sizeof context->state);
    struct buffer joined;
    if (!http_request_has_header(request, "traceparent") ||
        !trace_parent_read(http_request_header(request, "traceparent"), context->parent))
        return false;
    buffer_init(&joined, HEAD_MAX);
    http_request_join_header(request, "tracestate", &joined);
    trace_state_read(buffer_slice(&joined), &state);
    buffer_fini(&joined);
    job->trace_parent = slice_from(context->parent, sizeof context->parent);
    job->trace_state = buffer_slice(&state);
    return true;
}

/* Makes the span of the request the parent of the job's trace. */
static void add_span(struct exchange *exchange, struct trace_context *context, struct job *job)
{
    if (!exchange->span)
        exchange->span =
            exchange_span_new(exchange->site->options.tracer, job->trace_parent, job->trace_state);
    struct slice parent = exchange_span_add(exchange->span, job);
    memcpy(context->parent, parent.data, sizeof context->parent);
    job->trace_parent = slice_from(context->parent, sizeof context->parent);
}

void trace_context_take(struct exchange *exchange, struct trace_context *context, struct job *job)
{
    read_headers(exchange->request, context, job);
    if (exchange->site->options.tracer)
        add_span(exchange, context, job);
}

#include "http/exchange_span.h"

#include <stdio.h>

#include "base/memory.h"
#include "base/system.h"

enum { STATUS_FAULT = 500 }; /* statuses from here on mark the span as an error of the server */

struct exchange_span {
    struct tracer *tracer;
    bool is_recorded;
    struct span span;
};

static void copy_text(char *to, size_t size, struct slice from)
{
    snprintf(to, size, "%.*s", SLICE_ARG(from));
}

struct exchange_span *exchange_span_new(struct tracer *tracer, struct slice parent, struct slice state)
{
    struct exchange_span *made = NEW(struct exchange_span);
    struct span *span = &made->span;
    made->tracer = tracer;
    made->is_recorded = tracer_begin(tracer, parent, span->context);
    span->kind = SPAN_SERVER;
    span->has_parent = parent.size > 0;
    if (span->has_parent)
        memcpy(span->parent, parent.data, sizeof span->parent);
    copy_text(span->state, sizeof span->state, state);
    return made;
}

struct slice exchange_span_add(struct exchange_span *made, const struct job *job)
{
    struct span *span = &made->span;
    if (span->jobs++ == 0) {
        copy_text(span->topic, sizeof span->topic, job->topic);
        copy_text(span->job_id, sizeof span->job_id, job->job_id);
    } else {
        span->job_id[0] =
            '\0'; /* with several jobs, the span has no jobId, because an attribute has only one value */
        if (!slice_equal(slice_of(span->topic), job->topic))
            span->topic[0] = '\0';
    }
    return slice_from(span->context, sizeof span->context);
}

void exchange_span_end(struct exchange_span *made, const struct exchange_span_request *request)
{
    struct span *span = &made->span;
    struct slice method, route, path, query;
    if (!made->is_recorded)
        return;
    int64_t us = clock_boot_us() - request->began_us;
    slice_cut(slice_of(request->label), ' ', &method, &route);
    slice_cut(request->target, '?', &path, &query);
    copy_text(span->method, sizeof span->method, method);
    copy_text(span->route, sizeof span->route, route);
    copy_text(span->url, sizeof span->url, path);
    span->end_us = clock_wall_us();
    span->start_us = span->end_us - us;
    span->status = (int)request->status;
    span->is_error = request->status >= STATUS_FAULT;
    if (span->is_error)
        snprintf(span->error, sizeof span->error, "%u", request->status);
    tracer_record(made->tracer, span);
}

void exchange_span_free(struct exchange_span *made)
{
    free(made);
}

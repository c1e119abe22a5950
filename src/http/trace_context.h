/* trace_context.h - passes the trace of a request (W3C Trace Context) on to its jobs. If duepost records
 * spans, the request becomes a span of its trace, or of a new trace, and the attempts of its jobs become
 * children of this span. */
#ifndef DUEPOST_HTTP_TRACE_CONTEXT_H
#define DUEPOST_HTTP_TRACE_CONTEXT_H

#include "http/exchange.h"
#include "job/job.h"
#include "job/request.h"

struct trace_context {
    char parent[TRACE_PARENT_BYTES], state[TRACE_STATE_MAX + 1];
};

/* Reads the trace of the request into context, and adds it to the job, which borrows context. */
void trace_context_take(struct exchange *, struct trace_context *, struct job *);

#endif

/* trace_context.h - what a request says of its trace, for its jobs. */
#ifndef DUEPOST_API_TRACE_CONTEXT_H
#define DUEPOST_API_TRACE_CONTEXT_H

#include "io/http_server.h"
#include "job/job.h"
#include "job/trace.h"

struct trace_context {
    char parent[TRACE_PARENT_BYTES], state[TRACE_STATE_MAX + 1];
};

/* job borrows context. */
void trace_context_take(const struct http_request *, struct trace_context *, struct job *);

#endif

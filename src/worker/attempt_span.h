/* attempt_span.h - the span of an attempt, if duepost records spans (tracing/tracer.h). */
#ifndef DUEPOST_WORKER_ATTEMPT_SPAN_H
#define DUEPOST_WORKER_ATTEMPT_SPAN_H

#include "job/delivery/trace.h"
#include "worker/attempt_data.h"

/* Begins the span and writes its traceparent. The span's parent is the job's traceparent. If the job has no
 * traceparent, the attempt begins a new trace. */
void attempt_span_begin(struct attempt *, char context[TRACE_PARENT_BYTES]);

/* Records the span after the ending was decided, and makes it an exemplar of the metrics. Does nothing
 * without a span. */
void attempt_span_end(struct attempt *, const struct attempt_result *);

#endif

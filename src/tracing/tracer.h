/* tracer.h - begins spans, and keeps ended spans until the exporter sends them.
 *
 * A process has one tracer, which all reactors share: any thread may call its functions. A recorded span is
 * copied into a bounded queue. While the collector is unreachable, the queue fills; when it is full, new
 * spans are dropped and counted. No caller ever waits for the collector. */
#ifndef DUEPOST_TRACING_TRACER_H
#define DUEPOST_TRACING_TRACER_H

#include "tracing/span.h"

struct tracer;

/* Creates a tracer, which records one in one_in traces that begin in this process. When the number of
 * waiting spans reaches many, the thread that recorded the last of these spans calls wake. */
struct tracer *tracer_new(int64_t one_in, size_t many, void (*wake)(void *arg), void *arg);
void tracer_free(struct tracer *);

/* Writes the traceparent of a new span. The span's trace is that of parent, or a new trace if parent is
 * empty. Returns whether the span must be recorded: a span is not recorded if its parent is not sampled. */
bool tracer_begin(struct tracer *, struct slice parent, char context[TRACE_PARENT_BYTES]);

/* Copies the span, or drops it if the queue is full. */
void tracer_record(struct tracer *, const struct span *);

struct tracer_counts {
    uint64_t exported; /* number of spans that the collector has accepted */
    uint64_t dropped; /* number of spans dropped because the queue was full, or that the collector rejected */
};

struct tracer_counts tracer_count(const struct tracer *);

/* For the exporter. tracer_waiting returns the number of waiting spans. tracer_take moves the first
 * waiting span out of the queue. tracer_note_sent adds to the counts of spans that were sent or dropped. */
size_t tracer_waiting(struct tracer *);
bool tracer_take(struct tracer *, struct span *); /* false: no span waits */
void tracer_note_sent(struct tracer *, size_t exported, size_t dropped);

#endif

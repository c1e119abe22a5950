/* tracer.h - begins spans, and keeps ended ones until the exporter sends them.
 *
 * A process has one tracer, which all reactors share: any thread may call its functions. A recorded span is
 * copied into a queue with a bound. While the collector is away, the queue fills, and new spans are dropped
 * and counted: nothing ever waits for the collector. */
#ifndef DUEPOST_TRACING_TRACER_H
#define DUEPOST_TRACING_TRACER_H

#include "tracing/span.h"

struct tracer;

/* Makes a tracer, which records one of one_in traces that begin here. wake is called when at least many spans
 * wait, by the thread that has recorded the last one. */
struct tracer *tracer_new(int64_t one_in, size_t many, void (*wake)(void *arg), void *arg);
void tracer_free(struct tracer *);

/* Writes the traceparent of a new span. Its trace is that of parent, or a new one if parent is empty. Returns
 * whether the span is to be recorded: a parent that is not sampled has no recorded spans. */
bool tracer_begin(struct tracer *, struct slice parent, char context[TRACE_PARENT_BYTES]);

/* Copies the span, or drops it if the queue is full. */
void tracer_record(struct tracer *, const struct span *);

struct tracer_counts {
    uint64_t exported; /* the collector has them */
    uint64_t dropped;  /* the queue was full, or the collector did not take them */
};

struct tracer_counts tracer_count(const struct tracer *);

/* For the exporter. */
size_t tracer_waiting(struct tracer *);
bool tracer_take(struct tracer *, struct span *); /* false: no span waits */
void tracer_note_sent(struct tracer *, size_t exported, size_t dropped);

#endif

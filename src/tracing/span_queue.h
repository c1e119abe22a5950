/* span_queue.h - ended spans that wait to be sent. Any thread may use a queue. */
#ifndef DUEPOST_TRACING_SPAN_QUEUE_H
#define DUEPOST_TRACING_SPAN_QUEUE_H

#include "tracing/span.h"

struct span_queue;

struct span_queue *span_queue_new(size_t max);
void span_queue_free(struct span_queue *); /* NULL is ignored */

/* Copies the span to the end of the queue. Returns the new number of spans, or 0 if the queue is full. */
size_t span_queue_put(struct span_queue *, const struct span *);

/* Moves the first span out of the queue. Returns false if the queue is empty. */
bool span_queue_take(struct span_queue *, struct span *);

size_t span_queue_count(struct span_queue *);

#endif

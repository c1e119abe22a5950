/* exchange_span.h - the trace span of a request that schedules jobs. The first job of a request creates the
 * span, so requests without jobs have none. */
#ifndef DUEPOST_HTTP_EXCHANGE_SPAN_H
#define DUEPOST_HTTP_EXCHANGE_SPAN_H

#include "job/job.h"
#include "tracing/tracer.h"

struct exchange_span;

/* The data of a request that its span records. */
struct exchange_span_request {
    const char *label;   /* label of the route, such as "POST /jobs" */
    struct slice target; /* target of the request, as sent */
    unsigned status;     /* status of the answer */
    int64_t began_us;    /* time at which the request began (CLOCK_BOOTTIME) */
};

/* Begins the span of a request. parent and state are the trace headers of the request; parent is empty if the
 * request has none. */
struct exchange_span *exchange_span_new(struct tracer *, struct slice parent, struct slice state);

/* Adds a job of the request. Returns the traceparent that the job gets; it is valid until the span is
 * freed. */
struct slice exchange_span_add(struct exchange_span *, const struct job *);

/* Ends the span, and records it if the trace is sampled. */
void exchange_span_end(struct exchange_span *, const struct exchange_span_request *);
void exchange_span_free(struct exchange_span *); /* NULL is ignored */

#endif

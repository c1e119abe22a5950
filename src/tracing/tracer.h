/* tracer.h - begins spans, and keeps ended spans until the exporter sends them.
 *
 * A process has one tracer, which all reactors share: any thread may call its functions. A recorded span is
 * copied into a bounded queue. While the collector is unreachable, the queue fills; when it is full, new
 * spans are dropped and counted. No caller ever waits for the collector. */
#ifndef DUEPOST_TRACING_TRACER_H
#define DUEPOST_TRACING_TRACER_H

#include <stdbool.h>

#include "job/request.h"
#include "job/job_id.h"

/* One span of a trace, as duepost records it when it has ended: a request that scheduled jobs, or an
 * attempt. */

/* SERVER: a request that scheduled jobs. CLIENT: an attempt. The numbers are those of OTLP. */
enum span_kind { SPAN_SERVER = 2, SPAN_CLIENT = 3 };

enum {
    SPAN_METHOD_SIZE = 16,
    SPAN_ROUTE_SIZE = 64,
    SPAN_URL_SIZE = 512,
    SPAN_HOST_SIZE = 256,
    SPAN_WORD_SIZE = 32,
    SPAN_MESSAGE_SIZE = 208,
};

/* The exporter leaves out empty texts, and numbers that are 0 unless the comment of the member says
 * otherwise. */
struct span {
    char context[TRACE_PARENT_BYTES]; /* a traceparent with the ids of the trace and of this span */
    char parent[TRACE_PARENT_BYTES];  /* a traceparent with the ids of the trace and of the parent span */
    bool has_parent;
    enum span_kind kind;
    bool is_error;
    int64_t start_us, end_us; /* microseconds since 1970, by this host's clock */
    int64_t late_ms;          /* CLIENT: always written */
    int port, status;
    int attempt; /* CLIENT: number of the attempt, from 1 */
    size_t jobs; /* SERVER: number of jobs that the request scheduled */
    char method[SPAN_METHOD_SIZE], route[SPAN_ROUTE_SIZE];
    char url[SPAN_URL_SIZE]; /* url without the values of its query */
    char host[SPAN_HOST_SIZE];
    char topic[JOB_TOPIC_NAME_MAX + 1], job_id[JOB_ID_DERIVED_MAX + 1];
    char error[SPAN_WORD_SIZE], outcome[SPAN_WORD_SIZE];
    char message[SPAN_MESSAGE_SIZE]; /* message of the error */
    char state[TRACE_STATE_MAX + 1]; /* the tracestate */
};

/* ---- the tracer ---- */

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

/* span.h - one span of a trace, as duepost records it when it has ended: a request that scheduled jobs, or an
 * attempt. */
#ifndef DUEPOST_TRACING_SPAN_H
#define DUEPOST_TRACING_SPAN_H

#include <stdbool.h>

#include "job/delivery/trace.h"
#include "job/job_id.h"

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

#endif

/* exporter.h - sends the spans of a tracer to a collector of OpenTelemetry, in batches, by a thread of its
 * own.
 *
 * The thread sends one batch at a time. If the collector cannot take a batch now, the batch is sent again,
 * for a minute at most. During this time, further spans wait in the tracer's queue. */
#ifndef DUEPOST_TRACING_EXPORTER_H
#define DUEPOST_TRACING_EXPORTER_H

#include "base/slice.h"
#include "tracing/tracer.h"

struct exporter;

enum { EXPORTER_HEADERS_MAX = 20 };

struct exporter_options {
    const char *url;             /* url with its path */
    const char *ca_file;         /* certificates trusted in addition to the system's, or NULL */
    struct slice resource;       /* see otlp_resource_write */
    const struct slice *headers; /* additional headers of each request, as lines "Name: value" */
    size_t header_count;
    int64_t one_in; /* see tracer_new */
};

/* Starts the thread, and creates its tracer. Copies the options. Signals must be blocked in the calling
 * thread. */
struct exporter *exporter_start(const struct exporter_options *);

/* Returns the tracer, or NULL without an exporter. */
struct tracer *exporter_tracer(struct exporter *);

/* Sends the waiting spans, for two seconds at most, ends the thread, and frees exporter and tracer. No other
 * thread may use the tracer any more. NULL is ignored. */
void exporter_stop(struct exporter *);

#endif

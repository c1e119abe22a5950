/* exporter.h - sends the spans of a tracer to a collector of OpenTelemetry, in batches, by a thread of its
 * own.
 *
 * The thread sends one batch at a time. If the collector cannot take a batch now, the batch is sent again,
 * for a minute at most. During this time, further spans wait in the tracer's queue. */
#ifndef DUEPOST_TRACING_EXPORTER_H
#define DUEPOST_TRACING_EXPORTER_H

#include "base/buffer.h"
#include "base/slice.h"
#include "base/status.h"
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

/* ---- spans in JSON ---- */

/* Spans in the JSON of OTLP, the protocol of OpenTelemetry's collectors:
 * https://opentelemetry.io/docs/specs/otlp/ (1.5). Attributes have the names of the semantic conventions of
 * HTTP (1.27); those of duepost begin with "duepost.". */

/* To write a request to the collector, call otlp_json_begin, then otlp_json_add for each span, then
 * otlp_json_end. resource is the text that otlp_resource_write has written. */
void otlp_json_begin(struct buffer *, struct slice resource);
void otlp_json_add(struct buffer *, const struct span *, bool is_first);
void otlp_json_end(struct buffer *);

enum { OTLP_RESOURCE_MAX = 16 * 1024 };

/* Writes the attributes of this process as items of a JSON array. given adds attributes or replaces their
 * values; its form is "service.name=shop,deployment.environment.name=test". Returns INVALID if given has
 * another form. */
enum status otlp_resource_write(struct buffer *, struct slice given, struct problem *) MUST_USE;

/* Returns the number of spans that the collector has rejected, as its answer says. */
size_t otlp_rejected(struct slice answer);

#endif

/* otlp_json.h - spans in the JSON of OTLP, the protocol of OpenTelemetry's collectors:
 * https://opentelemetry.io/docs/specs/otlp/ (1.5). Attributes have the names of the semantic conventions of
 * HTTP (1.27); those of duepost begin with "duepost.". */
#ifndef DUEPOST_TRACING_OTLP_JSON_H
#define DUEPOST_TRACING_OTLP_JSON_H

#include "base/buffer.h"
#include "base/status.h"
#include "tracing/span.h"

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

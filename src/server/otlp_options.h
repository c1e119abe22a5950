/* otlp_options.h - the options of the tracer: the collector's url, and the headers and attributes of requests
 * to it. */
#ifndef DUEPOST_SERVER_OTLP_OPTIONS_H
#define DUEPOST_SERVER_OTLP_OPTIONS_H

#include "base/buffer.h"
#include "base/status.h"
#include "tracing/exporter.h"

struct otlp_options {
    char *given_url, *headers_file, *attributes; /* values that the operator gave; NULL: none */
    int64_t one_in;
    char *url;                  /* complete url with its path; NULL: no spans are recorded */
    struct buffer headers_text; /* content of headers_file, which headers borrow */
    struct slice headers[EXPORTER_HEADERS_MAX];
    size_t header_count;
    struct buffer resource; /* see otlp_resource_write */
};

/* Check the given values, and complete them. Both return INVALID after an error; problem then says why. */
enum status otlp_options_settle_url(struct otlp_options *, struct problem *) MUST_USE;
enum status otlp_options_read_headers(struct otlp_options *, struct problem *) MUST_USE;
enum status otlp_options_make_resource(struct otlp_options *, struct problem *) MUST_USE;

void otlp_options_fini(struct otlp_options *);

#endif

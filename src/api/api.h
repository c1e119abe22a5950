/* api.h - duepost's own HTTP API: /jobs, /topics, /receivers, health and metrics. It is a dialect, a table of
 * routes (http/dialect.h).
 *
 * The handlers translate between JSON and the structs of app/. api/openapi.yaml is the contract. Errors are
 * application/problem+json (RFC 9457). */
#ifndef DUEPOST_API_API_H
#define DUEPOST_API_API_H

#include <stdatomic.h>

#include "http/dialect.h"

struct api;
struct app;
struct loop;

struct api_options {
    struct loop *loop;
    struct app *app;
    const atomic_size_t
        *awaited; /* number of reactors that have not been ready yet since the start; NULL: none */
};

extern const struct dialect api_dialect;

/* Borrows everything that options point to. */
struct api *api_new(const struct api_options *);

/* Call it after the server and the store are freed. NULL is ignored. */
void api_free(struct api *);

/* Makes /readyz answer 503, because the process is stopping. */
void api_drain(struct api *);

#endif

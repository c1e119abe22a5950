/* api.h - duepost's own HTTP API, as a dialect: /jobs, /topics, /receivers, health and metrics.
 *
 * The API translates between JSON and the structs of app/. api/openapi.yaml is the contract. Errors are
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
    const atomic_size_t *awaited; /* number of reactors that have not been ready yet; NULL: none */
};

extern const struct dialect api_dialect;

/* Borrows everything that options point to. */
struct api *api_new(const struct api_options *);

/* Call it after the server and the store are freed. NULL is ignored. */
void api_free(struct api *);

/* Makes /readyz report that the process stops. */
void api_drain(struct api *);

#endif

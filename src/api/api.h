/* api.h - duepost's own HTTP API, as a dialect: /jobs, /topics, /receivers, health and metrics.
 *
 * It translates between JSON and the structs of app/. api/openapi.yaml is the contract. Errors are
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
    const atomic_size_t *awaited; /* the reactors of this process that have not been ready yet; NULL: none */
};

extern const struct dialect api_dialect;

/* Borrows what options point to. */
struct api *api_new(const struct api_options *);

/* Call it after the server and the store are gone. NULL is fine. */
void api_free(struct api *);

/* From now on /readyz reports that the process stops. */
void api_drain(struct api *);

#endif

/* api.h - duepost's own HTTP API, as a dialect: /jobs, /topics, /receivers, health and metrics.
 *
 * api/openapi.yaml is the contract. Errors are application/problem+json (RFC 9457). */
#ifndef DUEPOST_API_API_H
#define DUEPOST_API_API_H

#include <stdatomic.h>

#include "base/metrics.h"
#include "http/dialect.h"
#include "io/http_limits.h"
#include "job/retry_schedule.h"
#include "job/target.h"
#include "store/store.h"

struct api;
struct tally_board;

struct api_options {
    struct loop *loop;
    struct store *store;
    const struct target_policy *targets;
    const struct retry_schedule *schedule; /* of jobs and topics without one */
    bool is_breaker_on;                    /* of topics without the setting */
    int64_t max_jobs;                      /* for messages only; the store counts */
    const atomic_size_t *awaited; /* the reactors of this process that have not been ready yet; NULL: none */
    struct http_limits *limits;   /* for metrics only; the servers apply them */
    struct metrics_board *board;
    struct tally_board *tally; /* of all reactors */
    struct metrics *metrics;   /* this reactor's, of the board */
};

extern const struct dialect api_dialect;

/* Borrows what options point to. */
struct api *api_new(const struct api_options *);

/* Takes new targets, schedule, is_breaker_on and max_jobs, borrowed like those before. */
void api_reload(struct api *, const struct api_options *);

/* Call it after the server and the store are gone. NULL is fine. */
void api_free(struct api *);

/* From now on /readyz reports that the process stops. */
void api_drain(struct api *);

#endif

/* api.h - the HTTP API of one reactor: routes, handlers, problem+json.
 *
 * api/openapi.yaml is the contract. Checks run in this order: 404 (path), 405, 503 (no room),
 * 401, 429, 403, 415, 413, 400, and then what Redis says. */
#ifndef DUEPOST_API_API_H
#define DUEPOST_API_API_H

#include <stdatomic.h>

#include "base/metrics.h"
#include "io/http_limits.h"
#include "io/http_server.h"
#include "job/retry_schedule.h"
#include "job/target.h"
#include "job/token_table.h"
#include "store/store.h"

struct api;
struct tally_board;

struct api_options {
    struct loop *loop;
    struct store *store;
    const struct target_policy *targets;
    const struct retry_schedule *schedule; /* for jobs that bring none */
    bool is_breaker_on;                    /* for topics that don't say */
    size_t max_body_bytes;
    int64_t max_jobs;           /* for words only; the store counts */
    struct token_table *tokens; /* NULL: everybody may do everything */
    struct slice listen_host;   /* where we listen, as it was set; copied */
    struct slice hosts;         /* further names of this host, with commas between them; see origin.h */
    const atomic_size_t *awaited; /* of this process's reactors those that never were ready; NULL: none */
    struct http_limits *limits; /* for numbers only; the servers keep them */
    struct metrics_board *board;
    struct tally_board *tally; /* of all reactors */
    struct metrics *metrics; /* this reactor's, of the board */
};

/* Borrows what options point to. */
struct api *api_new(const struct api_options *);

/* New values for what may change: targets, schedule, is_breaker_on, max_jobs, tokens and hosts; borrowed like
 * those before, which are let go of. */
void api_reload(struct api *, const struct api_options *);

/* After the server and the store are gone. NULL is fine. */
void api_free(struct api *);

/* Fills in the callbacks of the server that speaks for this API. */
void api_attach(struct api *, struct http_server_options *);

/* The same for a server that answers nothing but /healthz, /readyz and /metrics. */
void api_attach_probes(struct api *, struct http_server_options *);

/* From now on /readyz says that it is not: no new connections are taken. */
void api_drain(struct api *);

#endif

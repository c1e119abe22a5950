/* handlers.h - the functions behind the routes. Each answers its exchange exactly once. */
#ifndef DUEPOST_API_HANDLERS_H
#define DUEPOST_API_HANDLERS_H

#include "api/api.h"
#include "http/exchange.h"

struct job_batches;
struct tally;

/* What the handlers of one reactor share. */
struct api {
    struct api_options options;
    bool is_draining;
    struct job_batches *batches;
    struct tally *tally; /* requests that wait for numbers of Redis */
};

static inline struct api *api_of(const struct exchange *exchange)
{
    return exchange->self;
}

exchange_fn schedule_handle;     /* POST /jobs */
exchange_fn list_handle;         /* GET /jobs */
exchange_fn count_handle;        /* GET /jobs/count */
exchange_fn cancel_many_handle;  /* DELETE /jobs */
exchange_fn redrive_handle;      /* POST /jobs/redrive */
exchange_fn read_handle;         /* GET /jobs/<topic>/<jobId> */
exchange_fn patch_handle;        /* PATCH ... */
exchange_fn replace_handle;      /* PUT ... */
exchange_fn cancel_handle;       /* DELETE /jobs/<topic>/<jobId> */
exchange_fn run_handle;          /* POST /jobs/<topic>/<jobId>/run */
exchange_fn why_handle;          /* GET /jobs/<topic>/<jobId>/why */
exchange_fn attempts_handle;     /* GET /jobs/<topic>/<jobId>/attempts */
exchange_fn topics_handle;       /* GET /topics */
exchange_fn topic_read_handle;   /* GET /topics/<topic> */
exchange_fn topic_put_handle;    /* PUT ... */
exchange_fn topic_patch_handle;  /* PATCH ... */
exchange_fn topic_delete_handle; /* DELETE ... */
exchange_fn receivers_handle;    /* GET /receivers */
exchange_fn receiver_close_handle; /* POST /receivers/<host:port>/close */
exchange_fn health_handle;       /* GET /healthz */
exchange_fn ready_handle;        /* GET /readyz */
exchange_fn metrics_handle;      /* GET /metrics */

#endif

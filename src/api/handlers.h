/* handlers.h - what the routes lead to. Each answers its exchange exactly once. */
#ifndef DUEPOST_API_HANDLERS_H
#define DUEPOST_API_HANDLERS_H

#include "api/exchange.h"

exchange_fn schedule_handle; /* POST /jobs */
exchange_fn list_handle;     /* GET /jobs */
exchange_fn read_handle;     /* GET /jobs/<topic>/<jobId> */
exchange_fn cancel_handle;   /* DELETE /jobs/<topic>/<jobId> */
exchange_fn run_handle;      /* POST /jobs/<topic>/<jobId>/run */
exchange_fn health_handle;   /* GET /healthz */
exchange_fn ready_handle;    /* GET /readyz */
exchange_fn metrics_handle;  /* GET /metrics */

#endif

/* handler.h - the data and macros that all handlers of duepost's own API use. */
#ifndef DUEPOST_API_HANDLER_H
#define DUEPOST_API_HANDLER_H

#include <stdatomic.h>

#include "app/app.h"
#include "http/exchange.h"

struct job_batches;

/* The data of the API in one reactor (a thread with its event loop). */
struct api {
    struct app *app;
    const atomic_size_t *awaited; /* see api_options */
    bool is_draining;
    struct job_batches *batches;
};

static inline struct api *api_of(const struct exchange *exchange)
{
    return exchange->self;
}

static inline struct app *app_of(const struct exchange *exchange)
{
    return api_of(exchange)->app;
}

/* Defines a handler. routes.c declares all of them. */
#define HANDLER(name)                                                                                        \
    exchange_fn name;                                                                                        \
    void name(struct exchange *exchange)

#endif

/* handler.h - the data and macros that all handlers of the QStash API use. */
#ifndef DUEPOST_QSTASH_HANDLER_H
#define DUEPOST_QSTASH_HANDLER_H

#include "app/app.h"
#include "http/exchange.h"

/* The data of the QStash API in one reactor (a thread with its event loop). */
struct qstash {
    struct app *app;
    bool is_development; /* see keys.h */
    /* Last time (CLOCK_BOOTTIME) at which this reactor saw that the keys exist, see keys.h; 0: never. */
    int64_t keys_seen_us;
    size_t continuing; /* number of bulk actions that continue after their answer, see bulk.h */
};

static inline struct app *app_of(const struct exchange *exchange)
{
    return ((struct qstash *)exchange->self)->app;
}

static inline struct qstash *qstash_of(const struct exchange *exchange)
{
    return exchange->self;
}

/* Defines a handler. qstash.c declares all of them. */
#define HANDLER(name)                                                                                        \
    exchange_fn name;                                                                                        \
    void name(struct exchange *exchange)

#endif

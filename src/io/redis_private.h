/* redis_private.h - inside a link to Redis: what redis.c (its connections) and redis_commands.c (what is said
 * over them) share. */
#ifndef DUEPOST_IO_REDIS_PRIVATE_H
#define DUEPOST_IO_REDIS_PRIVATE_H

#include <hiredis/async.h>

#include "base/list.h"
#include "io/redis.h"
#include "io/resolver.h"

/* A command between redis_send and its callback. */
struct pending {
    struct list link; /* in sent, in the order of the replies; or in unsent */
    redis_reply_fn *fn;
    void *arg;
    int64_t sent_us; /* clock_boot_us */
};

/* hiredis calls it for each message of its channel. */
struct subscription {
    struct list link;
    redis_message_fn *fn;
    void *arg;
};

struct redis_link {
    struct loop *loop;
    const struct redis_address *address;
    struct redis_link_events events;
    int64_t deadline_us;
    int64_t heard_us;           /* CLOCK_BOOTTIME when anything of an answer came last */
    int64_t reconnect_us;       /* the next wait */
    int64_t up_us;              /* since when it is up, clock_boot_us */
    redisAsyncContext *context; /* NULL between connections */
    struct watch *watch;
    bool wants_read, wants_write;
    bool is_dirty; /* commands wait in hiredis's buffer for the end of the turn */
    bool is_up;
    bool is_closing; /* redis_link_free is running */
    char why[160];
    struct list sent;
    struct list unsent; /* get their NULL at the next turn */
    struct list subscriptions;
    struct resolver *resolver;
    uint16_t port;     /* that is connected to */
    unsigned failures; /* to connect: the next one tries the next address of a name */
    struct timer *reconnect;
    struct timer *deadline; /* of the oldest command in sent, and of connecting */
    struct timer *fail_unsent;
    struct hook *send;
};

/* Whether or not the link is up yet: with what the connection begins. */
void redis_link_send(struct redis_link *, size_t argc, const struct slice *argv, redis_reply_fn *fn,
                     void *arg);

/* Gives all of unsent their NULL. arg is the link. */
void redis_link_fail_unsent(void *arg);

/* With their connection. */
void redis_link_drop_subscriptions(struct redis_link *);

#endif

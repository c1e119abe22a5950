/* redis_private.h - inside a link to Redis: shared by redis.c (connections) and redis_commands.c (commands
 * and replies). */
#ifndef DUEPOST_IO_REDIS_PRIVATE_H
#define DUEPOST_IO_REDIS_PRIVATE_H

#include <hiredis/async.h>

#include "base/list.h"
#include "io/redis.h"
#include "io/resolver.h"

/* A command between redis_send and its callback. */
struct pending {
    struct list link; /* in sent, in the order of the replies, or in unsent */
    redis_reply_fn *fn;
    void *arg;
    int64_t sent_us; /* clock_boot_us */
};

/* A channel and the function that gets its messages. */
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
    int64_t heard_us;           /* when data of a reply last arrived, CLOCK_BOOTTIME */
    int64_t reconnect_us;       /* the next wait */
    int64_t up_us;              /* when the link came up, clock_boot_us */
    redisAsyncContext *context; /* NULL between connections */
    struct watch *watch;
    bool wants_read, wants_write;
    bool is_dirty; /* commands in hiredis's buffer wait for the end of the turn */
    bool is_up;
    bool is_closing; /* redis_link_free is running */
    char why[160];
    struct list sent;
    struct list unsent; /* commands that get NULL at the next turn */
    struct list subscriptions;
    struct resolver *resolver;
    uint16_t port;     /* port of the current connection */
    unsigned failures; /* attempts to connect; selects the next address of a name */
    struct timer *reconnect;
    struct timer *deadline; /* for the oldest command in sent, and for connecting */
    struct timer *fail_unsent;
    struct hook *send;
};

/* Sends a command even before the link is up. The first commands of a connection need this. */
void redis_link_send(struct redis_link *, size_t argc, const struct slice *argv, redis_reply_fn *fn,
                     void *arg);

/* Calls the callbacks of all unsent commands with NULL. arg is the link. */
void redis_link_fail_unsent(void *arg);

/* Frees the subscriptions when their connection ends. */
void redis_link_drop_subscriptions(struct redis_link *);

#endif

/* redis_private.h - inside a link to Redis: shared by redis.c (connections) and redis_commands.c (commands
 * and replies). redis_stream.h reads and writes the bytes; redis_tls.h encrypts them. */
#ifndef DUEPOST_IO_REDIS_PRIVATE_H
#define DUEPOST_IO_REDIS_PRIVATE_H

#include <hiredis/hiredis.h>

#include "base/buffer.h"
#include "base/list.h"
#include "io/redis.h"
#include "io/redis_stream.h"
#include "io/resolver.h"

#define REDIS_OUT_MAX ((size_t)1 << 30) /* maximum size in bytes of the commands that wait to be written */

/* A command between redis_send and its callback. */
struct pending {
    struct list link; /* link in the list sent, which is in the order of the replies, or in the list unsent */
    redis_reply_fn *fn;
    void *arg;
    int64_t sent_us; /* time at which the command was sent, by clock_boot_us */
};

/* A channel and the function that gets its messages. */
struct subscription {
    struct list link;
    char *channel;
    redis_message_fn *fn;
    void *arg;
};

struct redis_link {
    struct loop *loop;
    const struct redis_address *address;
    struct redis_link_events events;
    int64_t deadline_us;
    int64_t heard_us;            /* time at which reply data last arrived, CLOCK_BOOTTIME */
    int64_t reconnect_us;        /* wait before the next attempt to connect */
    int64_t up_us;               /* time at which the link came up, by clock_boot_us */
    struct redis_stream *stream; /* NULL between connections */
    struct watch *watch;         /* watch on the socket of the stream */
    redisReader *reader;         /* cuts the stream's bytes into replies */
    struct buffer out;           /* commands that wait for the end of the turn, or for the socket */
    size_t out_sent;             /* bytes of out that were written */
    bool is_open;                /* the stream is open: commands can be written */
    bool is_blocked;             /* the socket does not accept more bytes now */
    bool is_up;
    bool is_in_callback; /* the callback of a reply is being called */
    bool is_dropped;     /* the connection ends after the callback of the reply, or is about to end */
    bool is_closing;     /* redis_link_free is running */
    char why[sizeof(struct problem)];
    struct list sent;
    struct list unsent; /* commands that were sent while the link was down; their callbacks get NULL at the
                           end of the turn */
    struct list subscriptions;
    struct resolver *resolver;
    char host[REDIS_HOST_MAX]; /* host of the current connection; TLS checks this name */
    uint16_t port;
    unsigned failures; /* number of attempts to connect; selects the next address of the name */
    struct timer *reconnect;
    struct timer *deadline; /* deadline of the oldest command in sent, and of connecting */
    struct timer *idle;     /* sends PING on an idle connection */
    struct timer *fail_unsent;
    struct hook *send;
};

/* Sends a command even before the link is up, such as AUTH. */
void redis_link_send(struct redis_link *, size_t argc, const struct slice *argv, redis_reply_fn *fn,
                     void *arg);

/* Calls the callback that waits for this reply. Returns false if Redis sent it without a command. */
bool redis_link_take_reply(struct redis_link *, const struct redis_reply *);

/* Calls the callbacks of all unsent commands with NULL. arg is the link. */
void redis_link_fail_unsent(void *arg);

/* Calls the callbacks of all sent commands with NULL. */
void redis_link_fail_sent(struct redis_link *);

/* Frees the subscriptions when their connection ends. */
void redis_link_drop_subscriptions(struct redis_link *);

#endif

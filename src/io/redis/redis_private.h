/* redis_private.h - inside a link to Redis: shared by redis.c (connections) and commands.c (commands
 * and replies). stream.c reads and writes the bytes; tls.c encrypts them. */
#ifndef DUEPOST_IO_REDIS_REDIS_PRIVATE_H
#define DUEPOST_IO_REDIS_REDIS_PRIVATE_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/status.h"
#include "io/loop.h"
#include "io/redis/redis.h"
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

/* The memory of one reply (replies.c). A zeroed struct is empty. */
struct reply_block;
struct reply_memory {
    struct reply_block *blocks;
};
void reply_memory_free(struct reply_memory *);

/* Returns a reader whose replies are in this memory. After each reply, and after redisReaderFree, free the
 * memory. */
redisReader *reply_reader_new(struct reply_memory *);

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
    struct reply_memory memory;  /* memory of the reply that is being read, or whose callback is called */
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

/* ---- one connection as a stream of bytes (stream.c) ----
 *
 * No call blocks. The owner watches the descriptor for reading, and for writing if the stream wants it, and
 * calls the stream when the descriptor is ready. After a loss the stream can only be closed. */

struct redis_tls;
struct redis_stream;

/* Begins to connect. address is an IP address. tls is NULL without TLS; host is then not needed. If the call
 * fails, returns NULL, and problem says why. */
struct redis_stream *redis_stream_tcp(const char *address, uint16_t port, struct redis_tls *tls,
                                      const char *host, struct problem *);
struct redis_stream *redis_stream_unix(const char *path, struct problem *);
void redis_stream_close(struct redis_stream *); /* NULL is ignored */

int redis_stream_fd(const struct redis_stream *);

/* Returns whether the next step needs a writable descriptor. All steps may need a readable descriptor, except
 * while the socket connects. */
bool redis_stream_wants_write(const struct redis_stream *);

/* Returns whether the socket is connected and TLS is not ready yet. */
bool redis_stream_is_in_handshake(const struct redis_stream *);

enum redis_stream_state {
    REDIS_STREAM_OPENING, /* call redis_stream_open again when the descriptor is ready */
    REDIS_STREAM_OPEN,
    REDIS_STREAM_LOST,
};

/* Continues to connect and to do the TLS handshake. When LOST, problem says why. */
enum redis_stream_state redis_stream_open(struct redis_stream *, struct problem *);

/* Set *count to the number of bytes read or written; it is 0 if the descriptor is not ready. Returns false
 * when the connection is lost; problem then says why. */
bool redis_stream_read(struct redis_stream *, char *data, size_t size, size_t *count, struct problem *);
bool redis_stream_write(struct redis_stream *, const char *data, size_t size, size_t *count,
                        struct problem *);

/* ---- TLS of one connection (tls.c) ---- */

struct redis_tls_session;

/* Begins TLS on a connected socket. host is the host of Redis's address: a name or an IP address. Returns
 * NULL if there is no memory, or host cannot be a name in a certificate. */
struct redis_tls_session *redis_tls_begin(struct redis_tls *, int fd, const char *host);
void redis_tls_end(struct redis_tls_session *); /* does not close fd; NULL is ignored */

enum redis_tls_result {
    REDIS_TLS_DONE,
    REDIS_TLS_WANTS_READ,  /* the call must be repeated when fd can be read */
    REDIS_TLS_WANTS_WRITE, /* the call must be repeated when fd can be written */
    REDIS_TLS_CLOSED,      /* Redis has closed the connection */
    REDIS_TLS_FAILED,
};

enum redis_tls_result redis_tls_handshake(struct redis_tls_session *, struct problem *);
enum redis_tls_result redis_tls_read(struct redis_tls_session *, char *data, size_t size, size_t *count,
                                     struct problem *);

/* Writes data. When a call is repeated, data may be at another address in memory. */
enum redis_tls_result redis_tls_write(struct redis_tls_session *, const char *data, size_t size,
                                      size_t *count, struct problem *);

/* ---- queries of Sentinels and Clusters (query_timer.c) ----
 *
 * The times at which a node of a Cluster, or a Sentinel, is queried.
 *
 * A node is queried every second. After a sign that its last answer is old, it is queried more often for some
 * seconds. */

struct query_timer;

/* Creates a timer that does not run. The timer calls query when a query is due; query sends it, and then
 * calls query_timer_sent. Borrows arg. */
struct query_timer *query_timer_new(struct loop *, loop_fn *query, void *arg);
void query_timer_free(struct query_timer *); /* NULL is ignored */

/* Notes that a query was sent, and starts the timer for the next one. */
void query_timer_sent(struct query_timer *);

/* Stops the timer, until the next query_timer_sent. */
void query_timer_stop(struct query_timer *);
bool query_timer_is_running(const struct query_timer *);

/* Makes the queries of the next seconds more frequent. If the timer is running, the next query is due now, or
 * a short time after the last one. */
void query_timer_hurry(struct query_timer *);

#endif

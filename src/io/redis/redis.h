/* redis.h - one connection to one Redis, which is restored after a loss; the only user of hiredis.
 *
 * Only the parser of hiredis is used: hiredis 0.14 (Debian 12) has no TLS, so sockets and TLS are in
 * stream.c.
 *
 * A link connects, authenticates and selects its database. After a loss it connects again with growing waits
 * (50 ms to 1 s). After a connection that lasted a second, the waits begin at 50 ms again. Commands are sent
 * together at the end of the loop's turn. No call blocks. Each redis_send leads to exactly one callback,
 * which never comes inside the call. The callback gets the reply, or NULL when the link was down or was lost
 * before the reply. Replies come in the order of the commands. When a reply takes longer than the deadline,
 * the connection is dropped. An idle connection gets a PING every 5 s, so that neither Redis nor a proxy
 * closes it. */
#ifndef DUEPOST_IO_REDIS_REDIS_H
#define DUEPOST_IO_REDIS_REDIS_H

#include "base/secret.h"
#include "base/slice.h"
#include "base/status.h"
#include "base/system.h"
#include "io/loop.h"

struct redis_link;
struct redis_reply;
struct redis_tls;

enum { REDIS_HOST_MAX = 256, REDIS_SEEDS_MAX = 16 };

struct redis_node {
    char host[REDIS_HOST_MAX];
    uint16_t port;
};

static inline bool redis_node_equal(const struct redis_node *a, const struct redis_node *b)
{
    return a->port == b->port && strcmp(a->host, b->host) == 0;
}

/* The address of Redis. Owns its strings; redis_address_fini frees them. */
struct redis_address {
    char *host; /* NULL: unix socket, or seeds */
    uint16_t port;
    char *path;               /* path of the unix socket */
    struct redis_node *seeds; /* nodes that can name the primary (Sentinels, or nodes of a Cluster); owned */
    size_t seed_count;
    bool is_cluster;                  /* seeds are nodes of a Cluster; otherwise Sentinels */
    char *service;                    /* the service's name in the Sentinels */
    char *user;                       /* NULL: the default user */
    struct secret *password;          /* NULL or empty: no AUTH */
    char *sentinel_user;              /* user at the Sentinels; NULL: the default user */
    struct secret *sentinel_password; /* password at the Sentinels; NULL or empty: no AUTH */
    uint32_t database;
    bool has_tls;          /* connections need tls */
    struct redis_tls *tls; /* borrowed; NULL: connections are not encrypted */
};

/* Parses redis://[user[:password]@]host[:port][/db], unix:PATH,
 * sentinel://[user[:password]@]host[:port],.../service or cluster://[user[:password]@]host[:port],...; with
 * TLS: rediss://, sentinels://, clusters://. problem never shows the password. Does not set tls and the
 * members for the Sentinels. */
enum status redis_address_parse(struct slice text, struct redis_address *, struct problem *) MUST_USE;
void redis_address_fini(struct redis_address *);

/* ---- TLS ----
 *
 * TLS of connections to Redis; the only user of OpenSSL's libssl.
 *
 * A struct redis_tls has what all connections share: trusted CAs, our certificate with its key, and the name
 * that Redis must prove. The struct can be replaced while connections use it; new connections use the new
 * data. Redis's certificate is always checked: its chain, its dates, and its name. */

struct redis_tls_options {
    const char *ca;                /* PEM file; NULL: the system's CAs */
    const char *certificate, *key; /* PEM files; NULL: Redis does not ask for a certificate */
    const char *name;              /* name in Redis's certificate; NULL: the host of the address */
};

/* Reads the files. If INVALID, problem says which file cannot be used and why. */
enum status redis_tls_load(const struct redis_tls_options *, struct redis_tls **, struct problem *) MUST_USE;
void redis_tls_free(struct redis_tls *); /* NULL is ignored; connections that use it may exist longer */

/* Replaces the data of tls by the data of fresh, and frees fresh. Any thread may call this. */
void redis_tls_replace(struct redis_tls *tls, struct redis_tls *fresh);

/* ---- links ---- */

struct redis_link_events {
    void (*on_up)(void *arg); /* connected and authenticated; commands are sent */
    void (*on_down)(void *arg,
                    const char *why); /* called after all pending callbacks were called with NULL */
    void *arg;
    /* Finds the current primary. Called before each connection, which then uses the primary's host and port
     * instead of those of the address. If the Redis there is not a primary, the connection is closed again.
     * Returns false and sets why if the primary is not known yet. May be NULL. */
    bool (*find)(void *find_arg, struct redis_node *, struct problem *why);
    void *find_arg;
    /* Called when the link connects to a node, whose host is an IP address. May be NULL. */
    void (*on_peer)(void *arg, const struct redis_node *);
    /* Called for a reply that is an error, before the command's callback, because the error may concern more
     * than the command. May be NULL. */
    void (*on_error)(void *arg, struct slice error);
};

/* Starts connecting. Borrows address until redis_link_free. deadline_us is the longest wait for a reply, or
 * for the next part of a reply. */
struct redis_link *redis_link_new(struct loop *, const struct redis_address *, int64_t deadline_us,
                                  struct redis_link_events);

/* Frees the link. Calls the pending callbacks with NULL, but does not call on_down. A link of NULL is
 * ignored. */
void redis_link_free(struct redis_link *);

bool redis_link_is_up(const struct redis_link *);

/* Returns why the link is down, or was last down; "" before the first loss. Valid until the next turn of the
 * loop. */
const char *redis_link_why(const struct redis_link *);

/* Drops the connection with the reason why, and connects again. */
void redis_link_reset(struct redis_link *, const char *why);

/* Drops the connection with the reason why, and connects again without a wait. Call it when the result of
 * find has changed to another node. */
void redis_link_move(struct redis_link *, const char *why);

typedef void redis_reply_fn(void *arg, const struct redis_reply *reply);

/* Sends a command. Copies argv. While the link is down, the callback gets NULL at the end of the turn. */
void redis_send(struct redis_link *, size_t argc, const struct slice *argv, redis_reply_fn *, void *arg);

/* Subscribes to a channel. fn is called for each message until the link is lost; the caller must then
 * subscribe again in on_up. text is the published text; it is empty when the subscription begins. If Redis
 * refuses the subscription, the link is dropped with Redis's error as the reason. */
typedef void redis_message_fn(void *arg, struct slice channel, struct slice text);
void redis_subscribe(struct redis_link *, struct slice channel, redis_message_fn *, void *arg);

enum redis_kind { REDIS_KIND_NIL, REDIS_KIND_INTEGER, REDIS_KIND_TEXT, REDIS_KIND_ARRAY, REDIS_KIND_ERROR };

/* Numbers from Redis are limited to this value, which no time (ms or us) and no count reaches. Such numbers
 * can be subtracted, and converted from ms to us, without overflow checks. */
#define REDIS_INTEGER_MAX (INT64_C(1) << 52)

/* These functions read a reply that a callback got. If the reply is of another kind than the function
 * expects, the result is 0, an empty slice or NULL. */
enum redis_kind redis_reply_kind(const struct redis_reply *);
int64_t redis_reply_integer(const struct redis_reply *);   /* also accepts a text that is a decimal number */
struct slice redis_reply_text(const struct redis_reply *); /* also accepts an error */
size_t redis_reply_size(const struct redis_reply *);       /* the number of elements of an array */
const struct redis_reply *redis_reply_at(const struct redis_reply *, size_t index);

/* Returns a copy of a reply, which stays valid after the callback. The caller frees it with
 * redis_reply_free. */
struct redis_reply *redis_reply_copy(const struct redis_reply *);
void redis_reply_free(struct redis_reply *); /* NULL is ignored */

/* Names the library and the version that the program was built with; hiredis does not report the version of
 * the loaded library. */
void redis_library(struct library *);

#endif

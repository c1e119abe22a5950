/* redis.h - one connection to one Redis, kept up; the only user of hiredis.
 *
 * A link connects, authenticates and selects its database by itself, and again
 * after a loss with growing waits (50 ms to 1 s), which start over after a
 * connection that lasted a second. Commands are written together
 * at the end of the loop's turn. No call blocks. Each redis_send brings exactly
 * one callback, and never inside the call: a reply, or none (NULL) when the
 * link was down or was lost before the reply came. Replies come in the order of
 * the commands. A reply that takes longer than the deadline loses the link. */
#ifndef DUEPOST_IO_REDIS_H
#define DUEPOST_IO_REDIS_H

#include "base/slice.h"
#include "base/status.h"
#include "io/loop.h"

struct redis_link;
struct redis_reply;

enum { REDIS_HOST_MAX = 256, REDIS_SEEDS_MAX = 16 };

struct redis_node {
    char host[REDIS_HOST_MAX];
    uint16_t port;
};

static inline bool redis_node_equal(const struct redis_node *a, const struct redis_node *b)
{
    return a->port == b->port && strcmp(a->host, b->host) == 0;
}

/* Where Redis is. Strings are owned; redis_address_fini frees them. */
struct redis_address {
    char *host; /* NULL: unix socket, or seeds */
    uint16_t port;
    char *path;                /* of the unix socket */
    struct redis_node *seeds; /* who know where the primary is; owned */
    size_t seed_count;
    bool is_cluster; /* they are nodes of a Cluster; else Sentinels */
    char *service;   /* the name by which Sentinels know it */
    char *user;      /* NULL: the default user */
    char *password;  /* NULL: no AUTH */
    uint32_t database;
};

/* redis://[user[:password]@]host[:port][/db], unix:PATH, sentinel://[user[:password]@]host[:port],.../service
 * or cluster://[user[:password]@]host[:port],... problem never quotes the password. */
enum status redis_address_parse(struct slice text, struct redis_address *, struct problem *) MUST_USE;
void redis_address_fini(struct redis_address *);

struct redis_link_events {
    void (*on_up)(void *arg);                    /* connected and authenticated; commands flow */
    void (*on_down)(void *arg, const char *why); /* after every pending callback got its NULL */
    void *arg;
    /* May be NULL. Asked before each connection: where the primary is now, instead of the address's host;
     * a Redis that is none is left again. False: not known yet. */
    bool (*find)(void *find_arg, struct redis_node *);
    void *find_arg;
    /* May be NULL. It connects there now; the host is an address. */
    void (*on_peer)(void *arg, const struct redis_node *);
    /* May be NULL. An error came as a reply, before its callback: what it says may concern more than that. */
    void (*on_error)(void *arg, struct slice error);
};

/* Starts connecting. Borrows address until redis_link_free. deadline_us: the longest wait for a reply, or
 * for the next part of one. */
struct redis_link *redis_link_new(struct loop *, const struct redis_address *, int64_t deadline_us,
                                  struct redis_link_events);

/* Pending callbacks get their NULL now; on_down is not called. NULL is fine. */
void redis_link_free(struct redis_link *);

bool redis_link_is_up(const struct redis_link *);

/* Why it is down or was last; "" before the first loss. Borrowed. */
const char *redis_link_why(const struct redis_link *);

/* Drops the connection and begins anew, with why as the reason. */
void redis_link_reset(struct redis_link *, const char *why);

/* find has a new answer: the same, without a wait. */
void redis_link_move(struct redis_link *, const char *why);

typedef void redis_reply_fn(void *arg, const struct redis_reply *reply);

/* Copies argv. While the link is down the callback comes with NULL at the end of the turn. */
void redis_send(struct redis_link *, size_t argc, const struct slice *argv, redis_reply_fn *, void *arg);

/* Further messages to a subscriber: fn is called for each until the link is lost, and then no more
 * (the caller subscribes anew in on_up). Text is what was published; it is empty
 * when the subscription begins. If Redis refuses that, the link is lost with Redis's words as the reason. */
typedef void redis_message_fn(void *arg, struct slice channel, struct slice text);
void redis_subscribe(struct redis_link *, struct slice channel, redis_message_fn *, void *arg);

enum redis_kind { REDIS_KIND_NIL, REDIS_KIND_INTEGER, REDIS_KIND_TEXT, REDIS_KIND_ARRAY, REDIS_KIND_ERROR };

/* Numbers from Redis are brought within this, which no time (ms or us) and no count reaches: so they may be
 * subtracted, and turned from ms into us, without a look at each. */
#define REDIS_INTEGER_MAX (INT64_C(1) << 52)

/* Readers of a borrowed reply. A reader of the wrong kind gives 0, an empty slice or NULL. */
enum redis_kind redis_reply_kind(const struct redis_reply *);
int64_t redis_reply_integer(const struct redis_reply *);   /* of a text, too, when it is a decimal number */
struct slice redis_reply_text(const struct redis_reply *); /* of an error, too */
size_t redis_reply_size(const struct redis_reply *);       /* elements of an array */
const struct redis_reply *redis_reply_at(const struct redis_reply *, size_t index);

/* Takes what a reply holds out of the callback that it was borrowed in, where it reads as nil afterwards.
 * Gives: redis_reply_free. */
struct redis_reply *redis_reply_take(const struct redis_reply *);
void redis_reply_free(struct redis_reply *); /* NULL is fine */

#endif

/* reactor.h - one thread with everything it needs to serve and to deliver: loop, connections to Redis, HTTP
 * server and client, API, consumer, and carry workers for its part of the shards.
 *
 * Reactors share immutable configuration and nothing else; Redis is where they meet. */
#ifndef DUEPOST_SERVER_REACTOR_H
#define DUEPOST_SERVER_REACTOR_H

#include <stdatomic.h>

#include "base/metrics.h"
#include "server/options.h"
#include "store/store.h"

struct reactor;

struct reactor_options {
    const struct options *options;     /* borrowed, immutable; replaced by reactor_reload */
    const struct store_options *store; /* borrowed */
    int listen_fd;                     /* taken */
    int health_fd;                     /* taken; -1 without --health-listen */
    struct http_limits *limits;        /* borrowed, of all reactors */
    struct metrics_board *board;       /* borrowed */
    struct tally_board *tally;         /* borrowed */
    size_t index;                      /* of this reactor's metrics on the board */
    size_t count;                      /* of all reactors, which share max_in_flight and carrying */
    bool is_alone;                     /* see carry_worker.h */
    atomic_size_t *awaited;            /* borrowed: of all reactors those that never were ready */
    /* Called in the reactor's thread, once each: when it can promise what it confirms for the first time,
     * and when a drain has come to its end. */
    loop_fn *on_ready;
    loop_fn *on_drained;
    void *arg;
};

/* Starts the thread. */
struct reactor *reactor_start(const struct reactor_options *);

/* Takes over from options what may change while reactors run, and lets go of those before; on_reloaded comes
 * then, in the reactor's thread. options is borrowed like those at the start. From any thread. */
void reactor_reload(struct reactor *, const struct options *, loop_fn *on_reloaded, void *arg);

/* No new connections and no claims; what runs ends. goes_on_accepting: connections come until no attempt runs
 * any more. From any thread. */
void reactor_drain(struct reactor *, bool goes_on_accepting);

/* Cuts the attempts that still run and gives their leases back. From any thread, after reactor_drain. */
void reactor_cut(struct reactor *);

/* Ends the thread and frees everything. Not from the reactor's own thread. */
void reactor_stop(struct reactor *);

#endif

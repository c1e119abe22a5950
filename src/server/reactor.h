/* reactor.h - a thread that serves clients and delivers jobs. A reactor owns a loop, connections to Redis, an
 * HTTP server and client, the API, a consumer (which claims due jobs), and the carry workers (which find due
 * topics) of its part of the shards.
 *
 * Reactors share immutable configuration and nothing else. Reactors communicate only through Redis. */
#ifndef DUEPOST_SERVER_REACTOR_H
#define DUEPOST_SERVER_REACTOR_H

#include <stdatomic.h>

#include "base/metrics.h"
#include "server/options/options.h"
#include "store/store.h"

struct reactor;

struct reactor_options {
    const struct options *options;     /* borrowed, immutable; replaced by reactor_reload */
    const struct store_options *store; /* borrowed */
    int listen_fd;                     /* listening socket; taken */
    int health_fd;        /* listening socket for health probes; taken; -1 without --health-listen */
    bool waits_to_listen; /* does not listen until reactor_open, because another process serves the port */
    struct http_limits *limits;      /* borrowed; shared by all reactors */
    struct metrics_board *board;     /* borrowed */
    struct tally_board *tally;       /* borrowed */
    struct live_board *live;         /* borrowed */
    struct lease_board *lease_board; /* borrowed */
    struct history_thread *history;  /* borrowed; NULL: no history */
    struct tracer *tracer;           /* borrowed; NULL: no spans are recorded */
    size_t index;                    /* index of this reactor's metrics on the board */
    size_t count;                    /* number of reactors, which share max_in_flight and the shards */
    bool is_alone;                   /* see carry_worker.h */
    atomic_size_t *awaited; /* borrowed: number of reactors of this process that have not been ready yet */
    /* Each callback is called once, in the reactor's thread. on_ready: Redis provides the durability class
     * for the first time. on_opened: the reactor listens after reactor_open. on_drained: a drain has
     * ended. */
    loop_fn *on_ready;
    loop_fn *on_opened;
    loop_fn *on_drained;
    void *arg;
};

/* Starts the thread. */
struct reactor *reactor_start(const struct reactor_options *);

/* Lets a reactor that was started with waits_to_listen begin to listen. Any thread may call it. */
void reactor_open(struct reactor *);

/* Applies the options that may change while reactors run. Calls on_reloaded in the reactor's thread when the
 * reactor no longer uses the previous options. Borrows the new options. Any thread may call it. */
void reactor_reload(struct reactor *, const struct options *, loop_fn *on_reloaded, void *arg);

/* Stops accepting connections and claiming jobs. Running attempts continue to their end. If goes_on_accepting
 * is true, connections are still accepted until no attempt runs. Any thread may call it. */
void reactor_drain(struct reactor *, bool goes_on_accepting);

/* Aborts the attempts that still run and releases their leases. Call after reactor_drain. Any thread may call
 * it. */
void reactor_cut(struct reactor *);

/* Ends the thread and frees everything. The reactor's own thread must not call it. */
void reactor_stop(struct reactor *);

#endif

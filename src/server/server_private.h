/* server_private.h - the parts of a server: its listeners, its reactors, and the reload of its options. */
#ifndef DUEPOST_SERVER_SERVER_PRIVATE_H
#define DUEPOST_SERVER_SERVER_PRIVATE_H

#include <stdatomic.h>

#include "base/metrics.h"
#include "io/http/limits.h"
#include "job/target/target.h"
#include "server/options/options.h"
#include "store/store.h"

/* ---- listeners.c ---- */

/* The ports for clients, and the limits that all connections of clients share. */

/* ---- one port ---- */

/* The port for clients: one listening socket for each reactor.
 *
 * SO_REUSEPORT lets the sockets share the port. This option would also let a second duepost take half of the
 * connections without an error. Therefore the first socket binds and listens without SO_REUSEPORT, unless the
 * operator allows sharing; this bind fails if the port is in use. After that, SO_REUSEPORT is set on the
 * first socket, too: the kernel checks the option only when the other sockets bind. So no other process can
 * take the port between these steps. */

struct listener;

enum { LISTENER_URL_MAX = 300 };

/* Opens count sockets that share port on one address of host. host is a literal or a name; a name is resolved
 * now, which blocks. Port 0 chooses a free port. If is_shared is true, other processes of this user may
 * already listen on the port. The sockets are non-blocking. Returns STATUS_FAILED if a socket cannot be
 * opened; problem then says what to do. */
enum status listener_open(const char *scheme, const char *host, uint16_t port, size_t count, bool is_shared,
                          struct listener **, struct problem *) MUST_USE;

/* The result of listener_try. */
struct listener_trial {
    bool is_held; /* another socket listens on the address and port */
    bool is_loopback;
    uint16_t port; /* the actual port, if it is free */
};

/* Finds out whether listener_open would succeed, without listening. Returns STATUS_FAILED if the address
 * cannot be used at all; problem then says what to do. If another socket holds the port (is_held), problem
 * says what to do about that. */
enum status listener_try(const char *host, uint16_t port, bool is_shared, struct listener_trial *,
                         struct problem *) MUST_USE;

/* Closes the sockets that were not taken. NULL is ignored. */
void listener_free(struct listener *);

/* Returns the socket of one reactor. Each socket may be taken once. The socket accepts connections after
 * listener_begin. */
int listener_take(struct listener *, size_t index);

/* Starts to listen on a socket of listener_take. A second call has no effect. Returns false with errno after
 * an error. */
bool listener_begin(int fd);

/* Returns SCHEME://HOST:PORT, with the host as it was given and the actual port. The text is valid until the
 * listener is freed. */
const char *listener_url(const struct listener *);

/* Returns whether a socket of another process listens on the port now. That process serves the clients when
 * our sockets are closed. Returns false if the kernel does not report the sockets. Call it while our sockets
 * still listen. */
bool listener_has_partner(const struct listener *);

/* Returns whether only this host can connect. */
bool listener_is_loopback(const struct listener *);

/* Adds the listener's address to the addresses to which no job may be sent. If the listener listens on all
 * addresses, adds every address of this host. */
void listener_refuse(const struct listener *, struct target_policy *);

/* ---- all ports ---- */

struct listeners;

/* Text of a warning: the risk of listening without TLS at an address that other hosts can reach. */
#define LISTENERS_RISK                                                                                       \
    "tokens and jobs can be read on the network; set --tls-cert and --tls-key, or put a TLS proxy in front"

/* Opens the listening sockets of the options; blocks for name lookups. Returns STATUS_FAILED if a socket
 * cannot be opened; problem then says what to do. */
enum status listeners_open(const struct options *, struct listeners **, struct problem *) MUST_USE;
void listeners_free(struct listeners *); /* NULL is ignored */

/* Returns STATUS_INVALID if other hosts could use the API without a token under these options. */
enum status listeners_check(const struct listeners *, const struct options *, struct problem *) MUST_USE;

/* Returns STATUS_INVALID if other hosts could use the API without a token at this address. */
enum status listeners_check_reach(const struct options *, const char *url, bool is_loopback,
                                  struct problem *) MUST_USE;

/* Adds the addresses on which duepost listens to the addresses to which no job may be sent. */
void listeners_refuse(const struct listeners *, struct target_policy *);

/* Returns http://HOST:PORT of the API, which is valid until the listeners are freed. */
const char *listeners_url(const struct listeners *);

/* Returns whether another process also listens on the API's port. That process serves the clients when this
 * process stops listening. */
bool listeners_has_partner(const struct listeners *);

/* Return the sockets of one reactor: listeners_take for the API, listeners_take_health for health. Without
 * --health-listen listeners_take_health returns -1. Each socket may be taken once. */
int listeners_take(struct listeners *, size_t reactor);
int listeners_take_health(struct listeners *, size_t reactor);

/* Returns the limits, which are valid until the listeners are freed. */
struct http_limits *listeners_limits(const struct listeners *);

/* ---- outbox.c ---- */

/* The outbox's relay (cli/outbox/outbox.h) as a thread of this process. It sends its rows to the first
 * reactor over a socket that only this process uses, as requests of the API. So a row takes the way of any
 * job, with the same checks and limits; a database that is slow or away stops nothing but this thread; and
 * the relay is the same code as duepost outbox. An error never ends the thread: it tries again, at the latest
 * after 10 s. Functions ignore NULL. */

struct outbox;

/* Opens the socket. Copies the url. Borrows the numbers, which it sets, until outbox_stop. */
struct outbox *outbox_new(const char *url, struct metrics_relay *);

/* Returns the socket, bound and not yet listening, for the caller to own, or -1. */
int outbox_take_socket(struct outbox *);

/* Returns the token that requests over the socket need, which is valid until outbox_stop. */
struct slice outbox_token(const struct outbox *);

/* Starts the thread. */
void outbox_start(struct outbox *);

/* Lets the relay end when it has its answers, so that another process can continue. */
void outbox_end(struct outbox *);

/* Waits for the end of the thread, at most some seconds: a thread that is still connecting then is left to
 * the end of the process. */
void outbox_stop(struct outbox *);

/* ---- reactor.c ---- */

/* A thread that serves clients and delivers jobs. A reactor owns a loop, connections to Redis, an
 * HTTP server and client, the API, a consumer (which claims due jobs), and the carry workers (which find due
 * topics) of its part of the shards.
 *
 * Reactors share immutable configuration and nothing else. Reactors communicate only through Redis. */

struct reactor;

struct reactor_options {
    const struct options *options;     /* borrowed, immutable; replaced by reactor_reload */
    const struct store_options *store; /* borrowed */
    int listen_fd;                     /* listening socket; taken */
    int health_fd;            /* listening socket for health probes; taken; -1 without --health-listen */
    int inner_fd;             /* listening socket for the outbox's relay; taken; -1: none, as in all other
                                 reactors */
    struct slice inner_token; /* borrowed: the token of the relay */
    bool waits_to_listen; /* does not listen until reactor_open, because another process serves the port */
    struct http_limits *limits;      /* borrowed; shared by all reactors */
    struct metrics_board *board;     /* borrowed */
    struct job_counts_board *counts; /* borrowed */
    struct live_board *live;         /* borrowed */
    struct lease_board *lease_board; /* borrowed */
    struct history_thread *history;  /* borrowed; NULL: no history */
    struct tracer *tracer;           /* borrowed; NULL: no spans are recorded */
    size_t index;                    /* index of this reactor's metrics on the board */
    size_t count;                    /* number of reactors, which share max_in_flight and the shards */
    bool is_alone;                   /* see carry_worker.h */
    atomic_size_t *awaited; /* borrowed: number of reactors of this process that have not been ready yet */
    struct loop *owner;     /* borrowed: the loop, of another thread, in which the callbacks run */
    /* Each callback is called once. on_ready: Redis provides the durability class for the first time.
     * on_opened: the reactor listens after reactor_open. on_drained: a drain has ended. */
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

/* ---- reload.c ---- */

/* SIGHUP: opens the log file again and applies the options that may change while duepost runs. The
 * log has the names of changed options that need a restart.
 *
 * No SIGHUP is lost: if a SIGHUP comes before the reactors run, or during a reload, the reload follows later.
 * If other options are wrong, the token file is still read, so a revoked token does not stay valid. */

struct reload;

/* Completes the fresh options, which a reload has read. Returns STATUS_INVALID if the fresh options cannot
 * replace the live options (those in use) without a restart. */
typedef enum status reload_prepare_fn(void *arg, struct options *fresh, struct problem *);

/* Borrows input and live. reload_run reads input again and replaces *live (on the heap) at once. The reload
 * frees the previous options when no reactor uses them any more. */
struct reload *reload_new(struct loop *, const struct options_input *input, struct options **live,
                          reload_prepare_fn *prepare, void *arg);

/* Sets the reactors that later reloads notify, and runs a reload that was requested earlier. Borrows the
 * array. When the reactors are about to end, the caller passes the count 0; no reload runs after that. */
void reload_use(struct reload *, struct reactor *const *reactors, size_t count);

/* Reloads now, or as soon as possible. If the options are wrong, only the tokens are replaced. The log
 * reports new options and tokens when all reactors use them. */
void reload_run(struct reload *);

/* NULL is ignored. Call it after all reactors have ended. */
void reload_free(struct reload *);

#endif

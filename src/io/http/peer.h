/* peer.h - inside the HTTP server: its connections, from accept to close, and their deadlines. */
#ifndef DUEPOST_IO_HTTP_PEER_H
#define DUEPOST_IO_HTTP_PEER_H

#include "base/list.h"
#include "io/http/limits.h"
#include "io/http/tls.h"
#include "io/loop.h"

/* ---- deadlines ----
 *
 * Time limits for each step of a request.
 *
 * libmicrohttpd's own timeout is an idle timer: one byte per second keeps a connection open forever. These
 * deadlines are absolute. When a connection misses one, its socket is shut down, and libmicrohttpd then
 * closes it. */

enum http_step {
    HTTP_STEP_HEAD, /* from the start of the connection, or from the request line, to the end of the head */
    HTTP_STEP_BODY, /* to the end of the body */
    HTTP_STEP_SEND, /* until the client has received the answer */
    /* until the next request line. A check that finds no new bytes starts the time again, so an idle
     * connection stays open as long as libmicrohttpd allows. The connection is closed if the received bytes
     * grow from one check to the next without completing the line. */
    HTTP_STEP_NEXT,
    HTTP_STEP_COUNT,
    HTTP_STEP_WORK, /* the handler works on the request; no deadline */
};

/* Embedded in the owner of a socket. Call http_deadline_clear before closing the socket. */
struct http_deadline {
    struct list link;
    enum http_step step;
    int64_t at_us;
    int fd;
    /* HTTP_STEP_NEXT: number of bytes that the connection had received at the last check; 0: it was not
     * checked yet. */
    uint64_t received_bytes;
};

struct http_deadlines;

struct http_deadlines *http_deadlines_new(struct loop *, const int64_t step_ms[HTTP_STEP_COUNT]);
void http_deadlines_free(struct http_deadlines *); /* every deadline must have been cleared */

void http_deadline_init(struct http_deadline *, int fd);
void http_deadline_start(struct http_deadlines *, struct http_deadline *, enum http_step);
void http_deadline_clear(struct http_deadline *);

/* http_deadline_cut shuts a socket before its deadline. http_deadlines_cut_first shuts the socket that has
 * been in this step longest, and returns its deadline, or NULL if no socket is in this step. */
void http_deadline_cut(struct http_deadline *);
struct http_deadline *http_deadlines_cut_first(struct http_deadlines *, enum http_step);

/* ---- connections ----
 *
 * One connection, from accept to close.
 *
 * A request may be answered before its body has arrived, for example with 401. If the server then closed the
 * socket, the kernel would reset the connection because of the unread bytes, and the client could lose the
 * answer. So the connection lingers (RFC 9112, section 9.6): after the answer, only the server's side is
 * closed. The bytes that still arrive are read and dropped until the client closes its side, for at most
 * HTTP_LINGER_MS. libmicrohttpd has no lingering close, so a lingering connection has its own descriptor.
 *
 * When the limits are reached, the server still accepts a few extra connections. Each of them serves one
 * request and is then closed; for this request, http_request_is_over_limit returns true. When all extra
 * connections are in use, a new extra connection replaces the oldest. So a health probe that sends its
 * request at once is answered even when a client holds all other connections. */

enum {
    HTTP_EXTRAS_MAX = 16,
    HTTP_LINGERERS_MAX = 64, /* lingering connections of one server; a new one replaces the oldest */
    HTTP_LINGER_MS = 2000,
    HTTP_LINGER_BYTES = 1024 * 1024, /* when this many bytes were dropped, no more are read */
};

/* All connections of one server. */
struct http_peers {
    struct http_deadlines *deadlines;
    struct http_limits *limits; /* NULL: all connections are extra ones */
    struct list extras;         /* the extra connections, oldest first */
    size_t extra_count;
    struct loop *loop;
    struct list lingerers; /* oldest first */
    size_t lingerer_count;
    struct timer *linger_timer;
};

struct http_peer {
    struct http_peers *peers;
    struct http_deadline deadline;
    struct http_share share;
    struct http_tls *tls; /* certificate; this peer holds a reference (http_tls_share); NULL: plain HTTP */
    struct list extra_link;
    bool is_extra;
    bool lingers; /* the connection lingers when libmicrohttpd closes it */
};

/* Initialises peers without connections. Borrows the loop, the deadlines and the limits. */
void http_peers_init(struct http_peers *, struct loop *, struct http_deadlines *, struct http_limits *);
void http_peers_fini(struct http_peers *); /* every peer must have been freed; ends lingering connections */

/* Adds a new connection, and starts the deadline for its first head. */
struct http_peer *http_peer_new(struct http_peers *, int fd, const struct sockaddr *from);

/* Returns whether the client has closed its side of the connection, or the connection is broken. */
bool http_peer_has_left(const struct http_peer *);

/* Returns whether the connection is broken (reset): the client may not have got the last bytes that were
 * sent. */
bool http_peer_is_broken(const struct http_peer *);

/* Frees a peer. Call it before the descriptor of the connection is closed. If the peer lingers, the
 * connection stays open on another descriptor. */
void http_peer_free(struct http_peer *);

#endif

/* http_peer.h - inside the HTTP server: one connection, from accept to close.
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
#ifndef DUEPOST_IO_HTTP_PEER_H
#define DUEPOST_IO_HTTP_PEER_H

#include "base/list.h"
#include "io/http_deadlines.h"
#include "io/http_limits.h"
#include "io/http_tls.h"

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

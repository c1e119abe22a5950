/* http_peer.h - inside the HTTP server: one connection, from accept to close.
 *
 * For whom the limits have no room there are a few extra connections: one request each, which
 * http_request_is_over_limit tells the handler of, and then it is closed. Who needs one more than there are
 * gets the oldest one's. So whoever asks how we are at once is answered, also while somebody holds all that
 * he can get. */
#ifndef DUEPOST_IO_HTTP_PEER_H
#define DUEPOST_IO_HTTP_PEER_H

#include "base/list.h"
#include "io/http_deadlines.h"
#include "io/http_limits.h"
#include "io/http_tls.h"

enum { HTTP_EXTRAS_MAX = 16 };

/* All of one server. */
struct http_peers {
    struct http_deadlines *deadlines;
    struct http_limits *limits; /* NULL: there is no room but for extra ones */
    struct list extras;         /* the oldest first */
    size_t extra_count;
};

struct http_peer {
    struct http_peers *peers;
    struct http_deadline deadline;
    struct http_place place;
    struct http_tls *tls; /* shared; NULL: plain HTTP */
    struct list extra_link;
    bool is_extra;
};

/* Both are borrowed. */
void http_peers_init(struct http_peers *, struct http_deadlines *, struct http_limits *);

/* It has connected from there; the deadline of its first head begins. */
struct http_peer *http_peer_new(struct http_peers *, int fd, const struct sockaddr *from);

/* Before its descriptor is closed. */
void http_peer_free(struct http_peer *);

#endif

/* http_server.h - requests in, answers out; the only user of libmicrohttpd.
 *
 * A server belongs to one loop and serves one listening socket that it is given. http_request.h has what a
 * handler sees of it. */
#ifndef DUEPOST_IO_HTTP_SERVER_H
#define DUEPOST_IO_HTTP_SERVER_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "io/http_request.h"
#include "io/http_tls.h"
#include "io/loop.h"

struct http_server;

struct http_server_options {
    int listen_fd;        /* non-blocking, listening; taken */
    struct http_tls *tls; /* shared; NULL: plain HTTP */
    struct http_handler handler;
    int64_t head_timeout_ms; /* for the whole head; 0: 10 s */
    int64_t body_timeout_ms; /* for the whole body; 0: 30 s */
    int64_t send_timeout_ms; /* until the client has taken the answer; 0: 30 s */
};

struct http_server *http_server_new(struct loop *, const struct http_server_options *);

/* For connections that begin from now on. Shares it. Only for a server that speaks TLS already. */
void http_server_set_tls(struct http_server *, struct http_tls *);

/* No new connections; those that are there go on, and each answer closes its own. */
void http_server_quiesce(struct http_server *);

/* Requests that have not been answered in full. */
size_t http_server_pending(const struct http_server *);

/* Unanswered requests are dropped: call it only when their handlers are gone. */
void http_server_free(struct http_server *);

#endif

/* http_sockets.h - inside the HTTP client: libcurl's sockets, by descriptor.
 *
 * A socket is watched for as long as its connection is kept alive. The socket is shut when it receives far
 * more data than an answer may have. The socket is also shut when it receives data or the end of the
 * connection while idle, because libcurl 7.88 would send the next request on that connection and lose the
 * request.
 *
 * A receiver may close a connection at the moment at which a request is sent on it. The close cannot be
 * detected before it arrives here, and the request fails with a reset. The first such reset of a job is
 * recorded as an attempt that does not use up a retry (the member "uncounted" of the job's record). */
#ifndef DUEPOST_IO_HTTP_SOCKETS_H
#define DUEPOST_IO_HTTP_SOCKETS_H

#include <stdbool.h>

#include "io/loop.h"

struct http_sockets;

/* Called when a socket is ready. The function may close the socket. */
typedef void http_sockets_fn(void *arg, int fd, bool readable, bool writable);

struct http_sockets *http_sockets_new(struct loop *, http_sockets_fn *on_ready, void *arg);
void http_sockets_free(struct http_sockets *); /* NULL is ignored; closes no sockets */

/* Watches fd for the events that libcurl wants. If read and write are false, libcurl keeps the connection
 * idle. */
void http_sockets_watch(struct http_sockets *, int fd, bool read, bool write);

/* Marks fd as a connection to a receiver, as opposed to libcurl's internal sockets. */
void http_sockets_add_connection(struct http_sockets *, int fd);

/* Ends the watch of the connection fd, and makes the caller the owner of fd. When libcurl closes fd for the
 * next time with http_sockets_close, that call leaves fd open. */
void http_sockets_hand_over(struct http_sockets *, int fd);

/* Ends the watch of the connection fd. The caller watches fd, and libcurl closes it. */
void http_sockets_release(struct http_sockets *, int fd);

/* Returns whether libcurl still has to close the descriptor of the last http_sockets_hand_over. */
bool http_sockets_is_handing_over(const struct http_sockets *);

/* Closes fd for libcurl. Ends the watch of fd first if it still exists. */
int http_sockets_close(struct http_sockets *, int fd);

/* Returns whether the idle connection with this local port was closed by the peer, or has received data. */
bool http_sockets_is_stale(struct http_sockets *, int local_port);

/* Shuts the connections with this local port. Async-signal-safe, unless the thread is inside one of the
 * functions above. */
void http_sockets_shut(struct http_sockets *, int local_port);

#endif

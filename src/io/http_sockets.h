/* http_sockets.h - inside the HTTP client: the sockets that libcurl has, by descriptor.
 *
 * A socket's watch stays with its descriptor while the connection is kept alive. A connection that brings far
 * more than an answer may have, while it is waited for, is shut; so is an idle one that brings anything, its
 * end above all: libcurl 7.88 would use it for the next request, which is lost then. */
#ifndef DUEPOST_IO_HTTP_SOCKETS_H
#define DUEPOST_IO_HTTP_SOCKETS_H

#include <stdbool.h>

#include "io/loop.h"

struct http_sockets;

/* The socket may be closed within the call. */
typedef void http_sockets_fn(void *arg, int fd, bool readable, bool writable);

struct http_sockets *http_sockets_new(struct loop *, http_sockets_fn *on_ready, void *arg);
void http_sockets_free(struct http_sockets *); /* NULL is fine; closes nothing */

/* Waits for what is true of fd. When neither is, libcurl does not use it: a connection is idle then. */
void http_sockets_watch(struct http_sockets *, int fd, bool read, bool write);

/* fd is a connection to a receiver, not one of libcurl's own. */
void http_sockets_add_connection(struct http_sockets *, int fd);

/* Ends the watch, which libcurl may have forgotten to do, and closes fd. */
int http_sockets_close(struct http_sockets *, int fd);

/* Whether the connection with this port at our end, over which nothing is awaited, was closed by the other
 * end, or has brought something. */
bool http_sockets_is_stale(struct http_sockets *, int local_port);

/* Shuts the connections with this port at our end. Async-signal-safe, if the caller's thread is not within
 * one of the functions above. */
void http_sockets_shut(struct http_sockets *, int local_port);

#endif

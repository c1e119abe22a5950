/* http_client.h - HTTP requests, many at once; the only user of libcurl.
 *
 * A client belongs to one loop. Each http_call brings exactly one on_done, never inside the function that was
 * given it. A request is put on the wire at most once: whatever happens to its connection, it is never
 * repeated here. A kept-alive connection that its other end has closed is not used. Redirects are not
 * followed; netrc, cookies, and proxies other than the one in its options are not used. */
#ifndef DUEPOST_IO_HTTP_CLIENT_H
#define DUEPOST_IO_HTTP_CLIENT_H

#include "io/http_call.h"
#include "io/loop.h"

struct http_client;

struct http_client_options {
    const char *ca_file; /* certificates trusted besides the system's, or NULL */
    const char *proxy;   /* http://[user:password@]host:port to connect to instead of receivers, or NULL */
    size_t max_idle;     /* kept-alive connections */
};

/* Then sockaddr in may_connect is the proxy's, and receivers' names are resolved by it. */
bool http_client_has_proxy(const struct http_client *);

struct http_client *http_client_new(struct loop *, const struct http_client_options *);

/* Calls that still run are dropped without on_done. */
void http_client_free(struct http_client *);

/* Starts a call. Borrows url, headers and body until on_done. */
struct http_call *http_call(struct http_client *, const struct http_call_request *);

/* Waits no longer for the rest of an answer whose status is known: on_done follows. False: it is not known,
 * nothing changes. */
bool http_call_hurry(struct http_call *);

/* Ends it now, without on_done. */
void http_call_abort(struct http_call *);

#endif

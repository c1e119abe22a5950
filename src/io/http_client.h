/* http_client.h - HTTP requests, many at once; the only user of libcurl.
 *
 * A client belongs to one loop. Each http_call leads to exactly one on_done, which is never called inside
 * http_call. A request is sent at most once. The client never repeats a request, whatever happens to the
 * connection. The client does not send over a kept-alive connection that the receiver has closed. The client
 * does not follow redirects, and ignores netrc, cookies, and all proxies except the proxy in its options. */
#ifndef DUEPOST_IO_HTTP_CLIENT_H
#define DUEPOST_IO_HTTP_CLIENT_H

#include "base/system.h"
#include "io/http_call.h"
#include "io/loop.h"

struct http_client;

struct http_client_options {
    /* File with CA certificates that are trusted in addition to the system's, or NULL. */
    const char *ca_file;
    const char *proxy; /* http://[user:password@]host:port to connect to instead of receivers, or NULL */
    size_t max_idle; /* http_plain.h, without TLS, and libcurl each keep at most this many idle connections */
    bool uses_libcurl_only; /* libcurl sends all requests, http_plain.h none */
};

/* Returns whether there is a proxy. may_connect then gets the proxy's address, and the proxy resolves
 * receivers' names. */
bool http_client_has_proxy(const struct http_client *);

struct http_client *http_client_new(struct loop *, const struct http_client_options *);

/* Frees the client and its running calls, without on_done. */
void http_client_free(struct http_client *);

/* Starts a call. Copies the headers; borrows url and body until on_done. */
struct http_call *http_call(struct http_client *, const struct http_call_request *);

/* If the status of the answer is known, stops waiting for the rest of the answer; on_done is then called
 * soon. Returns false and changes nothing if the status is not known yet. */
bool http_call_hurry(struct http_call *);

/* Ends a call at once, without on_done. */
void http_call_abort(struct http_call *);

/* From now on, libcurl only connects in all clients of the process, because it does not read answers safely
 * (http_trial.h). Calls that only libcurl could send end with FAILURE_CROWDED. Call it before any thread
 * starts. */
void http_client_distrust_libcurl(void);

/* Sets the name and the version of libcurl. */
void http_client_library(struct library *);

#endif

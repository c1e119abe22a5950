/* http_plain.h - inside the HTTP client: sends plain requests over kept-alive connections. A request is plain
 * if no proxy is used, and its url, http or https, is not unusual (http_plain_head.h).
 *
 * Most deliveries are small requests over kept-alive connections. For such a request libcurl needs about four
 * times as many instructions as this file. libcurl still resolves names, connects, does TLS, and sends all
 * other requests.
 *
 * The rules of http_client.h apply: a request is sent at most once, and only if may_connect allows its
 * address. */
#ifndef DUEPOST_IO_HTTP_PLAIN_H
#define DUEPOST_IO_HTTP_PLAIN_H

#include "io/http_call_private.h"
#include "io/http_wire.h"
#include "io/loop.h"

struct http_plain;
struct http_connection;

/* Maximum number of calls with TLS at a time, and of idle connections with TLS (http_wire.h says why).
 * libcurl sends the calls beyond this number. */
enum { HTTP_PLAIN_TLS_MAX = 256 };

struct http_plain_events {
    /* Called when a call has ended. If code is CURLE_OK, there is an answer. Called once for each call,
     * perhaps inside http_plain_send. */
    void (*on_end)(void *arg, struct http_call *, CURLcode code);
    /* Called after the events of a connection were handled. Before, on_end may have been called for the
     * connection's call. */
    void (*on_ready)(void *arg);
    void *arg;
};

struct http_plain *http_plain_new(struct loop *, size_t max_idle, const struct http_plain_events *);
void http_plain_free(struct http_plain *); /* every call must have ended */

/* Sends a call over a kept-alive connection. Returns false if the pool has no such connection. */
bool http_plain_send(struct http_plain *, struct http_call *);

/* Sends a call over a new connection. Takes ownership of the wire's descriptor, or of its handle for TLS. */
void http_plain_send_over(struct http_plain *, const struct http_wire *, struct http_call *);

/* Closes the connection of a call, if it has one, without on_end. */
void http_plain_drop(struct http_call *);

/* Shuts the connection of a call. Async-signal-safe. */
void http_plain_shut(const struct http_connection *);

#endif

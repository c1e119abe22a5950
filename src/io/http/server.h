/* server.h - an HTTP server; the only user of libmicrohttpd.
 *
 * A server belongs to one loop and serves one given listening socket. Handlers see requests through
 * request.h. */
#ifndef DUEPOST_IO_HTTP_SERVER_H
#define DUEPOST_IO_HTTP_SERVER_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/system.h"
#include "base/status.h"
#include "io/http/request.h"
#include "io/http/tls.h"
#include "io/loop.h"

struct http_server;

struct http_server_options {
    int listen_fd;        /* non-blocking, listening; taken */
    struct http_tls *tls; /* certificate; the server takes its own reference; NULL: plain HTTP */
    struct http_handler handler;
    int64_t head_timeout_ms; /* time limit for the whole head; 0: 10 s */
    int64_t body_timeout_ms; /* time limit for the whole body; 0: 30 s */
    int64_t send_timeout_ms; /* time limit for the client to receive the answer; 0: 30 s */
};

struct http_server *http_server_new(struct loop *, const struct http_server_options *);

/* Sets the certificate for new connections; the server takes its own reference. The server must already use
 * TLS. */
void http_server_set_tls(struct http_server *, struct http_tls *);

/* Stops accepting connections. Existing connections stay open, and each is closed after its next answer. */
void http_server_quiesce(struct http_server *);

/* Returns the number of requests whose answer was not completely sent yet. */
size_t http_server_pending(const struct http_server *);

/* Frees the server and drops unanswered requests. Call it only when their handlers have ended. */
void http_server_free(struct http_server *);

/* Sets the name and the version of libmicrohttpd. */
void http_server_library(struct library *);

/* ---- trials (trial.c) ----
 *
 * Tests when duepost starts that the libmicrohttpd and the libcurl of this host are safe.
 *
 * The same binary runs with several versions of libmicrohttpd, which parse a head before the gate sees it.
 * The trial starts its own HTTP server and sends it heads that HTTP parsers interpret in different ways. None
 * of these heads may reach the handler. */

/* Runs the trial, which blocks for some 3 ms. If STATUS_FAILED, problem names the version and the head that
 * passed. */
enum status http_trial_run(struct problem *) MUST_USE;

/* Lets the libcurl of this host read answers that have ended processes, in a child process that it may end.
 * Blocks for some 30 ms. STATUS_FAILED: the child has died; problem names the version and the answer.
 * STATUS_UNAVAILABLE: the trial was not possible. Call it before any thread starts. */
enum status http_trial_run_client(struct problem *) MUST_USE;

#endif

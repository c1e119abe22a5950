/* tls.h - the certificate of an HTTP server; the only user of GnuTLS, which libmicrohttpd uses for TLS.
 *
 * Servers and their connections share a certificate, and the last holder frees it. A connection may still be
 * in its handshake with an old certificate when a newer certificate is loaded. */
#ifndef DUEPOST_IO_HTTP_TLS_H
#define DUEPOST_IO_HTTP_TLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/system.h"

struct http_tls;

/* Reads a certificate with its chain and its private key, both PEM. If INVALID, problem says why the files
 * cannot be used. */
enum status http_tls_load(const char *certificate_file, const char *key_file, struct http_tls **,
                          struct problem *) MUST_USE;

/* Add a reference to a certificate, and release it. Releasing NULL is ignored. Any thread may call these
 * functions. */
struct http_tls *http_tls_share(struct http_tls *);
void http_tls_release(struct http_tls *);

/* Reads the time from which and until which the certificate and its chain are valid, in ms since 1970.
 * Returns false if they cannot be read. */
bool http_tls_dates(const struct http_tls *, int64_t *from_ms, int64_t *until_ms);

/* ---- For server.c ---- */

/* The priority string of GnuTLS for TLS 1.2 and 1.3. */
extern const char http_tls_versions[];

/* A gnutls_certificate_retrieve_function3 that returns no certificate. libmicrohttpd requires such a
 * function, but each connection gets its certificate from http_tls_begin. A certificate that this function
 * returned would have to exist until the handshake ends, and there is no callback for the end of a
 * handshake. */
extern void (*const http_tls_no_certificate)(void);

/* Prepares a new connection. session is its gnutls_session_t. Returns false if the connection must be
 * closed. */
bool http_tls_begin(const struct http_tls *, void *session);

/* Sends a short text, if the connection takes it now. session is a gnutls_session_t. */
void http_tls_send(void *session, const void *data, size_t size);

/* Sets the name and the version of GnuTLS. */
void http_tls_library(struct library *);

#endif

/* http_tls.h - the certificate that an HTTP server shows; the only user of GnuTLS, by which libmicrohttpd
 * speaks TLS.
 *
 * It is shared by servers and their connections, and lives until the last of them lets go of it: a connection
 * that began with it may be in the middle of its handshake when there is a newer one. */
#ifndef DUEPOST_IO_HTTP_TLS_H
#define DUEPOST_IO_HTTP_TLS_H

#include <stdbool.h>

#include "base/status.h"

struct http_tls;

/* Reads a certificate with its chain, and its private key, both PEM. INVALID: problem says why they cannot
 * be used. */
enum status http_tls_load(const char *certificate_file, const char *key_file, struct http_tls **,
                          struct problem *) MUST_USE;

/* One more holds it, one holds it no more (NULL is fine). From any thread. */
struct http_tls *http_tls_share(struct http_tls *);
void http_tls_release(struct http_tls *);

/* ---- For http_server.c ---- */

/* TLS 1.2 and 1.3, as GnuTLS spells it. */
extern const char http_tls_versions[];

/* A gnutls_certificate_retrieve_function3 that has no certificate. libmicrohttpd must be given something, but
 * each connection brings its certificate with http_tls_begin: what such a function returns has to stay until
 * the handshake is over, and nobody says when that is. */
extern void (*const http_tls_no_certificate)(void);

/* session: the gnutls_session_t of a connection that begins. False: it must not go on. */
bool http_tls_begin(const struct http_tls *, void *session);

#endif

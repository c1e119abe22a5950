/* redis_tls.h - TLS of connections to Redis; the only user of OpenSSL's libssl.
 *
 * A struct redis_tls has what all connections share: trusted CAs, our certificate with its key, and the name
 * that Redis must prove. The struct can be replaced while connections use it; new connections use the new
 * data. Redis's certificate is always checked: its chain, its dates, and its name. */
#ifndef DUEPOST_IO_REDIS_TLS_H
#define DUEPOST_IO_REDIS_TLS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/status.h"

struct redis_tls;

struct redis_tls_options {
    const char *ca;                /* PEM file; NULL: the system's CAs */
    const char *certificate, *key; /* PEM files; NULL: Redis does not ask for a certificate */
    const char *name;              /* name in Redis's certificate; NULL: the host of the address */
};

/* Reads the files. If INVALID, problem says which file cannot be used and why. */
enum status redis_tls_load(const struct redis_tls_options *, struct redis_tls **, struct problem *) MUST_USE;
void redis_tls_free(struct redis_tls *); /* NULL is ignored; connections that use it may exist longer */

/* Replaces the data of tls by the data of fresh, and frees fresh. Any thread may call this. */
void redis_tls_replace(struct redis_tls *tls, struct redis_tls *fresh);

/* ---- For redis_stream.c: TLS of one connection ---- */

struct redis_tls_session;

/* Begins TLS on a connected socket. host is the host of Redis's address: a name or an IP address. Returns
 * NULL if there is no memory, or host cannot be a name in a certificate. */
struct redis_tls_session *redis_tls_begin(struct redis_tls *, int fd, const char *host);
void redis_tls_end(struct redis_tls_session *); /* does not close fd; NULL is ignored */

enum redis_tls_result {
    REDIS_TLS_DONE,
    REDIS_TLS_WANTS_READ,  /* the call must be repeated when fd can be read */
    REDIS_TLS_WANTS_WRITE, /* the call must be repeated when fd can be written */
    REDIS_TLS_CLOSED,      /* Redis has closed the connection */
    REDIS_TLS_FAILED,
};

enum redis_tls_result redis_tls_handshake(struct redis_tls_session *, struct problem *);
enum redis_tls_result redis_tls_read(struct redis_tls_session *, char *data, size_t size, size_t *count,
                                     struct problem *);

/* Writes data. When a call is repeated, data may be at another address in memory. */
enum redis_tls_result redis_tls_write(struct redis_tls_session *, const char *data, size_t size,
                                      size_t *count, struct problem *);

#endif

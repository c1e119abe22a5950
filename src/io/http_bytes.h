/* http_bytes.h - inside the HTTP server: reads the bytes of a connection beside libmicrohttpd.
 *
 * libmicrohttpd parses a head in place, and shows no byte of it as it came. So we look at what it reads: it
 * calls recv, or gnutls_record_recv over TLS, and the program has functions of these names, which the dynamic
 * linker finds first. They pass what this thread reads to the streams that are being watched. A stream finds
 * where each head ends by a strict reading: lines end with CR LF, none begins with white space, and there is
 * no NUL. */
#ifndef DUEPOST_IO_HTTP_BYTES_H
#define DUEPOST_IO_HTTP_BYTES_H

#include <stddef.h>

#include "io/http_gate.h"

struct http_stream;

/* The streams of one server, by descriptor. */
struct http_bytes {
    bool is_tls;
    struct http_stream **streams;
    size_t size;
};

void http_bytes_init(struct http_bytes *, bool is_tls);
void http_bytes_fini(struct http_bytes *); /* every stream has ended */

/* A connection begins and ends. */
void http_bytes_begin(struct http_bytes *, int fd);
void http_bytes_end(struct http_bytes *, int fd);

/* Passes what this thread reads to these streams, until the next call; NULL: to none. Borrowed. */
void http_bytes_watch(struct http_bytes *);

/* Takes the next head of the stream, and then its body. False: what has come is no plain head of size bytes,
 * and no head of this stream will be taken any more. */
bool http_bytes_take_head(struct http_bytes *, int fd, size_t size, const struct http_framing *);

/* For the two readers. */
void http_bytes_note(bool is_tls, int fd, const void *data, size_t size);

#endif

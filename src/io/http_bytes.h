/* http_bytes.h - inside the HTTP server: reads a connection's bytes in parallel with libmicrohttpd.
 *
 * libmicrohttpd parses a head in place and does not show its original bytes. So we observe the bytes that
 * libmicrohttpd reads. To read, it calls recv, or gnutls_record_recv for TLS. This program defines its own
 * functions with these names, and the dynamic linker finds them first. They read as usual, and also pass the
 * bytes to the connection's stream (struct http_stream). A stream finds the end of each head by strict rules:
 * lines end with CR LF, no line begins with white space, and there is no NUL. */
#ifndef DUEPOST_IO_HTTP_BYTES_H
#define DUEPOST_IO_HTTP_BYTES_H

#include <stddef.h>

#include "io/http_gate.h"

struct http_stream;

/* The streams of one server: one for each connection, found by its descriptor. */
struct http_bytes {
    bool is_tls;
    struct http_stream **streams;
    size_t size;
};

void http_bytes_init(struct http_bytes *, bool is_tls);
void http_bytes_fini(struct http_bytes *); /* every stream must have ended */

/* Mark the begin and end of a connection. */
void http_bytes_begin(struct http_bytes *, int fd);
void http_bytes_end(struct http_bytes *, int fd);

/* From now on, the bytes that this thread reads are passed to these streams; NULL ends this. Borrows the
 * streams. */
void http_bytes_watch(struct http_bytes *);

/* Takes the next head of the stream; the stream then expects the body of that head. Returns false if the
 * bytes read so far do not begin with a valid head whose length is size. After that, the stream accepts no
 * further head. */
bool http_bytes_take_head(struct http_bytes *, int fd, size_t size, const struct http_framing *);

/* Called by the replaced recv and gnutls_record_recv. */
void http_bytes_note(bool is_tls, int fd, const void *data, size_t size);

#endif

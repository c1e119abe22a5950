/* http_bytes.h - inside the HTTP server: reads a connection's bytes in parallel with libmicrohttpd.
 *
 * libmicrohttpd parses a head in place and does not show its original bytes. So we observe the bytes that
 * libmicrohttpd reads. To read, it calls recv, or gnutls_record_recv for TLS. This program defines its own
 * functions with these names, and the dynamic linker finds them first. They read as usual, and also pass the
 * bytes to the connection's stream (struct http_stream). A stream finds the end of each head by strict rules:
 * lines end with CR LF, no line begins with white space, and there is no NUL.
 *
 * A head that is too long is refused here, because libmicrohttpd would answer it in HTML: libmicrohttpd then
 * sees the end of the connection instead of the bytes. */
#ifndef DUEPOST_IO_HTTP_BYTES_H
#define DUEPOST_IO_HTTP_BYTES_H

#include <stddef.h>

#include "io/http_gate.h"

struct http_stream;

enum {
    HTTP_HEAD_MAX = 16 * 1024, /* maximum size of a head in bytes */
    /* Maximum number of lines of a head. Above 128 headers, http_head.h refuses a head that libmicrohttpd can
     * still read. */
    HTTP_HEAD_LINES_MAX = 160,
};

/* Answers a connection whose head is too long. is_line: the request line alone is too long. session: the
 * gnutls_session_t; NULL: plain HTTP. */
typedef void http_long_head_fn(void *arg, int fd, void *session, bool is_line);

/* The streams of one server: one for each connection, found by its descriptor. */
struct http_bytes {
    bool is_tls;
    http_long_head_fn *on_long_head;
    void *arg;
    struct http_stream **streams;
    size_t size;
};

void http_bytes_init(struct http_bytes *, bool is_tls, http_long_head_fn *, void *arg);
void http_bytes_fini(struct http_bytes *); /* every stream must have ended */

/* Mark the begin and end of a connection. */
void http_bytes_begin(struct http_bytes *, int fd);
void http_bytes_end(struct http_bytes *, int fd);

/* Returns whether the connection was answered because its head is too long. */
bool http_bytes_has_long_head(const struct http_bytes *, int fd);

/* From now on, the bytes that this thread reads are passed to these streams; NULL ends this. Borrows the
 * streams. */
void http_bytes_watch(struct http_bytes *);

/* Takes the next head of the stream; the stream then expects the body of that head. Returns false if the
 * bytes read so far do not begin with a valid head whose length is size. After that, the stream accepts no
 * further head. */
bool http_bytes_take_head(struct http_bytes *, int fd, size_t size, const struct http_framing *);

/* Called by the replaced recv and gnutls_record_recv. Returns false if the reader must see the end of the
 * connection instead of these bytes. session: NULL for recv. */
bool http_bytes_note(int fd, void *session, const void *data, size_t size);

#endif

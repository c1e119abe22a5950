/* bytes.h - inside the HTTP server: reads a connection's bytes in parallel with libmicrohttpd.
 *
 * libmicrohttpd parses a head in place and does not show its original bytes. So we observe the bytes that
 * libmicrohttpd reads. To read, it calls recv, or gnutls_record_recv for TLS. This program defines its own
 * functions with these names, and the dynamic linker finds them first. They read as usual, and also pass the
 * bytes to the connection's stream (struct http_stream). A stream finds the end of each head by strict rules:
 * lines end with CR LF, no line begins with white space, and there is no NUL.
 *
 * libmicrohttpd gets only the first HTTP_TARGET_SEEN_MAX bytes of a request line. The rest of the request
 * target is kept here, so that a target can be longer than the memory that libmicrohttpd has for a
 * connection, and clears for each request. The request puts both parts together (http_bytes_take_tail).
 *
 * A head that is too long is refused here, because libmicrohttpd would answer it in HTML: libmicrohttpd then
 * sees the end of the connection instead of the bytes. */
#ifndef DUEPOST_IO_HTTP_BYTES_H
#define DUEPOST_IO_HTTP_BYTES_H

#include <microhttpd.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "io/http/gate.h"

struct http_limits;
struct http_stream;

enum {
    HTTP_HEAD_MAX = 16 * 1024, /* maximum size of a head in bytes, without the tail of its target */
    HTTP_TARGET_SEEN_MAX = 2 * 1024,
    HTTP_LINE_MAX = 64 * 1024, /* maximum size of a request line */
    HTTP_TARGET_TAIL_MAX = HTTP_LINE_MAX - HTTP_TARGET_SEEN_MAX,
    /* Maximum number of lines of a head. Above 128 headers, bytes.h refuses a head that libmicrohttpd can
     * still read. */
    HTTP_HEAD_LINES_MAX = 160,
};

/* Answers a connection whose head is too long. status: 414 if the request line is too long, 503 if the limits
 * have no memory for it now, otherwise 431. session: the gnutls_session_t; NULL: plain HTTP. */
typedef void http_long_head_fn(void *arg, int fd, void *session, unsigned status);

/* The streams of one server: one for each connection, found by its descriptor. */
struct http_bytes {
    bool is_tls;
    struct http_limits *limits; /* memory for tails; NULL: no limit */
    http_long_head_fn *on_long_head;
    void *arg;
    struct http_stream **streams;
    size_t size;
};

void http_bytes_init(struct http_bytes *, bool is_tls, struct http_limits *, http_long_head_fn *, void *arg);
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

/* The part of a request target that libmicrohttpd has not got. */
struct http_tail {
    struct buffer bytes;
    size_t taken; /* bytes that are reserved from the limits, as for a request without a token */
};

/* Gives the tail of the head that the stream reads, and leaves an empty one. The caller frees it. */
void http_bytes_take_tail(struct http_bytes *, int fd, struct http_tail *);
void http_bytes_free_tail(struct http_bytes *, struct http_tail *); /* may be called twice */

/* Reads bytes as the function read does, which is recv or gnutls_record_recv, and passes them to the stream.
 * Returns 0, the end of the connection, if the stream has answered it. session: NULL for recv. */
typedef ssize_t http_read_fn(int fd, void *session, void *data, size_t size, int flags);
ssize_t http_bytes_read(int fd, void *session, void *data, size_t size, int flags, http_read_fn *read);

/* Passes bytes to the stream, which removes the tail of a request target from data and size. Returns false if
 * the reader must see the end of the connection instead of these bytes. */
bool http_bytes_note(int fd, void *session, void *data, size_t *size);

/* ---- heads ----
 *
 * Checks libmicrohttpd's view of a head.
 *
 * A head passes only if libmicrohttpd and bytes.h find the end of the head at the same byte, and if each
 * line ends with CR LF. Version 0.9 of libmicrohttpd accepts irregular lines and changes their bytes in
 * place. The positions of the head's parts then reveal the change. Version 1.0 refuses irregular lines if it
 * is set to be strict (http_head_strictness). libmicrohttpd does not show the lines of a body in chunks, so
 * nothing after such a body is read as a request. Version 1.0.1 counts the bytes after a chunk extension
 * wrongly, so it answers 400 to such a body. */

/* Returns the value for MHD_OPTION_STRICT_FOR_CLIENT. With it, libmicrohttpd or http_head_check refuses each
 * head that another HTTP parser may interpret in another way. trial.c tests this when duepost starts. */
int http_head_strictness(void);

/* A head as the first call of the handler gets it from libmicrohttpd. */
struct http_head_seen {
    struct MHD_Connection *connection;
    const char *method, *version;
    const char
        *target_at; /* address of the target inside libmicrohttpd; it is compared and never dereferenced */
    size_t target_seen;  /* size of the target inside libmicrohttpd, which has not got its tail */
    struct slice target; /* copy of the target, taken before libmicrohttpd decoded the original in place */
    struct http_bytes *bytes;
    int fd; /* socket of the connection */
};

/* Checks a head. Returns NULL if the head is unchanged and passes the gate; framing then describes its body.
 * Otherwise returns the reason as a text for people. */
const char *http_head_check(const struct http_head_seen *, struct http_framing *framing);

#endif

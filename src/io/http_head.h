/* http_head.h - inside the HTTP server: checks libmicrohttpd's view of a head.
 *
 * A head passes only if libmicrohttpd and http_bytes.h find the end of the head at the same byte, and if each
 * line ends with CR LF. Version 0.9 of libmicrohttpd accepts irregular lines and changes their bytes in
 * place. The positions of the head's parts then reveal the change. Version 1.0 refuses irregular lines if it
 * is set to be strict (http_head_strictness). libmicrohttpd does not show the lines of a body in chunks, so
 * nothing after such a body is read as a request. Version 1.0.1 counts the bytes after a chunk extension
 * wrongly, so it answers 400 to such a body. */
#ifndef DUEPOST_IO_HTTP_HEAD_H
#define DUEPOST_IO_HTTP_HEAD_H

#include <microhttpd.h>

#include "io/http_bytes.h"
#include "io/http_gate.h"

/* Returns the value for MHD_OPTION_STRICT_FOR_CLIENT. With it, libmicrohttpd or http_head_check refuses each
 * head that another HTTP parser may interpret in another way. http_trial.h tests this when duepost starts. */
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

/* http_head.h - inside the HTTP server: checks libmicrohttpd's view of a head.
 *
 * A head passes only if libmicrohttpd and http_bytes.h find its end at the same byte, and each of its lines
 * ends with CR LF. Within a line, the positions of the parts show with version 0.9 what was there; version
 * 1.0 refuses by its strict level. After a body in chunks, whose lines libmicrohttpd does not show, nothing
 * is read as a request. Version 1.0.1 answers 400 to chunk extensions, because it loses count of the bytes
 * after them. */
#ifndef DUEPOST_IO_HTTP_HEAD_H
#define DUEPOST_IO_HTTP_HEAD_H

#include <microhttpd.h>

#include "io/http_bytes.h"
#include "io/http_gate.h"

/* Returns the value for MHD_OPTION_STRICT_FOR_CLIENT. With it, libmicrohttpd or http_head_check refuses each
 * head that another HTTP parser may interpret in another way. http_trial.h verifies that at start. */
int http_head_strictness(void);

/* libmicrohttpd's view of a head, in the first call of the handler. */
struct http_head_seen {
    struct MHD_Connection *connection;
    const char *method, *version;
    const char *target_at; /* where libmicrohttpd has the target; compared, never read */
    struct slice target;   /* a copy from before libmicrohttpd decoded it in place */
    struct http_bytes *bytes;
    int fd; /* of the connection */
};

/* Checks a head. NULL: the head is unchanged and passes the gate, and framing describes its body. Otherwise
 * returns the reason for people. */
const char *http_head_check(const struct http_head_seen *, struct http_framing *framing);

#endif

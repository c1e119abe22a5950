/* http_head.h - inside the HTTP server: what libmicrohttpd made of a head, for the gate. */
#ifndef DUEPOST_IO_HTTP_HEAD_H
#define DUEPOST_IO_HTTP_HEAD_H

#include "io/http_gate.h"
#include "io/http_request.h"

/* Returns the value for MHD_OPTION_STRICT_FOR_CLIENT. With it, libmicrohttpd or http_head_check refuses each
 * head that another HTTP reader may read in another way. Start-up checks that (http_trial.h). */
int http_head_strictness(void);

/* In the first call of the handler. NULL: the head is as it was sent and passes the gate, and framing tells
 * its body. Else why not, for people. */
const char *http_head_check(const struct http_request *, const char *version, struct http_framing *framing);

#endif

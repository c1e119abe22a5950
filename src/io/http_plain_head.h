/* http_plain_head.h - inside the HTTP client: the url and the head of a request that is sent without
 * libcurl. The functions are pure: no clock, no I/O. */
#ifndef DUEPOST_IO_HTTP_PLAIN_HEAD_H
#define DUEPOST_IO_HTTP_PLAIN_HEAD_H

#include "io/http_call.h"

struct buffer;

/* The parts of a url. The slices point into the url, or to static texts. */
struct http_plain_url {
    bool is_tls;            /* the scheme is https */
    struct slice origin;    /* scheme and authority, as spelled */
    struct slice authority; /* host, or host:port, as spelled */
    struct slice target;    /* path and query */
};

/* Splits a url. Returns false for an unusual url, which libcurl might change before it sends the request.
 * Such a request must be sent by libcurl. */
bool http_plain_url_split(struct slice url, struct http_plain_url *);

/* Writes the head of the request into head, which is emptied first. */
void http_plain_head_write(struct buffer *head, const struct http_call_request *,
                           const struct http_plain_url *);

#endif

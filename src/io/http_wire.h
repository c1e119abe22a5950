/* http_wire.h - inside the HTTP client: the bytes of one connection that libcurl has opened, with or without
 * TLS.
 *
 * The bytes of a plain connection go through its socket. For a connection with TLS, libcurl has made the
 * handshake and checked the certificate, and its handle encrypts and decrypts the bytes. The handle remains
 * in the multi handle until the connection is closed.
 *
 * With TLS, each call of these functions makes libcurl search all connections of the multi handle for the
 * connection of this handle. So the number of connections with TLS must be limited. */
#ifndef DUEPOST_IO_HTTP_WIRE_H
#define DUEPOST_IO_HTTP_WIRE_H

#include <curl/curl.h>
#include <stdbool.h>

#include "base/slice.h"
#include "io/http_handles.h"

/* The size in bytes of the memory room that these functions get. A TLS record has at most this size. */
enum { HTTP_WIRE_ROOM = 16 * 1024 };

struct http_wire {
    int fd;
    CURL *tls;                        /* the handle that encrypts; NULL: without TLS */
    CURLM *multi;                     /* contains tls */
    struct http_handles *handles;     /* get the handle tls back at the end */
    char error_text[CURL_ERROR_SIZE]; /* message for people about a failure */
};

/* Call this function before the functions below. The struct must not move in memory afterwards. */
void http_wire_begin(struct http_wire *);

/* Sends as many bytes of head and body as the connection takes, beginning after the first *sent bytes. Adds
 * the number of sent bytes to *sent. room has HTTP_WIRE_ROOM bytes. While a request is sent, it must not
 * change, and room must have the same address in each call. */
CURLcode http_wire_send(struct http_wire *, struct slice head, struct slice body, size_t *sent, char *room);

/* Reads at most HTTP_WIRE_ROOM bytes. *size is 0 at the end of the input. CURLE_AGAIN: nothing has arrived.
 */
CURLcode http_wire_receive(struct http_wire *, char *room, size_t *size);

/* Returns whether the receiver has ended the connection with a TLS alert (http_call_tls.h). */
bool http_wire_has_alert(struct http_wire *, char *room);

/* Returns whether the connection is open, and nothing has arrived. */
bool http_wire_is_silent(struct http_wire *);

/* Closes the connection. Must not be called inside a callback of libcurl. */
void http_wire_close(struct http_wire *);

#endif

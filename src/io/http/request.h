/* request.h - one request of an HTTP server: its parts, its handler, and its answer.
 *
 * A request that reaches the handler has passed the header gate: its framing is unambiguous. The body is
 * complete and within its limits. The handler must answer every request exactly once, immediately or later,
 * with http_answer. Handlers always answer in time, because store calls have deadlines. When a client closes
 * the connection while its request is being handled, the answer is dropped. */
#ifndef DUEPOST_IO_HTTP_REQUEST_H
#define DUEPOST_IO_HTTP_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/slice.h"
#include "io/http/gate.h"

struct http_limits;
struct http_request;

/* Handles the requests of a server. */
struct http_handler {
    size_t max_body_bytes; /* maximum size of a body; http_request_allow can raise it for one request */
    /* Borrowed; NULL: the server has only extra connections, which serve one request each (peer.h). */
    struct http_limits *limits;
    /* Maximum number of unanswered requests; further requests are over the limit. */
    size_t max_waiting;
    /* Called when the head has arrived, before the body. To refuse the request, answer it here; if the
     * request has a body, the connection is then closed. To accept the request, do nothing. */
    void (*on_head)(void *arg, struct http_request *);
    /* Called when the request is complete, unless on_head has answered it. */
    void (*on_request)(void *arg, struct http_request *);
    /* Called when the body exceeds max_body_bytes and http_request_allow was called. Returns whether the
     * larger body is allowed. During the call, http_request_body has the first max_body_bytes of the body.
     * May be NULL if http_request_allow is never called. */
    bool (*on_large)(void *arg, struct http_request *);
    /* Called when the body exceeds its maximum. Must answer. */
    void (*on_too_large)(void *arg, struct http_request *);
    /* Called when the limits have no room for the body (limits.h). Must answer. */
    void (*on_over_limit)(void *arg, struct http_request *);
    /* Called when the header gate refuses the request; detail has the reason. Must answer. The connection is
     * then closed. */
    void (*on_malformed)(void *arg, struct http_request *, const char *detail);
    /* Writes the body of the answer to a head for which no request exists, and returns its media type.
     * status: 431 or 414 if the head or its request line is too long, 503 if the limits have no memory for
     * the line now. NULL: such a connection is closed without an answer. */
    struct slice (*write_long_head)(void *arg, unsigned status, struct buffer *body);
    /* Called when the client left before its request was complete, or when the server is freed. May be NULL.
     * The request must not be answered; it is freed after this call. */
    void (*on_gone)(void *arg, struct http_request *);
    void *arg;
};

/* Return one part of a request each. The slices are valid until the request is answered. */
struct slice http_request_method(const struct http_request *);
struct slice http_request_target(const struct http_request *);                   /* raw, as sent */
struct slice http_request_header(const struct http_request *, const char *name); /* "" when absent */
bool http_request_has_header(const struct http_request *, const char *name);

/* Joins all lines of a list header (RFC 9110, 5.3) in their order, separated by commas. */
void http_request_join_header(const struct http_request *, const char *name, struct buffer *joined);

/* Calls fn for each header line in its order. The slices are valid until the request is answered. */
typedef void http_header_fn(void *arg, struct slice name, struct slice value);
void http_request_each_header(const struct http_request *, http_header_fn *, void *arg);

struct slice http_request_body(const struct http_request *);

/* Writes the address of the other end of the connection: of the client, or of a proxy in front of duepost. */
enum { HTTP_FROM_SIZE = 64 };
void http_request_from(const struct http_request *, char text[HTTP_FROM_SIZE]);

/* Returns this address as a number, see http_limits_address. */
uint64_t http_request_origin(const struct http_request *);

/* Returns whether the server is over its limits: the connection is an extra one (peer.h), or too many
 * requests wait. Answer 503 unless the route is a health probe. The result may change from false to true
 * between on_head and on_request. */
bool http_request_is_over_limit(const struct http_request *);

/* Marks a request that may wait long for its answer. Such a request does not count for max_waiting, and its
 * connection does not count for the connections per address (limits.h). on_left is called at most once
 * before the answer, when the client has closed its side of the connection; the request must still be
 * answered. Returns false, and marks nothing, if too many requests are marked. */
bool http_request_linger(struct http_request *, void (*on_left)(void *arg), void *arg);

/* Returns whether the client has closed its side of the connection. */
bool http_request_has_left(const struct http_request *);

/* Reserves memory for an answer of this size. Returns false if the limit is reached. Then answer 503 if the
 * request has changed nothing; if it has changed something, send the answer in spite of the limit. */
bool http_request_take_room(struct http_request *, size_t bytes);

/* Allows a body of up to max_bytes, beyond max_body_bytes, if on_large allows it. Call this function in
 * on_head. */
void http_request_allow(struct http_request *, size_t max_bytes);

/* Marks a request without a token. Its body may take only a part of the memory for bodies, so that requests
 * with a token always have the rest. Returns false if the process got too many such requests within a second;
 * the request must then be refused. Call this function in on_head. */
bool http_request_set_guest(struct http_request *);

/* Delays the body, which is not read before http_request_proceed. Call this function in on_head. The request
 * must then be answered, to refuse it without its body, or continued. */
void http_request_hold(struct http_request *);
void http_request_proceed(struct http_request *);

/* Set and return a pointer in which the handler keeps its own state of the request. The pointer is NULL at
 * first. */
void http_request_set_context(struct http_request *, void *context);
void *http_request_context(const struct http_request *);

struct http_answer {
    unsigned status;
    struct slice content_type;         /* media type of the body; empty: no Content-Type */
    const struct http_header *headers; /* additional headers */
    size_t header_count;
    struct slice body; /* copied; for a HEAD only its length is sent */
    /* NULL, or called once when the answer was sent or dropped. was_sent: all bytes were passed to the
     * network, and the client had not closed its side before. If was_sent is false, the client has not got
     * the whole answer. */
    void (*on_end)(void *arg, bool was_sent);
    void *arg;
};

/* Copies answer and frees the request. May be called in any callback of the loop. */
void http_answer(struct http_request *, const struct http_answer *);

/* ---- answers without an end ---- */

/* Begins an answer whose body follows in pieces. head.body is its first piece. The request is freed when the
 * answer has ended, after on_end, which must not be NULL; was_sent has no meaning. The request may have been
 * marked by http_request_linger, and then stays so: on_left should end the answer. */
void http_stream_begin(struct http_request *, const struct http_answer *head);

/* Appends a piece to the body. If the client reads so slowly that more than HTTP_STREAM_MAX bytes wait,
 * closes the connection instead. */
enum { HTTP_STREAM_MAX = 256 * 1024 };
void http_stream_write(struct http_request *, struct slice piece);

/* Returns how many bytes of the body the connection has not taken. */
size_t http_stream_waiting(const struct http_request *);

/* Ends the body after what was written. */
void http_stream_end(struct http_request *);

#endif

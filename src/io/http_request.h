/* http_request.h - one request of an HTTP server: what it is, who handles it, and its answer.
 *
 * A request that reaches the handler has passed the header gate: its framing is sound. The body has come
 * whole and fits. The handler answers at once or later, exactly once, with http_answer. Every request must be
 * answered (its store call has a deadline). When a client leaves while its request is being handled, the
 * answer is dropped. */
#ifndef DUEPOST_IO_HTTP_REQUEST_H
#define DUEPOST_IO_HTTP_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/slice.h"
#include "io/http_header.h"

struct http_limits;
struct http_request;

/* Handles the requests of a server. */
struct http_handler {
    size_t max_body_bytes;      /* unless http_request_allow says otherwise */
    struct http_limits *limits; /* borrowed; NULL: each connection is for one request, and an extra one */
    size_t max_waiting;         /* unanswered requests; those beyond are over the limit */
    /* The head has come, the body not yet: answer now to refuse it (the
     * connection is closed after that when there is a body), or do nothing. */
    void (*on_head)(void *arg, struct http_request *);
    /* All has come. Not called for a request that on_head answered. */
    void (*on_request)(void *arg, struct http_request *);
    /* The body outgrows max_body_bytes, and http_request_allow has allowed for that: may it? So far,
     * http_request_body holds its first max_body_bytes. NULL where nothing is allowed. */
    bool (*on_large)(void *arg, struct http_request *);
    /* The body exceeds what it may have: must answer. */
    void (*on_too_large)(void *arg, struct http_request *);
    /* There is no room for the body (http_limits.h): must answer. */
    void (*on_over_limit)(void *arg, struct http_request *);
    /* The header gate refuses it, detail says why: must answer, the connection is closed. */
    void (*on_malformed)(void *arg, struct http_request *, const char *detail);
    /* May be NULL. The client left before its request had come whole (or the server is freed): the request
     * is gone after it, and must not be answered. */
    void (*on_gone)(void *arg, struct http_request *);
    void *arg;
};

/* What a request is. Borrowed until its answer. */
struct slice http_request_method(const struct http_request *);
struct slice http_request_target(const struct http_request *);                   /* raw, as sent */
struct slice http_request_header(const struct http_request *, const char *name); /* "" when absent */
bool http_request_has_header(const struct http_request *, const char *name);

/* All lines of a header that is a list (RFC 9110, 5.3), in their order, with commas between. */
void http_request_join_header(const struct http_request *, const char *name, struct buffer *joined);
struct slice http_request_body(const struct http_request *);

/* The address that the connection comes from, as text: the client's, or that of what stands in between. */
enum { HTTP_FROM_SIZE = 64 };
void http_request_from(const struct http_request *, char text[HTTP_FROM_SIZE]);

/* There are more than there is room for: its connection is an extra one, or too many requests wait. Whoever
 * does not ask how we are is to be answered 503. It may become true between on_head and on_request. */
bool http_request_is_over_limit(const struct http_request *);

/* Takes room for an answer of so many bytes. False: there is none, and whoever changed nothing is to be
 * answered 503 instead. Other answers are taken in any case. */
bool http_request_take_room(struct http_request *, size_t bytes);

/* In on_head: the body may have up to max_bytes, over max_body_bytes, if on_large agrees once it has. */
void http_request_allow(struct http_request *, size_t max_bytes);

/* A place for the handler's own state, NULL at first. */
void http_request_set_context(struct http_request *, void *context);
void *http_request_context(const struct http_request *);

struct http_answer {
    unsigned status;
    struct slice content_type;         /* empty: none */
    const struct http_header *headers; /* further ones */
    size_t header_count;
    struct slice body; /* copied; left out for HEAD, with its length kept */
};

/* Copies answer; request is gone after it. May be called in any callback of the loop. */
void http_answer(struct http_request *, const struct http_answer *);

#endif

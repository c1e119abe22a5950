/* http_request_private.h - inside the HTTP server: one request, from its first line to its end.
 *
 * Only http_server.c and http_request.c include this. The functions are the callbacks that libmicrohttpd
 * calls, in this order. Their arg is the server's struct http_requests. */
#ifndef DUEPOST_IO_HTTP_REQUEST_PRIVATE_H
#define DUEPOST_IO_HTTP_REQUEST_PRIVATE_H

#include <microhttpd.h>

#include "base/list.h"
#include "io/http_bytes.h"
#include "io/http_peer.h"
#include "io/http_request.h"
#include "io/loop.h"

/* All requests of one server. */
struct http_requests {
    struct http_handler handler;
    struct http_deadlines *deadlines;
    struct http_bytes bytes;
    struct list waiting;  /* suspended requests, without an answer */
    struct list answered; /* suspended requests, to be resumed at the end of the turn */
    size_t pending;
    size_t suspended; /* waiting or answered */
    bool is_quiesced;
    /* Called when answered has one more: a turn must end soon, also when nothing else happens. */
    loop_fn *on_answered;
    void *arg;
};

enum request_state {
    REQUEST_HEAD,   /* the handler has not been called yet */
    REQUEST_BODY,   /* passed on_head; the body comes */
    REQUEST_ANSWER, /* suspended, or resumed to be answered */
    REQUEST_SENT,   /* the answer is libmicrohttpd's now */
};

struct http_request {
    struct list link; /* in waiting or answered */
    struct http_requests *requests;
    struct http_peer *peer;
    struct MHD_Connection *connection;
    enum request_state state;
    bool is_called;    /* a callback runs: its answer is sent when it returns */
    bool is_discarded; /* the body exceeds what it may have or what there is room for, and is not kept */
    bool has_no_room;  /* is why */
    bool is_suspended;
    bool must_close;
    bool has_body;
    const char *method;
    const char *target_at; /* where libmicrohttpd has it; compared, never read */
    struct slice target;   /* a copy, because the original is decoded in place */
    size_t max_body_bytes; /* if on_large agrees; body has its own maximum until then */
    struct buffer body;
    size_t body_bytes, answer_bytes; /* taken of the limits for each */
    size_t discarded_bytes;
    unsigned status;
    struct MHD_Response *response; /* made, and not yet queued */
    void *context;
};

/* The request line is there: the request is born. */
void *http_request_begin(void *arg, const char *target, struct MHD_Connection *);

/* What libmicrohttpd calls the handler. */
enum MHD_Result http_request_advance(void *arg, struct MHD_Connection *, const char *url, const char *method,
                                     const char *version, const char *upload, size_t *upload_size,
                                     void **context);

/* Resumes the connections of a list, which is waiting or answered. */
void http_requests_resume(struct http_requests *, struct list *);

/* Sent, or the client left: the request dies, and only here. */
void http_request_end(void *arg, struct MHD_Connection *, void **context, enum MHD_RequestTerminationCode);

#endif

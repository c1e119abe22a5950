/* request_private.h - inside the HTTP server: one request, from its first line to its end.
 *
 * Only server.c and request.c include this. Most functions are callbacks of libmicrohttpd, in the
 * order in which it calls them. Their arg is the server's struct http_requests. */
#ifndef DUEPOST_IO_HTTP_REQUEST_PRIVATE_H
#define DUEPOST_IO_HTTP_REQUEST_PRIVATE_H

#include <microhttpd.h>

#include "base/list.h"
#include "io/http/bytes.h"
#include "io/http/peer.h"
#include "io/http/request.h"
#include "io/loop.h"

/* All requests of one server. */
struct http_requests {
    struct http_handler handler;
    struct http_deadlines *deadlines;
    struct http_bytes bytes;
    struct list waiting;  /* suspended requests without an answer */
    struct list answered; /* suspended requests with an answer, which are resumed at the end of the turn */
    size_t pending;
    size_t suspended; /* waiting or answered */
    size_t lingering; /* number of unanswered requests that may wait long */
    struct loop *loop;
    bool is_quiesced;
    bool is_freed; /* the server is being freed, so nothing may be suspended */
    /* Called when a request is added to the list answered. The loop must then end its turn soon, even without
     * other events. */
    loop_fn *on_answered;
    void *arg;
};

enum request_state {
    REQUEST_HEAD,   /* the handler has not been called yet */
    REQUEST_HELD,   /* on_head has delayed the body: suspended, or resumed */
    REQUEST_BODY,   /* on_head has accepted the request; the body is arriving */
    REQUEST_ANSWER, /* suspended, or resumed to send the answer */
    REQUEST_SENT,   /* libmicrohttpd has the answer */
};

struct http_request {
    struct list link; /* link in the list waiting or answered */
    struct http_requests *requests;
    struct http_peer *peer;
    struct MHD_Connection *connection;
    enum request_state state;
    bool is_called;    /* a callback is running: an answer is sent when it returns */
    bool is_discarded; /* the body exceeds its maximum or the limits, and is not kept */
    bool has_no_room;  /* the body is discarded because the memory limits are reached */
    bool is_suspended;
    bool must_close;
    bool has_body;
    uint64_t content_length; /* 0: unknown, or no body */
    bool is_held;            /* on_head has delayed the body, and the handler has not decided yet */
    bool is_guest;           /* the request has no token: its body counts for the share of such requests */
    const char *method;
    const char *target_at; /* address of libmicrohttpd's copy; it is compared and never dereferenced */
    size_t target_seen;    /* size of libmicrohttpd's copy */
    struct slice target;   /* copy of the target, because libmicrohttpd decodes its own copy in place */
    struct http_tail tail; /* the end of the target, as it was reserved from the limits */
    size_t max_body_bytes; /* maximum that on_large can allow; until then body has a lower maximum */
    struct buffer body;
    /* Bytes of the body and of the answer that count for the memory limits of limits.h. */
    size_t body_bytes, answer_bytes;
    size_t discarded_bytes;
    unsigned status;
    struct MHD_Response *response; /* the answer, until libmicrohttpd gets it */
    void *context;
    bool is_lingering;
    struct watch *leaving; /* watch on the socket while is_lingering is true; NULL after the client has sent
                              more bytes */
    void (*on_left)(void *arg);
    void *left_arg;
    void (*on_end)(void *arg, bool was_sent); /* called when the answer was sent or dropped */
    void *end_arg;
    bool is_stream, is_stream_over; /* see http_stream_begin */
    struct buffer stream;           /* pieces of the body that libmicrohttpd has not got; */
    size_t stream_sent;             /* number of bytes at the beginning of stream that it has got */
};

/* Creates a request when the request line has arrived. */
void *http_request_begin(void *arg, const char *target, struct MHD_Connection *);

/* Handles each step of a request; libmicrohttpd's access handler. */
enum MHD_Result http_request_advance(void *arg, struct MHD_Connection *, const char *url, const char *method,
                                     const char *version, const char *upload, size_t *upload_size,
                                     void **context);

/* Resumes the connections of a list: waiting or answered. */
void http_requests_resume(struct http_requests *, struct list *);

/* Frees a request, after its answer was sent or the client left. No other function frees requests. */
void http_request_end(void *arg, struct MHD_Connection *, void **context, enum MHD_RequestTerminationCode);

#endif

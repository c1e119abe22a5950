/* http_call.h - one HTTP request and its outcome, for the users of http_client.h. */
#ifndef DUEPOST_IO_HTTP_CALL_H
#define DUEPOST_IO_HTTP_CALL_H

#include <sys/socket.h>

#include "base/slice.h"
#include "base/status.h"

struct http_call;

enum {
    HTTP_ANSWER_MAX = 1024, /* bytes of an answer's body that are told */
    HTTP_DETAIL_MAX = 200,  /* bytes of detail: visible ASCII and blanks, without quotes and backslashes */
};

enum http_error {
    HTTP_ERROR_NONE, /* an answer came; its status counts as soon as its head is complete */
    HTTP_ERROR_DNS,
    HTTP_ERROR_CONNECT,
    HTTP_ERROR_TLS,
    HTTP_ERROR_TIMEOUT,
    HTTP_ERROR_RESET,       /* the connection ended without an answer */
    HTTP_ERROR_IDLE_CLOSED, /* the same of a reused one, before any line of an answer: most likely it was
                               closed for being idle while the request was on its way */
    HTTP_ERROR_REFUSED,     /* may_connect refused every address, or the address of the reused connection */
    HTTP_ERROR_TOO_LARGE,   /* head over its cap; a body over its cap does not change the status */
    HTTP_ERROR_PROTOCOL,    /* what came is no HTTP */
    HTTP_ERROR_UNSENT,      /* may_send said no: nothing was handed to the network */
    HTTP_ERROR_CROWDED,     /* too many names are being looked for; nothing was begun */
};

struct http_outcome {
    enum http_error error;
    int status;             /* when error is NONE */
    int64_t retry_after_ms; /* of the Retry-After header, -1 without one */
    int64_t duration_ms;    /* name lookup to end */
    bool was_sent;          /* the request was handed to the network, if only in part */
    bool is_reused;         /* over a connection that an earlier call had opened */
    struct slice answer;    /* when error is NONE: its body's first bytes; borrowed until on_done returns */
    bool is_answer_cut;     /* there was more of it, or it did not come whole */
    struct slice
        detail; /* when error is another one: what libcurl says of it, if it does; borrowed likewise */
};

enum http_method {
    HTTP_METHOD_POST, /* where none is given */
    HTTP_METHOD_GET,
    HTTP_METHOD_PUT,
    HTTP_METHOD_PATCH,
    HTTP_METHOD_DELETE,
    HTTP_METHOD_HEAD,
};

struct http_call_request {
    enum http_method method;
    struct slice url;            /* http or https */
    const struct slice *headers; /* "Name: value" lines, checked by the caller */
    size_t header_count;
    /* An empty body of a POST, PUT or PATCH is sent as Content-Length: 0. Other methods without a body have
     * no Content-Length. A HEAD never has a body. */
    struct slice body;
    int64_t timeout_ms; /* name lookup to end of answer */
    bool needs_fresh;   /* kept-alive connections are not used */
    /* The two questions must not call back into the client.
     * Before a packet goes to address, for new and reused connections alike. */
    bool (*may_connect)(void *arg, const struct sockaddr *address);
    /* Just before the request is handed to the network. */
    bool (*may_send)(void *arg);
    void (*on_done)(void *arg, const struct http_outcome *);
    void *arg;
};

#endif

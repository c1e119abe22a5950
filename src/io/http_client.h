/* http_client.h - HTTP requests, many at once; the only user of libcurl.
 *
 * A client belongs to one loop. Each http_call brings exactly one on_done, never inside the function that was
 * given it. A request is put on the wire at most once: whatever happens to its connection, it is never
 * repeated here. A kept-alive connection that its other end has closed is not used. Redirects are not
 * followed; netrc, cookies, and proxies other than the one in its options are not used. */
#ifndef DUEPOST_IO_HTTP_CLIENT_H
#define DUEPOST_IO_HTTP_CLIENT_H

#include <sys/socket.h>

#include "base/slice.h"
#include "base/status.h"
#include "io/loop.h"

struct http_client;
struct http_call;

struct http_client_options {
    const char *ca_file; /* certificates trusted besides the system's, or NULL */
    const char *proxy;   /* http://[user:password@]host:port to connect to instead of receivers, or NULL */
    size_t max_idle;     /* kept-alive connections */
};

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

/* Then sockaddr in may_connect is the proxy's, and receivers' names are resolved by it. */
bool http_client_has_proxy(const struct http_client *);

struct http_client *http_client_new(struct loop *, const struct http_client_options *);

/* Calls that still run are dropped without on_done. */
void http_client_free(struct http_client *);

/* Starts a call. Borrows url, headers and body until on_done. */
struct http_call *http_call(struct http_client *, const struct http_call_request *);

/* Waits no longer for the rest of an answer whose status is known: on_done follows. False: it is not known,
 * nothing changes. */
bool http_call_hurry(struct http_call *);

/* Ends it now, without on_done. */
void http_call_abort(struct http_call *);

#endif

/* client.h - HTTP requests, many at once; the only user of libcurl.
 *
 * A client belongs to one loop. Each http_call leads to exactly one on_done, which is never called inside
 * http_call. A request is sent at most once. The client never repeats a request, whatever happens to the
 * connection. The client does not send over a kept-alive connection that the receiver has closed. The client
 * does not follow redirects, and ignores netrc, cookies, and all proxies except the proxy in its options. */
#ifndef DUEPOST_IO_HTTP_CLIENT_H
#define DUEPOST_IO_HTTP_CLIENT_H

#include <sys/socket.h>

#include "base/status.h"
#include "base/system.h"
#include "base/slice.h"
#include "io/loop.h"

struct http_call;

enum {
    HTTP_ANSWER_MAX = 1024,           /* maximum size in bytes of the answer's body in an outcome */
    HTTP_REPLY_MAX = 100,             /* maximum size in bytes of a header of enum http_reply in an outcome */
    HTTP_ANSWER_HEAD_MAX = 16 * 1024, /* maximum size in bytes of all headers in an outcome */
    HTTP_LARGE_ANSWER_MAX = 64 * 1024, /* like HTTP_ANSWER_MAX, for a call with wants_large_answer */
    /* Maximum number of calls with a large answer at a time, in one client. Further calls get HTTP_ANSWER_MAX
     * bytes of the answer. */
    HTTP_LARGE_ANSWERS_MAX = 512,
    HTTP_DETAIL_MAX = 200, /* maximum size of detail, which has only visible ASCII and spaces, no quotes and
                              no backslashes */
};

/* The headers of answers that say what becomes of the job. */
enum http_reply {
    HTTP_REPLY_AGAIN, /* Duepost-Again */
    HTTP_REPLY_DEFER, /* Duepost-Defer */
    HTTP_REPLIES,
};

struct http_outcome {
    enum failure error;
    int status;             /* status of the answer, when error is NONE */
    int64_t retry_after_ms; /* value of the Retry-After header; -1: no such header */
    /* When error is NONE: the headers with which receivers reply. Several values of a header are joined by
     * commas; valid until on_done returns. */
    struct {
        bool is_there;
        struct slice value;
    } replies[HTTP_REPLIES];
    int64_t duration_ms; /* time from the name lookup to the end */
    bool was_sent;       /* at least a part of the request was passed to the network */
    /* When a new connection with TLS was made: until when the certificate of the receiver is valid, ms since
     * 1970; else 0. */
    int64_t certificate_until_ms;
    bool is_reused; /* the call used a connection that an earlier call had opened */
    struct slice
        answer; /* when error is NONE: the first bytes of the answer's body; valid until on_done returns */
    bool is_answer_cut; /* answer is only a part of the body: the body was longer, or incomplete */
    /* When error is NONE and the call wants them: the answer's headers as lines "Name: value", each with a
     * newline; whole lines up to HTTP_ANSWER_HEAD_MAX; valid until on_done returns. */
    struct slice headers;
    /* for errors: a message, mostly from libcurl; may be empty; valid until on_done returns */
    struct slice detail;
};

enum http_method {
    HTTP_METHOD_POST, /* the default */
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
    int64_t timeout_ms; /* time limit from the name lookup to the end of the answer */
    bool needs_fresh;   /* kept-alive connections are not used */
    bool wants_large_answer;
    bool needs_large_answer; /* the answer is large whatever other calls have, see HTTP_LARGE_ANSWER_MAX */
    bool wants_headers;      /* the result includes the headers of the answer */
    /* Both may_connect and may_send return whether the call may continue, and must not call functions of the
     * client. may_connect is called before any packet is sent to address, whether the connection is new or
     * reused. */
    bool (*may_connect)(void *arg, const struct sockaddr *address);
    /* Called just before the request is passed to the network. */
    bool (*may_send)(void *arg);
    void (*on_done)(void *arg, const struct http_outcome *);
    void *arg;
};

struct http_client;

struct http_client_options {
    /* File with CA certificates that are trusted in addition to the system's, or NULL. */
    const char *ca_file;
    /* Client certificate with its chain, and its private key, in PEM: for receivers that ask for one; NULL:
     * none. */
    const char *certificate, *private_key;
    const char *proxy; /* http://[user:password@]host:port to connect to instead of receivers, or NULL */
    size_t max_idle;   /* plain.c, without TLS, and libcurl each keep at most this many idle connections */
    bool uses_libcurl_only; /* libcurl sends all requests, plain.c none */
};

/* Returns whether there is a proxy. may_connect then gets the proxy's address, and the proxy resolves
 * receivers' names. */
bool http_client_has_proxy(const struct http_client *);

struct http_client *http_client_new(struct loop *, const struct http_client_options *);

/* Frees the client and its running calls, without on_done. */
void http_client_free(struct http_client *);

/* Starts a call. Copies the headers; borrows url and body until on_done. */
struct http_call *http_call(struct http_client *, const struct http_call_request *);

/* If the status of the answer is known, stops waiting for the rest of the answer; on_done is then called
 * soon. Returns false and changes nothing if the status is not known yet. */
bool http_call_hurry(struct http_call *);

/* Ends a call at once, without on_done. */
void http_call_abort(struct http_call *);

/* From now on, libcurl only connects in all clients of the process, because it does not read answers safely
 * (trial.c). Calls that only libcurl could send end with FAILURE_CROWDED. Call it before any thread
 * starts. */
void http_client_distrust_libcurl(void);

/* Sets the name and the version of libcurl. */
void http_client_library(struct library *);

#endif

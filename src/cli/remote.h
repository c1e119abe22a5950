/* remote.h - sends a command's requests to a server: one at a time (struct remote), or many at once without
 * waiting (struct remote_calls). */
#ifndef DUEPOST_CLI_REMOTE_H
#define DUEPOST_CLI_REMOTE_H

#include <jansson.h>
#include <poll.h>

#include "base/buffer.h"
#include "base/slice.h"
#include "base/status.h"
#include "base/system.h"

enum {
    REMOTE_URL_MAX = 8192,
    REMOTE_ANSWER_MAX = 256 * 1024 * 1024,
};

struct remote;

struct remote_options {
    const char *server;        /* URL of the server; NULL: "http://127.0.0.1:7700" */
    const char *authorization; /* a header; "": none */
    const char *ca_file;       /* trusted certificates for https; NULL: certificates of this host */
    bool trusts_any;           /* certificates are not checked */
    const char *socket; /* abstract name of a socket of this host, used instead of the server's address; NULL:
                           none */
    const char *key;    /* idempotency key of each POST; NULL: none */
    long timeout_s;     /* timeout of each request; 0: one minute */
};

/* Checks that the options can be used: the server is a URL, and the certificates can be read. Returns
 * STATUS_INVALID after an error; problem then says what is wrong. */
enum status remote_options_check(const struct remote_options *, struct problem *) MUST_USE;

/* Creates a remote. Borrows the strings of the options. */
struct remote *remote_new(const struct remote_options *);

void remote_free(struct remote *); /* NULL is ignored */

/* Sends one request and puts the answer's body into answer. body is JSON or NULL. Returns STATUS_OK if the
 * answer's status is 2xx. Returns STATUS_FAILED otherwise; problem then has the reason, in the server's words
 * if the server sent one. */
enum status remote_ask(struct remote *, const char *method, const char *target, const char *body,
                       struct buffer *answer, struct problem *) MUST_USE;

/* Return the status of the last answer of remote_ask (0: none came), and its Retry-After in seconds, or 0. */
long remote_status(const struct remote *);
long remote_retry_after_s(const struct remote *);

/* Does the same as remote_ask, but returns the answer as JSON. The caller frees it with json_decref. Returns
 * NULL after an error; problem then says why. The tree is for decisions and tables: in it, a number that
 * neither int64_t nor double can hold, such as in a job's body, is 0. remote_text has the answer to print. */
json_t *remote_ask_json(struct remote *, const char *method, const char *target, const char *body,
                        struct problem *);

/* Returns the text of the last answer of remote_ask_json, as the server sent it. It is valid until the next
 * call of remote_ask_json. */
struct slice remote_text(const struct remote *);

/* Returns false to end the stream. */
typedef bool remote_piece_fn(void *arg, struct slice piece);

/* Sends a GET whose answer has no end, and calls fn for each piece of it. header is one more header line, or
 * "". Returns when the stream has ended: OK if the server has ended it. *status is that of the answer; 0:
 * none came. */
enum status remote_stream(struct remote *remote, const char *target, const char *header, remote_piece_fn *fn,
                          void *arg, long *status, struct problem *problem) MUST_USE;

/* Sends a POST to any URL with these header lines. Returns STATUS_OK if an answer came; *status is then the
 * answer's status, which may be an error. */
enum status remote_post(struct remote *, const char *url, const char *const *headers, size_t count,
                        const char *body, struct buffer *answer, long *status, struct problem *) MUST_USE;

/* Returns whether a request was sent, or may have been sent. If none was sent, an error is one of the command
 * line. */
bool remote_has_sent(const struct remote *);

/* Returns the options that remote_new got. If the options had no server, the result has the default
 * server. The strings are valid until the remote is freed. */
struct remote_options remote_options(const struct remote *);

/* Returns whether the server is on this host: at localhost or a loopback address. */
bool remote_is_local(const struct remote *);

/* Sets the problem to the reason of an answer whose status is not 2xx: the answer's errors, or else its
 * detail, or else its status. */
void remote_explain(long status, struct slice answer, struct problem *);

/* Names the library that reads JSON and its version. */
void remote_library(struct library *);

struct remote_calls;

struct remote_call;

struct remote_calls *remote_calls_new(struct remote *); /* borrows the strings of its options */

void remote_calls_free(struct remote_calls *); /* cancels all calls; NULL is ignored */

struct remote_request {
    const char *target; /* copied, like body and key */
    struct slice body;  /* JSON; empty: the request has none */
    const char *method; /* NULL: POST if there is a body, else GET */
    const char *key;    /* idempotency key; NULL: none */
    long timeout_ms;    /* time until the answer must be complete */
    /* For a request to another server. It has no headers but its own, and no token. */
    const char *url;             /* used instead of target; NULL: the request is for the server */
    const struct slice *headers; /* lines "Name: value" */
    size_t header_count;
    size_t answer_max; /* more of the answer is thrown away */
};

/* status is 0 if no answer came, and text is then the reason. Otherwise text is the body of the answer. Text
 * is valid until the callback returns. */
typedef void remote_call_fn(void *arg, long status, struct slice text);

/* Sends a request. The result is valid until its callback. */
struct remote_call *remote_call_start(struct remote_calls *, const struct remote_request *, remote_call_fn *,
                                      void *arg);

/* Return the value of a header of the answer, or NULL, and whether a part of the answer was thrown away. The
 * call must be in its callback. */
const char *remote_call_header(const struct remote_call *, const char *name);
bool remote_call_is_cut(const struct remote_call *);

/* Ends a call without its callback and closes its connection. */
void remote_call_cancel(struct remote_call *);

/* Sends and receives without waiting, and runs the callbacks of complete calls. */
void remote_calls_step(struct remote_calls *);

enum { REMOTE_CALLS_WAIT_MAX = 256 }; /* maximum number of descriptors of remote_calls_wait */

/* Waits until one of the descriptors is readable, a call can continue, or the time is over. Returns at once
 * if count is more than REMOTE_CALLS_WAIT_MAX. */
void remote_calls_wait(struct remote_calls *, const int *descriptors, size_t count, int timeout_ms);

#endif

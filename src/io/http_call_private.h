/* http_call_private.h - inside the HTTP client: one call, from its options to its outcome.
 *
 * Only http_client.c, http_call*.c and http_plain.c include this. The struct of an ended call is used again
 * for a later call, but not the easy handle that has read an answer: libcurl 7.88 keeps a pointer to the last
 * header of a handle's earlier transfer, and writes there if the next answer begins with a folded header
 * line. */
#ifndef DUEPOST_IO_HTTP_CALL_PRIVATE_H
#define DUEPOST_IO_HTTP_CALL_PRIVATE_H

#include <curl/curl.h>

#include "base/buffer.h"
#include "base/list.h"
#include "io/freeze_guard.h"
#include "io/http_call.h"
#include "io/http_handles.h"
#include "io/http_reader.h"
#include "io/http_sockets.h"
#include "io/name_lookups.h"

/* The client that runs the calls. Calls borrow the client. The callbacks below must not call functions of
 * libcurl. */
struct http_call_owner {
    struct freeze_guard *guard;
    struct http_sockets *sockets;
    struct http_handles *handles;
    const char *ca_file, *proxy; /* may be NULL */
    /* Called when the status is known; the body may still be incomplete. */
    void (*on_head)(void *arg, struct http_call *);
    /* Called when an address was refused; libcurl must try the next address at once. */
    void (*on_refused)(void *arg, struct http_call *);
    void *arg;
};

struct http_call {
    struct list link;
    struct list drain_link;
    struct list push_link;
    int64_t drain_until_us;
    const struct http_call_owner *owner;
    CURL *easy; /* from http_call_prepare or http_call_prepare_connect until http_call_release, or NULL */
    CURLSH *sessions; /* TLS sessions of earlier requests that libcurl has sent, or NULL */
    struct http_call_request request;
    struct http_reader reader; /* reads the answer; for calls that libcurl sends, only the answer's heads */
    struct http_outcome outcome;
    enum failure verdict;      /* the failure for which one of our callbacks ended the call */
    const char *fault;         /* for a verdict of PROTOCOL: a message for people */
    struct curl_slist renewal; /* removes the name in the url from libcurl's cache of names */
    char name_entry[NAME_ENTRY_MAX];
    struct curl_slist *lines;
    size_t line_capacity;
    char *text; /* url and lines, each followed by a NUL */
    size_t text_capacity;
    size_t head_bytes;
    size_t body_bytes;
    char answer[HTTP_ANSWER_MAX]; /* the first bytes of the body */
    struct buffer headers;        /* headers of the answer, if the call wants them */
    struct buffer large_answer;   /* the first bytes of the body, if is_large */
    bool is_large;
    char error_text[CURL_ERROR_SIZE]; /* libcurl's message for a failure, or empty */
    int status;                       /* status of the head that is being read */
    bool has_head;                    /* the final head is complete */
    bool is_ended;                    /* the call has ended, and on_done will be called */
    bool has_retry_after;
    int64_t retry_after_s;
    bool has_again;
    char again[HTTP_AGAIN_MAX]; /* the values of Duepost-Again */
    size_t again_bytes;
    int local_port;   /* local port of the connection that sends the request */
    int open_errno;   /* why the last socket could not be opened; 0: it was opened */
    bool was_opened;  /* a socket to an allowed address was opened */
    bool was_refused; /* may_connect has refused an address */
    bool is_stale;    /* the chosen connection is closed: the call begins again on a fresh one */
    /* http_plain.h sends the call, without libcurl. The members below are used for such calls only. */
    bool is_plain;
    bool is_connecting;                 /* libcurl makes the connection */
    bool is_in_libcurl;                 /* the call was passed to libcurl */
    bool is_tls;                        /* the scheme of the request's url is https */
    struct slice origin;                /* scheme and authority of the request's url */
    struct buffer head;                 /* head of the request */
    int64_t begun_us;                   /* by clock_steady_us */
    struct timer *deadline;             /* NULL until http_plain.h has sent a call */
    struct http_connection *connection; /* connection that carries the call, or NULL */
};

enum { HTTP_HEAD_MAX = 16 * 1024 * 1024 }; /* maximum size of a request's head; callers have smaller limits */

struct http_call *http_call_new(const struct http_call_owner *);
void http_call_free(struct http_call *);

/* Prepares a call for the multi handle, with a new easy handle. */
void http_call_prepare(struct http_call *, const struct http_call_request *);

/* Makes libcurl look up the name again that call->name_entry removes from its cache. Call it after one of the
 * functions that prepare a call for libcurl. */
void http_call_renew_name(struct http_call *);

/* Frees the easy handle, or gives it back. The call is not in the multi handle any more. */
void http_call_release(struct http_call *);

/* Prepares the call again, for a fresh connection and the remaining time of the call. */
void http_call_prepare_again(struct http_call *);

/* Prepares a call that http_plain.h sends. The slice origin must point into the request's url. The caller
 * writes call->head. */
void http_call_prepare_plain(struct http_call *, const struct http_call_request *, bool is_tls,
                             struct slice origin);

/* Prepares libcurl to connect for a call that http_plain.h will send. */
void http_call_prepare_connect(struct http_call *);

/* Returns the descriptor of the connection that libcurl has opened, or -1. The caller now owns the
 * connection, and must remove the call from libcurl. If is_tls, the caller also takes the handle, which
 * remains in libcurl and closes the descriptor later; see http_call_take_handle. (The descriptor is libcurl's
 * own, not a duplicate. If libcurl closed its descriptor while a duplicate is open, the closed descriptor
 * would stay in the epoll set, and libev would have to build a new set.) */
int http_call_take_connection(const struct http_call *);

/* Returns the handle that has opened the connection. */
CURL *http_call_take_handle(struct http_call *);

/* Asks may_connect and may_send whether the request may be sent to this address now; an address of NULL is
 * refused. If the result is true, the thread is inside the freeze guard, and the caller leaves the guard
 * after sending. If the result is false, the call's verdict says why it was not sent. */
bool http_call_begin_sending(struct http_call *, const struct sockaddr *, bool is_reused);

/* Takes what the reader has found: a part of the answer, or a failure. For a line, the caller has added the
 * line's size to head_bytes. Returns false if the call must end; the verdict then says why, except for
 * HTTP_READ_NO_MEMORY. */
bool http_call_take(struct http_call *, enum http_read, struct slice part);

/* Fills in the outcome when the call has ended, before the easy handle is reset. Defined in
 * http_call_outcome.c. */
void http_call_fill_outcome(struct http_call *, CURLcode);

#endif

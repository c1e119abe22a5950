/* client_private.h - inside the HTTP client: the parts of which client.c is made, each with its file. */
#ifndef DUEPOST_IO_HTTP_CLIENT_PRIVATE_H
#define DUEPOST_IO_HTTP_CLIENT_PRIVATE_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/slice.h"
#include "io/freeze_guard.h"
#include "io/http/client.h"
#include "io/http/reader.h"
#include "io/loop.h"

/* ---- name lookups (name_lookups.c) ----
 *
 * libcurl resolves a name in a thread of its own, and libc's resolver cannot be stopped. When a name server
 * does not answer, the thread runs until libc gives up, although its HTTP call has ended. Without a limit,
 * calls with short timeouts could leave any number of such threads. The limit is NAME_LOOKUPS_MAX threads.
 * When it is reached, only calls to recently found names may begin, because libcurl has these names in its
 * cache.
 *
 * libcurl caches the addresses of a name for 60 s, also if no connection to them can be opened. After such a
 * failure, the next call looks the name up again, but at most once a second. */

enum { NAME_LOOKUPS_MAX = 2048 };

struct name_lookups;

struct name_lookups *name_lookups_new(void);
void name_lookups_free(struct name_lookups *); /* NULL is ignored */

/* Returns false if a call to url would exceed the limit. now_us may come from any clock that does not
 * step. */
bool name_lookups_may_begin(struct name_lookups *, struct slice url, int64_t now_us);

/* Notes that the name in url was found, or that url has a literal address. */
void name_lookups_found(struct name_lookups *, struct slice url, int64_t now_us);

/* Notes that no connection to the addresses of the name in url could be opened. */
void name_lookups_failed(struct name_lookups *, struct slice url);

enum { NAME_ENTRY_MAX = 300 };

/* Returns whether the call that begins now must look up the name in url again. If so, entry is the text for
 * CURLOPT_RESOLVE that removes the name from libcurl's cache. */
bool name_lookups_must_renew(struct name_lookups *, struct slice url, int64_t now_us,
                             char entry[NAME_ENTRY_MAX]);

/* Notes that a call has ended during its name lookup. */
void name_lookups_abandoned(struct name_lookups *, int64_t now_us);

/* ---- sockets (sockets.c) ----
 *
 * Libcurl's sockets, by descriptor.
 *
 * A socket is watched for as long as its connection is kept alive. The socket is shut when it receives far
 * more data than an answer may have. The socket is also shut when it receives data or the end of the
 * connection while idle, because libcurl 7.88 would send the next request on that connection and lose the
 * request.
 *
 * A receiver may close a connection at the moment at which a request is sent on it. The close cannot be
 * detected before it arrives here, and the request fails with a reset. The first such reset of a job is
 * recorded as an attempt that does not use up a retry (the member "uncounted" of the job's record). */

struct http_sockets;

/* Called when a socket is ready. The function may close the socket. */
typedef void http_sockets_fn(void *arg, int fd, bool readable, bool writable);

struct http_sockets *http_sockets_new(struct loop *, http_sockets_fn *on_ready, void *arg);
void http_sockets_free(struct http_sockets *); /* NULL is ignored; closes no sockets */

/* Watches fd for the events that libcurl wants. If read and write are false, libcurl keeps the connection
 * idle. */
void http_sockets_watch(struct http_sockets *, int fd, bool read, bool write);

/* Marks fd as a connection to a receiver, as opposed to libcurl's internal sockets. */
void http_sockets_add_connection(struct http_sockets *, int fd);

/* Ends the watch of the connection fd, and makes the caller the owner of fd. When libcurl closes fd for the
 * next time with http_sockets_close, that call leaves fd open. */
void http_sockets_hand_over(struct http_sockets *, int fd);

/* Ends the watch of the connection fd. The caller watches fd, and libcurl closes it. */
void http_sockets_release(struct http_sockets *, int fd);

/* Returns whether libcurl still has to close the descriptor of the last http_sockets_hand_over. */
bool http_sockets_is_handing_over(const struct http_sockets *);

/* Closes fd for libcurl. Ends the watch of fd first if it still exists. */
int http_sockets_close(struct http_sockets *, int fd);

/* Returns whether the idle connection with this local port was closed by the peer, or has received data. */
bool http_sockets_is_stale(struct http_sockets *, int local_port);

/* Shuts the connections with this local port. Async-signal-safe, unless the thread is inside one of the
 * functions above. */
void http_sockets_shut(struct http_sockets *, int local_port);

/* ---- floods (sockets.c) ----
 *
 * Notices that a connection receives far more data than an answer may
 * have. */

/* Zero at the beginning of each answer. */
struct http_flood {
    unsigned reads;
    uint64_t received; /* bytes received at the first check */
};

/* Counts a read. Returns whether the connection fd has received too much since the first check. */
bool http_flood_has_come(struct http_flood *, int fd);

/* ---- handles (wire.c) ----
 *
 * Libcurl's handles that have connected for plain.c, and are
 * not in use.
 *
 * A handle keeps the TLS sessions of its latest receivers, so that its next connection to one of them resumes
 * a session. A handle with which libcurl has read an answer must not come here (see the calls below). */

struct http_handles;

struct http_handles *http_handles_new(void);
void http_handles_free(struct http_handles *); /* NULL is ignored */

/* Returns a new handle, or one that was used before and still has its old options. The caller sets each
 * option on which the call depends. */
CURL *http_handles_take(struct http_handles *);

/* Gives a handle back. Before that, the caller has removed it from the multi handle. */
void http_handles_give(struct http_handles *, CURL *);

/* ---- alerts of TLS (wire.c) ----
 *
 * How libssl reads for libcurl, and the alerts that it reads. */

/* Makes libssl note the alerts of this handle's connections, and makes a read return after each TLS record,
 * even if the record has no bytes for the caller, such as a session ticket. By default libssl reads on until
 * such bytes come. So a receiver that sends such records without end could keep the loop inside one read. */
void http_call_set_tls(CURL *);

/* Returns until when the certificate of the receiver is valid, ms since 1970. 0: the handle has no connection
 * with TLS, or TLS by another library than OpenSSL. May be called inside a callback of libcurl. */
int64_t http_call_certificate_until(CURL *);

/* The last fatal TLS alert that libssl has read in this thread since http_call_forget_alert. libcurl's own
 * message may have another cause, because libcurl keeps the first message of a transfer. */
void http_call_forget_alert(void);
bool http_call_has_alert(void);
void http_call_write_alert(char *text, size_t size); /* writes a message for people */

/* ---- wires (wire.c) ----
 *
 * The bytes of one connection that libcurl has opened, with or without
 * TLS.
 *
 * The bytes of a plain connection go through its socket. For a connection with TLS, libcurl has made the
 * handshake and checked the certificate, and its handle encrypts and decrypts the bytes. The handle remains
 * in the multi handle until the connection is closed.
 *
 * With TLS, each call of these functions makes libcurl search all connections of the multi handle for the
 * connection of this handle. So the number of connections with TLS must be limited. */

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

/* Returns whether the receiver has ended the connection with a TLS alert (wire.c). */
bool http_wire_has_alert(struct http_wire *, char *room);

/* Returns whether the connection is open, and nothing has arrived. */
bool http_wire_is_silent(struct http_wire *);

/* Closes the connection. Must not be called inside a callback of libcurl. */
void http_wire_close(struct http_wire *);

/* ---- calls (call.c, answer.c) ----
 *
 * One call, from its options to its outcome. The struct of an ended call is used again
 * for a later call, but not the easy handle that has read an answer: libcurl 7.88 keeps a pointer to the last
 * header of a handle's earlier transfer, and writes there if the next answer begins with a folded header
 * line. */

/* The client that runs the calls. Calls borrow the client. The callbacks below must not call functions of
 * libcurl. */
struct http_call_owner {
    struct freeze_guard *guard;
    struct http_sockets *sockets;
    struct http_handles *handles;
    const char *ca_file, *certificate, *private_key, *proxy; /* may be NULL */
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
    struct {
        bool is_there;
        size_t bytes;
        char text[HTTP_REPLY_MAX];
    } replies[HTTP_REPLIES];
    int local_port;   /* local port of the connection that sends the request */
    int open_errno;   /* why the last socket could not be opened; 0: it was opened */
    bool was_opened;  /* a socket to an allowed address was opened */
    bool was_refused; /* may_connect has refused an address */
    bool is_stale;    /* the chosen connection is closed: the call begins again on a fresh one */
    /* plain.c sends the call, without libcurl. The members below are used for such calls only. */
    bool is_plain;
    bool is_connecting;                 /* libcurl makes the connection */
    bool is_in_libcurl;                 /* the call was passed to libcurl */
    bool is_tls;                        /* the scheme of the request's url is https */
    struct slice origin;                /* scheme and authority of the request's url */
    struct buffer head;                 /* head of the request */
    int64_t begun_us;                   /* by clock_steady_us */
    struct timer *deadline;             /* NULL until plain.c has sent a call */
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

/* Forgets the replies of an earlier answer. */
void http_call_clear_replies(struct http_call *);

/* Prepares the call again, for a fresh connection and the remaining time of the call. */
void http_call_prepare_again(struct http_call *);

/* Prepares a call that plain.c sends. The slice origin must point into the request's url. The caller
 * writes call->head. */
void http_call_prepare_plain(struct http_call *, const struct http_call_request *, bool is_tls,
                             struct slice origin);

/* Prepares libcurl to connect for a call that plain.c will send. */
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
 * answer.c. */
void http_call_fill_outcome(struct http_call *, CURLcode);

/* ---- Retry-After (answer.c) ----
 *
 * Parses the seconds of a Retry-After header (RFC 9110, 10.2.3). */

enum { RETRY_AFTER_MAX_S = 366 * 24 * 3600 };

/* Returns the seconds of a Retry-After value (delay-seconds) with any number of digits, at most
 * RETRY_AFTER_MAX_S. A line end may follow the digits. Returns -1 for any other value: a date, or an invalid
 * text. */
int64_t retry_after_seconds(struct slice value);

/* ---- heads without libcurl (plain.c) ----
 *
 * The url and the head of a request that is sent without
 * libcurl. The functions are pure: no clock, no I/O. */

struct buffer;

/* The parts of a url. The slices point into the url, or to static texts. */
struct http_plain_url {
    bool is_tls;            /* the scheme is https */
    struct slice origin;    /* scheme and authority, as spelled */
    struct slice authority; /* host, or host:port, as spelled */
    struct slice target;    /* path and query */
};

/* Splits a url. Returns false for an unusual url, which libcurl might change before it sends the request.
 * Such a request must be sent by libcurl. */
bool http_plain_url_split(struct slice url, struct http_plain_url *);

/* Writes the head of the request into head, which is emptied first. */
void http_plain_head_write(struct buffer *head, const struct http_call_request *,
                           const struct http_plain_url *);

/* ---- connections without libcurl (plain.c) ----
 *
 * Sends plain requests over kept-alive connections. A request is plain
 * if no proxy is used, and its url, http or https, is not unusual.
 *
 * Most deliveries are small requests over kept-alive connections. For such a request libcurl needs about four
 * times as many instructions as this file. libcurl still resolves names, connects, does TLS, and sends all
 * other requests.
 *
 * The rules of client.h apply: a request is sent at most once, and only if may_connect allows its
 * address. */

struct http_plain;
struct http_connection;

/* Maximum number of calls with TLS at a time, and of idle connections with TLS (wire.c says why).
 * libcurl sends the calls beyond this number. */
enum { HTTP_PLAIN_TLS_MAX = 256 };

struct http_plain_events {
    /* Called when a call has ended. If code is CURLE_OK, there is an answer. Called once for each call,
     * perhaps inside http_plain_send. */
    void (*on_end)(void *arg, struct http_call *, CURLcode code);
    /* Called after the events of a connection were handled. Before, on_end may have been called for the
     * connection's call. */
    void (*on_ready)(void *arg);
    void *arg;
};

struct http_plain *http_plain_new(struct loop *, size_t max_idle, const struct http_plain_events *);
void http_plain_free(struct http_plain *); /* every call must have ended */

/* Sends a call over a kept-alive connection. Returns false if the pool has no such connection. */
bool http_plain_send(struct http_plain *, struct http_call *);

/* Sends a call over a new connection. Takes ownership of the wire's descriptor, or of its handle for TLS. */
void http_plain_send_over(struct http_plain *, const struct http_wire *, struct http_call *);

/* Closes the connection of a call, if it has one, without on_end. */
void http_plain_drop(struct http_call *);

/* Shuts the connection of a call. Async-signal-safe. */
void http_plain_shut(const struct http_connection *);

#endif

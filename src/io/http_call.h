/* http_call.h - inside the HTTP client: one call as libcurl sees it, from its options to its outcome.
 *
 * Only http_client.c and http_call*.c include this. A call is used again and
 * again: its easy handle keeps what is the same for each. */
#ifndef DUEPOST_IO_HTTP_CALL_H
#define DUEPOST_IO_HTTP_CALL_H

#include <curl/curl.h>

#include "base/list.h"
#include "io/http_client.h"

struct http_call {
    struct list link;
    struct list drain_link;
    struct list push_link;
    int64_t drain_until_us;
    struct http_client *client;
    CURL *easy;
    struct http_call_request request;
    enum http_method method; /* as the easy handle has it, with or without a body */
    bool has_body;
    struct http_outcome outcome;
    enum http_error verdict; /* why a callback ended it */
    struct curl_slist *lines;
    size_t line_capacity;
    char *text; /* url and lines, each with a NUL behind it */
    size_t text_capacity;
    size_t head_bytes;
    size_t body_bytes;
    char answer[HTTP_ANSWER_MAX];     /* the first of them */
    char error_text[CURL_ERROR_SIZE]; /* what libcurl says of a failure, or empty */
    int status;                       /* of the head that is being read */
    bool has_head;                    /* the final one, whole */
    bool is_ended;                    /* on_done is due */
    bool has_retry_after;
    int64_t retry_after_s;
    int local_port;   /* of the connection that it is about to be sent over */
    bool was_opened;  /* a socket, for an allowed address */
    bool was_refused; /* an address, before connecting */
    bool is_stale;    /* the connection that it was about to be sent over: it begins again, on a fresh one */
};

/* ca_file and proxy are borrowed, and may be NULL. */
struct http_call *http_call_new(struct http_client *, const char *ca_file, const char *proxy);
void http_call_free(struct http_call *);

/* Makes it ready to be given to the multi handle. */
void http_call_prepare(struct http_call *, const struct http_call_request *);

/* The same once more, on a fresh connection, with what is left of its time. */
void http_call_prepare_again(struct http_call *);

/* After its end, while the easy handle still has the answer; in http_call_outcome.c. */
void http_call_fill_outcome(struct http_call *, CURLcode);

/* Of http_client.c: the status is known, the body may take a little longer. */
void http_client_drain(struct http_client *, struct http_call *);

/* Of http_client.c: an address was refused; libcurl is to try the next one at once. */
void http_client_push(struct http_client *, struct http_call *);

/* Of http_client.c: a new connection's socket, which the freeze guard may shut. */
void http_client_add_connection(struct http_client *, curl_socket_t);

/* Of http_client.c: whether the kept-alive connection with this port at our end is of no use any more. */
bool http_client_is_stale(struct http_client *, int local_port);

/* Of http_client.c; arg is the client. */
int http_client_close_socket(void *arg, curl_socket_t);

/* Of http_client.c. */
struct freeze_guard *http_client_guard(struct http_client *);

#endif

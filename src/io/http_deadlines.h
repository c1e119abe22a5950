/* http_deadlines.h - time limits for each step of a request.
 *
 * libmicrohttpd's own timeout is an idle timer: one byte per second keeps a connection open forever. These
 * deadlines are absolute. When a connection misses one, its socket is shut down, and libmicrohttpd then
 * closes it. */
#ifndef DUEPOST_IO_HTTP_DEADLINES_H
#define DUEPOST_IO_HTTP_DEADLINES_H

#include "base/list.h"
#include "io/loop.h"

enum http_step {
    HTTP_STEP_HEAD, /* from the start of the connection, or from the request line, to the end of the head */
    HTTP_STEP_BODY, /* to the end of the body */
    HTTP_STEP_SEND, /* until the client has received the answer */
    /* until the next request line. A check that finds no new bytes starts the time again, so an idle
     * connection stays open as long as libmicrohttpd allows. The connection is closed if the received bytes
     * grow from one check to the next without completing the line. */
    HTTP_STEP_NEXT,
    HTTP_STEP_COUNT,
    HTTP_STEP_WORK, /* the handler works on the request; no deadline */
};

/* Embedded in the owner of a socket. Call http_deadline_clear before closing the socket. */
struct http_deadline {
    struct list link;
    enum http_step step;
    int64_t at_us;
    int fd;
    /* HTTP_STEP_NEXT: number of bytes that the connection had received at the last check; 0: it was not
     * checked yet. */
    uint64_t received_bytes;
};

struct http_deadlines;

struct http_deadlines *http_deadlines_new(struct loop *, const int64_t step_ms[HTTP_STEP_COUNT]);
void http_deadlines_free(struct http_deadlines *); /* every deadline must have been cleared */

void http_deadline_init(struct http_deadline *, int fd);
void http_deadline_start(struct http_deadlines *, struct http_deadline *, enum http_step);
void http_deadline_clear(struct http_deadline *);

/* http_deadline_cut shuts a socket before its deadline. http_deadlines_cut_first shuts the socket that has
 * been in this step longest, and returns its deadline, or NULL if no socket is in this step. */
void http_deadline_cut(struct http_deadline *);
struct http_deadline *http_deadlines_cut_first(struct http_deadlines *, enum http_step);

#endif

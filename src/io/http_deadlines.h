/* http_deadlines.h - how long a connection may take for each step of a request.
 *
 * libmicrohttpd's own timeout is an idle timer: a byte a second keeps a
 * connection for ever. These deadlines are absolute. Who misses one has its
 * socket shut down, and libmicrohttpd then closes the connection. */
#ifndef DUEPOST_IO_HTTP_DEADLINES_H
#define DUEPOST_IO_HTTP_DEADLINES_H

#include "base/list.h"
#include "io/loop.h"

enum http_step {
    HTTP_STEP_HEAD, /* from the connection, or the request line, to the end of the head */
    HTTP_STEP_BODY, /* to the end of the body */
    HTTP_STEP_SEND, /* until the client has taken the answer */
    HTTP_STEP_NEXT, /* to the next request line: may be idle for as long as libmicrohttpd lets it, but bytes
                       that make no line are cut the second time that they are found after so long */
    HTTP_STEP_COUNT,
    HTTP_STEP_WORK, /* ours; without a deadline */
};

/* Embedded in what has an open socket; http_deadline_clear comes before its close. */
struct http_deadline {
    struct list link;
    enum http_step step;
    int64_t at_us;
    int fd;
    uint64_t received_bytes; /* HTTP_STEP_NEXT: when it was last found idle; 0: not yet */
};

struct http_deadlines;

struct http_deadlines *http_deadlines_new(struct loop *, const int64_t step_ms[HTTP_STEP_COUNT]);
void http_deadlines_free(struct http_deadlines *); /* every deadline has been cleared */

void http_deadline_init(struct http_deadline *, int fd);
void http_deadline_start(struct http_deadlines *, struct http_deadline *, enum http_step);
void http_deadline_clear(struct http_deadline *);

/* Shuts its socket before the time; the first: who has waited longest in this step, or NULL. */
void http_deadline_cut(struct http_deadline *);
struct http_deadline *http_deadlines_cut_first(struct http_deadlines *, enum http_step);

#endif

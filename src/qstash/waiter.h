/* waiter.h - a wait of a run for an event: what the client asks for, what is kept, and the step that ends it.
 * Its functions are pure: no clock, no I/O. */
#ifndef DUEPOST_QSTASH_WAITER_H
#define DUEPOST_QSTASH_WAITER_H

#include "base/json_writer.h"

enum { WAITER_MAX = 64 * 1024 }; /* bytes of its text */

/* All slices are borrowed. */
struct waiter {
    struct slice url, timeout_url; /* decoded */
    struct slice timeout;          /* text of the client: "7d" */
    struct slice timeout_headers;  /* an object: names and arrays of values; these are headers of the step */
    struct slice step;             /* an object: the beginning of the step that ends the wait */
    struct slice run_id, event_id; /* the caller fills these before waiter_write */
    int64_t created_ms;            /* when the run was created */
    int64_t deadline_ms;
};

/* Reads the body of POST /v2/wait: all but the last four members. text gets decoded strings; it must have
 * room for the body. Returns NULL, or a sentence that says what is wrong. */
const char *waiter_read_request(struct slice body, struct waiter *, int64_t *timeout_ms, struct buffer *text);

/* Writes the text that is kept, and reads it again. Returns false for a text that duepost did not write. */
void waiter_write(const struct waiter *, struct buffer *text);
bool waiter_read(struct slice text, struct waiter *, struct buffer *decoded);

/* Writes the object that clients get. */
void waiter_put(const struct waiter *, struct json_writer *);

/* Writes the step that ends the wait, with the data of the event. data NULL: the deadline has come. */
void waiter_write_step(const struct waiter *, const struct slice *data, struct buffer *step);

#endif

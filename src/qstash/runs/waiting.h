/* waiting.h - the texts with which a run waits: for an event, or for the end of a run that it has started.
 * The functions are pure: no clock, no I/O. */
#ifndef DUEPOST_QSTASH_WAITING_H
#define DUEPOST_QSTASH_WAITING_H

#include "base/json_writer.h"

/* A run's wait for an event: reads the client's request, writes and reads the stored text, and
 * writes the step that ends the wait. The functions are pure: no clock, no I/O. */

enum {
    WAITER_MAX = 64 * 1024,  /* maximum size of the stored text of a wait */
    WAITER_EVENT_MAX = 2048, /* room for the name of an event, which is a part of a path */
};

/* A wait. It borrows the texts of all slices. */
struct waiter {
    struct slice url, timeout_url; /* decoded */
    struct slice timeout;          /* text of the client, such as "7d" */
    struct slice timeout_headers;  /* headers of the step: an object of names and arrays of values */
    struct slice step;             /* beginning of the step (a JSON object) that ends the wait */
    struct slice run_id, event_id; /* filled by the caller before waiter_write */
    int64_t created_ms;            /* time at which the run was created */
    int64_t deadline_ms;
};

/* Reads the body of POST /v2/wait into the members from url to step. text receives decoded strings, and must
 * have room for the body. Returns NULL, or a sentence that describes the error. */
const char *waiter_read_request(struct slice body, struct waiter *, int64_t *timeout_ms, struct buffer *text);

/* Returns whether the run waits for a request to its webhook. The name of its event cannot be that of another
 * event. Requests to webhooks need no token, so they must not end waits for other events, whose names anyone
 * can guess. */
bool waiter_is_of_webhook(const struct waiter *);

/* Writes the name of the event of a webhook. */
void waiter_write_webhook(struct slice event_id, struct buffer *name);

/* If a step creates a webhook, writes the name of the webhook's event. Otherwise writes nothing. */
void waiter_write_created(struct slice step, struct buffer *name);

/* waiter_write writes the stored text. waiter_read reads it, and returns false if duepost did not write the
 * text. */
void waiter_write(const struct waiter *, struct buffer *text);
bool waiter_read(struct slice text, struct waiter *, struct buffer *decoded);

/* Writes the wait as the object that clients get. */
void waiter_put(const struct waiter *, struct json_writer *);

/* Writes the step that ends the wait. data: the data of the event; NULL: the deadline has come. */
void waiter_write_step(const struct waiter *, const struct slice *data, struct buffer *step);

/* ---- invokers ---- */

/* The invoker: a run that has started another run (the invoked run), and waits for its end.
 * The functions are pure: no clock, no I/O. */

/* An invocation. It borrows the texts of all slices. */
struct run_invoker {
    struct slice payload;     /* payload of the invoked run */
    struct slice run_id, url; /* id and endpoint of the invoker */
    struct slice
        headers;       /* headers of the step that reports the end: an object of names and arrays of values */
    struct slice step; /* the first members of that step, as an object */
};

/* Reads the body of an invocation, or the stored part of it. text gets decoded strings; it must have room for
 * the body. Returns false if a member is missing or has another type. */
bool run_invoker_read(struct slice body, struct run_invoker *, struct buffer *text);

/* Writes the stored part of an invocation: all members except the payload. */
void run_invoker_write(const struct run_invoker *, struct buffer *);

/* The end of the invoked run. */
struct run_outcome {
    struct slice run_id;
    bool has_body;
    struct slice body;
    bool is_cancelled, is_failed;
    struct slice url; /* url of the invoked run, for the log of the invoker */
    int64_t made_ms;  /* time at which the invoked run was created; 0: unknown */
};

/* Writes the step that reports the end to the invoker. */
void run_invoker_write_step(const struct run_invoker *, const struct run_outcome *, struct buffer *);

#endif

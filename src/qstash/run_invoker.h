/* run_invoker.h - the invoker: a run that has started another run (the invoked run), and waits for its end.
 * The functions are pure: no clock, no I/O. */
#ifndef DUEPOST_QSTASH_RUN_INVOKER_H
#define DUEPOST_QSTASH_RUN_INVOKER_H

#include "base/json_writer.h"

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

/* run_log_step.h - one step of a run: its element, taken apart. Its functions are pure: no clock, no I/O. */
#ifndef DUEPOST_QSTASH_RUN_LOG_STEP_H
#define DUEPOST_QSTASH_RUN_LOG_STEP_H

#include "qstash/run_log.h"

struct run_log_step {
    const struct app_workflow_element *element; /* NULL: a wait, which has none yet */
    struct slice message_id;
    struct slice body;       /* decoded */
    struct slice object;     /* the step as JSON; empty: the body is not one */
    struct slice name, type; /* decoded; may be empty */
    struct slice call;       /* of a call: its facts as a JSON object, see run_write_call; else empty */
    uint64_t id, target, concurrent; /* id 0: a plan, or no step; target 0: no plan */
    const struct app_workflow_open *wait;
};

/* Takes an element apart. text gets decoded texts; it must have room for twice the element. */
void run_log_step_read(const struct app_workflow_element *, struct run_log_step *, struct buffer *text);

/* The same for a wait in progress. */
void run_log_step_read_wait(const struct app_workflow_open *, struct run_log_step *, struct buffer *text);

/* Writes a step. call: the call whose result the step is, or the step itself; NULL: none. errors: lines of
 * failed attempts; empty: none. */
struct run_log_shown {
    const struct run_log_step *step, *call;
    const char *state;
    struct slice errors;
};
void run_log_step_put(struct json_writer *, const struct run_log *, const struct run_log_shown *);

/* Writes the payload of the run as its first step. */
void run_log_step_put_first(struct json_writer *, const struct run_log *, const struct run_log_step *);

/* Adds the failed attempts as an array, if there are any. */
void run_log_add_errors(struct json_writer *, const char *name, struct slice lines, size_t trim);

/* Adds a body, cut to the bytes that are shown, or its digest if bodies are redacted. */
void run_log_add_body(struct json_writer *, const struct run_log *, const char *name, struct slice body);

#endif

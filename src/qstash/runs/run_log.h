/* run_log.h - the log of a durable run: parses its steps from its elements, and writes the run as an item of
 * GET /v2/workflows/logs. The functions are pure: no clock, no I/O. */
#ifndef DUEPOST_QSTASH_RUN_LOG_H
#define DUEPOST_QSTASH_RUN_LOG_H

#include "app/workflows.h"
#include "job/job.h"
#include "qstash/messages/message.h"
#include "qstash/runs/runs.h"

/* A message of the run: one that has not ended, the dead one that made the run fail, or the run's failure
 * callback. */
struct run_log_message {
    const struct message_view *view;
    enum job_state state;
    struct slice lines; /* lines of its attempts, see attempt_line.h */
};

/* The data of one run from which the log is written. The struct borrows the data of its pointers and
 * slices. */
struct run_log {
    const struct workflow *workflow; /* includes elements, their texts, and open jobs */
    const struct run *run;
    const struct message_view *view; /* the run as a message: url, headers, labels, flow control, redaction */
    const struct message_settings *settings; /* settings of the run */
    const struct run_log_message *messages;
    size_t message_count;
    const struct run_log_message *failure; /* the run's failure callback; NULL: absent or unknown */
    struct slice failure_id;               /* id of the failure callback */
    size_t trim;                           /* maximum number of bytes of each body that are shown */
};

struct run_log_step {
    const struct workflow_element
        *element; /* element of the step; NULL for a wait, which has no element yet */
    struct slice message_id;
    struct slice body;       /* decoded */
    struct slice object;     /* the step as JSON; empty: the body is not a step */
    struct slice name, type; /* decoded from JSON; may be empty */
    struct slice call; /* for a call: the member "call" of the element, see run_write_element; else empty */
    uint64_t id, target, concurrent; /* id is 0 if the element is a plan or has no step. target: for a plan,
                                        the id of the planned step; else 0 */
    const struct workflow_open *wait;
};

/* Parses an element. text receives decoded texts, and must have room for twice the size of the element. */
void run_log_step_read(const struct workflow_element *, struct run_log_step *, struct buffer *text);

/* As run_log_step_read, but for a wait that has not ended. Such a wait has no element yet. */
void run_log_step_read_wait(const struct workflow_open *, struct run_log_step *, struct buffer *text);

/* The data from which a step is written. call: for the result of a call, the step of that call; for a call,
 * the step itself; else NULL. message: the message whose failed attempts are shown, or NULL. */
struct run_log_shown {
    const struct run_log_step *step, *call;
    const char *state;
    const struct run_log_message *message;
};
void run_log_step_put(struct json_writer *, const struct run_log *, const struct run_log_shown *);

/* Writes the payload of the run as its first step. */
void run_log_step_put_first(struct json_writer *, const struct run_log *, const struct run_log_step *);

/* Adds the failed attempts of a message as an array, if there are any. Only the last attempt of a dead
 * message has headers. */
void run_log_add_errors(struct json_writer *, const struct run_log_message *, size_t trim);

/* Adds the headers of an answer, which are lines, as an object. */
void run_log_add_answer_headers(struct json_writer *, const char *name, struct slice lines);

/* Adds a body, cut to log->trim bytes. If bodies are redacted, adds the digest of the body instead. */
void run_log_add_body(struct json_writer *, const struct run_log *, const char *name, struct slice body);

/* ---- the run ---- */

/* An item of the log shows the elements of the run as steps, in groups:
 *
 *     sequential   one step
 *     parallel     steps that run at the same time; each step is shown once: its result, or else the plan
 *                  that announced it
 *     next         messages being delivered, and the message that made the run fail */

enum {
    RUN_LOG_BYTES = 1024 * 1024, /* maximum size of one run; steps after this size are left out */
    RUN_LOG_TEXTS_MAX =
        4 * 1024 * 1024, /* a run with more bytes of elements is shown without the texts of the elements */
};

/* Writes the run as an object. */
void run_log_put(struct json_writer *, const struct run_log *);

/* Parses the word for a state of runs, such as RUN_STARTED. Returns false for another word. */
bool run_log_state(struct slice word, enum workflow_state *);

#endif

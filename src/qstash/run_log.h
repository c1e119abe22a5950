/* run_log.h - a durable run as the log of runs shows it. Its functions are pure: no clock, no I/O.
 *
 * The steps are the elements of the run, in groups:
 *
 *     sequential   one step
 *     parallel     the branches of steps that run together, each once: its result, else its plan
 *     next         what is being delivered, and what has failed the run */
#ifndef DUEPOST_QSTASH_RUN_LOG_H
#define DUEPOST_QSTASH_RUN_LOG_H

#include "app/workflows.h"
#include "job/job_state.h"
#include "qstash/run.h"
#include "qstash/message_view.h"

enum {
    RUN_LOG_BYTES = 1024 * 1024,         /* of one run; the steps behind are left out */
    RUN_LOG_TEXTS_MAX = 4 * 1024 * 1024, /* elements over this size are shown without their texts */
};

/* A message of the run that has not ended, the one that has failed it, or its failure callback. */
struct run_log_message {
    const struct message_view *view;
    enum job_state state;
    struct slice lines; /* of its attempts, see attempt_line.h */
};

/* All is borrowed. */
struct run_log {
    const struct app_workflow *workflow; /* with elements, their texts, and open jobs */
    const struct run *run;
    const struct message_view *view; /* the run as a message: url, headers, labels, flow control, redaction */
    const struct settings *settings; /* of the run */
    const struct run_log_message *messages;
    size_t message_count;
    const struct run_log_message *failure; /* NULL: its failure callback is unknown, or there is none */
    struct slice failure_id;               /* its id */
    size_t trim;                           /* bytes of each body that are shown */
};

/* Writes the run as an object. */
void run_log_put(struct json_writer *, const struct run_log *);

/* The words for states of runs: RUN_STARTED ... Returns false for another word. */
bool run_log_state(struct slice word, enum app_workflow_state *);

#endif

/* run_log.h - writes a durable run for the log of runs. The functions are pure: no clock, no I/O.
 *
 * The steps are the elements of the run, in groups:
 *
 *     sequential   one step
 *     parallel steps that run at the same time; each step is shown once: its result, or its plan while it has
 *     no result next         messages being delivered, and the message that has failed the run */
#ifndef DUEPOST_QSTASH_RUN_LOG_H
#define DUEPOST_QSTASH_RUN_LOG_H

#include "qstash/run_log_step.h"

enum {
    RUN_LOG_BYTES = 1024 * 1024, /* size limit of one run; later steps are left out */
    RUN_LOG_TEXTS_MAX =
        4 * 1024 * 1024, /* if all elements together are larger, they are shown without their texts */
};

/* Writes the run as an object. */
void run_log_put(struct json_writer *, const struct run_log *);

/* Parses the word for a state of runs, such as RUN_STARTED. Returns false for another word. */
bool run_log_state(struct slice word, enum app_workflow_state *);

#endif

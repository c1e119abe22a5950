/* run_log.h - writes a durable run as an item of GET /v2/workflows/logs. The functions are pure: no clock, no
 * I/O.
 *
 * The item shows the elements of the run as steps, in groups:
 *
 *     sequential   one step
 *     parallel     steps that run at the same time; each step is shown once: its result, or else the plan
 *                  that announced it
 *     next         messages being delivered, and the message that made the run fail */
#ifndef DUEPOST_QSTASH_RUN_LOG_H
#define DUEPOST_QSTASH_RUN_LOG_H

#include "qstash/run_log_step.h"

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

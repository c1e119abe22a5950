/* message_job.h - the job that a message is. Its functions are pure: no clock, no I/O. */
#ifndef DUEPOST_QSTASH_MESSAGE_JOB_H
#define DUEPOST_QSTASH_MESSAGE_JOB_H

#include "qstash/form_data.h"

struct app_caller;

/* The parts of a message. All that it points to is borrowed until the message is sent. */
struct message_request {
    struct slice url, body;
    const struct settings *settings;
    struct form_data data; /* group, endpoint, queue, scheduleId, callerIp */
    const struct app_caller *caller;
    struct slice trace_parent, trace_state; /* empty: none */
};

/* Texts that are written for the job, which borrows them. */
struct message_texts {
    struct buffer base64; /* fails without memory */
    struct buffer data, callbacks;
};

void message_texts_init(struct message_texts *);
void message_texts_fini(struct message_texts *);

/* Makes a job of a topic, without a jobId. Returns NULL, or a literal that says why the request is refused.
 * The job needs no fini. */
const char *message_job_make(const struct message_request *, struct slice topic, int64_t now_ms,
                             struct message_texts *, struct job *);

/* Returns a size that the record of the job does not exceed. */
size_t message_job_bytes(const struct job *);

#endif

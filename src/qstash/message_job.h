/* message_job.h - creates the job of a message. The functions are pure: no clock, no I/O. */
#ifndef DUEPOST_QSTASH_MESSAGE_JOB_H
#define DUEPOST_QSTASH_MESSAGE_JOB_H

#include "qstash/form_data.h"

struct app_caller;

/* The parts of a message. Borrows the data of its pointers and slices until the message is sent. */
struct message_request {
    struct slice url, body;
    const struct settings *settings;
    struct form_data data; /* group, endpoint, queue, scheduleId, callerIp */
    const struct app_caller *caller;
    struct slice trace_parent, trace_state; /* empty: none */
};

/* Texts that message_job_make writes. The job borrows these texts. */
struct message_texts {
    struct buffer base64; /* marked as failed if there is no memory */
    struct buffer data, callbacks;
};

void message_texts_init(struct message_texts *);
void message_texts_fini(struct message_texts *);

/* Fills a job of this topic, without a jobId. Returns NULL, or a literal that says why the request is
 * refused. The job has nothing to free. */
const char *message_job_make(const struct message_request *, struct slice topic, int64_t now_ms,
                             struct message_texts *, struct job *);

/* Returns an upper limit for the size of the job's record. */
size_t message_job_bytes(const struct job *);

#endif

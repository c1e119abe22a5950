/* run_resume.h - continues a failed run as a new run, with a new id.
 *
 * Restart: the new run begins with the payload. Resume: the new run begins with the steps before the
 * message that made the run fail, and this message is delivered again. The dead
 * letter is removed when the new run begins, so a run is continued only once. */
#ifndef DUEPOST_QSTASH_RUN_RESUME_H
#define DUEPOST_QSTASH_RUN_RESUME_H

#include "qstash/handler.h"

struct run_resume_result {
    unsigned status;    /* 200; 404: there is no such dead letter, or its run no longer exists; 413: all its
                           steps together are too large to be resumed */
    struct slice id;    /* id of the new run */
    int64_t made_ms;    /* time at which the new run was created */
    struct slice error; /* error as a sentence; empty: none */
};

typedef void run_resume_fn(void *arg, const struct run_resume_result *);

/* Continues the run that has failed because the message with this id died. message_id is not used after the
 * call. Settings among the headers of the request replace those of the run. Calls back once, perhaps before
 * the call returns. */
void run_resume(struct exchange *, struct slice message_id, bool is_restart, run_resume_fn *, void *arg);

#endif

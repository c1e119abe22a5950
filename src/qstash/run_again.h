/* run_again.h - lets a failed run go on: as a new run, with a new id.
 *
 * Restart: the new run begins with the payload. Resume: it begins with the steps before the message that has
 * failed the run, and that message is delivered again; see run_resumption.h. The dead letter goes when the
 * new run begins, so a run goes on once. */
#ifndef DUEPOST_QSTASH_RUN_AGAIN_H
#define DUEPOST_QSTASH_RUN_AGAIN_H

#include "qstash/handler.h"

struct run_again_result {
    unsigned status;    /* 200; 404: there is no such dead letter, or its run is not known any more */
    struct slice id;    /* id of the new run */
    int64_t made_ms;    /* when the new run was created */
    struct slice error; /* a sentence; empty: none */
};

typedef void run_again_fn(void *arg, const struct run_again_result *);

/* message_id is that of the dead message; it is needed during the call only. Settings among the headers of
 * the request replace those of the run. Calls back once, perhaps before the call returns. */
void run_again(struct exchange *, struct slice message_id, bool is_restart, run_again_fn *, void *arg);

#endif

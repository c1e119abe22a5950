/* run.h - durable runs: a program at the client's endpoint runs in steps, and each step is a message. The
 * data of the message that created a run is stored, because the later messages of the run need it. Apart from
 * run_id_make, the functions are pure: no clock, no I/O.
 *
 * A run is stored as a workflow (app/workflows.h). The messages are the jobs of the workflow. The elements of
 * the workflow have the bodies of its steps. Upstash-Workflow-CallType names the kind of a message:
 *
 *     none, step     a step: delivered with the list of the steps up to itself
 *     toCallback     a call of another server
 *     fromCallback   the answer to a call: its callback
 *     failureCall    the failure callback of the run, which is not one of its jobs
 *
 * The settings of the first message apply to all messages to the endpoint of the run. */
#ifndef DUEPOST_QSTASH_RUN_H
#define DUEPOST_QSTASH_RUN_H

#include "job/job_id.h"
#include "qstash/messages/message.h"

#define RUN_ID_PREFIX "wfr_"

enum {
    RUN_KEY_SIZE = 16 + RUN_ID_MAX,
    RUN_ID_NEW_SIZE = sizeof RUN_ID_PREFIX + JOB_ID_NEW_SIZE,
    /* An endpoint that creates its run anew at each delivery would do so for ever, because a new run has no
     * steps that count. The SDK does it once, and again if it has lost the answer. */
    RUN_STARTS_MAX = 100,
};

/* The parts of a run that are stored. Slices point into text; an empty slice means that the part is
 * absent. */
struct run {
    struct slice url, caller_ip;
    struct slice headers; /* an object: names of settings, and their values */
    struct slice invoker; /* an object, see waiting.h */
    bool knows_hooks;     /* the run was created by a version that notes the webhooks of runs, from 0.3 on */
    int64_t made_ms;
    int64_t starts;              /* how often the SDK has created the run anew */
    struct buffer text, decoded; /* owned */
};

/* Writes the data of a run that Redis stores. */
void run_write(struct buffer *, const struct message_settings *, struct slice caller_ip,
               struct slice invoker);

/* Reads the stored data. Copies text. Returns false if duepost did not write the text, or if there is no
 * memory; the run then has nothing to free. */
bool run_read(struct slice text, int64_t made_ms, struct run *);
void run_fini(struct run *);

/* Adds the settings of the run to a step, except settings that the step itself has. The Content-Type is
 * always that of the run. The settings borrow run. */
void run_apply(struct run *, struct message_settings *);

/* Adds the settings of the run to its first message, except settings that the message itself has. Used when a
 * failed run is restarted. */
void run_keep(struct run *, struct message_settings *);

/* Adds the settings of the run to the answer to a call. The answer does not get the Content-Type and the SDK
 * version, because with these headers the client would read the answer as a list of steps. headers are the
 * headers of the run; text receives decoded values. */
void run_apply_to_answer(struct slice headers, struct message_settings *, struct buffer *text);

/* Writes the id of a new run into room, such as wfr_01J8ZK3V5Q8T9W0X1Y2Z3A4B5C, followed by a NUL. Returns
 * the id. The id has random bytes from the kernel. */
struct slice run_id_make(int64_t now_ms, char room[RUN_ID_NEW_SIZE]);

/* Returns whether a text can be the id of a run. */
bool run_is_id(struct slice);

/* Returns the key of the workflow: owner/id. */
struct slice run_key(struct slice id, char room[RUN_KEY_SIZE]);

/* Writes the element of a message, for the list of its run. For a call, call has its settings, and the
 * element also contains callUrl, callMethod, callHeaders and the step that has made the call. For other
 * messages, call is NULL. */
void run_write_element(struct buffer *, struct slice message_id, struct slice body,
                       const struct message_settings *call, struct slice url);

#endif

/* run_step.h - converts a message of a run to a job and an element. The functions do no I/O. */
#ifndef DUEPOST_QSTASH_RUN_STEP_H
#define DUEPOST_QSTASH_RUN_STEP_H

#include "app/workflows.h"
#include "qstash/message_id.h"
#include "qstash/message_job.h"
#include "qstash/run.h"

enum { RUN_STEP_NAME_SIZE = 16 };

/* A message of a run, while it is created. */
struct run_step {
    struct workflow_entry entry;         /* borrows the buffers */
    struct buffer stored, element, hook; /* id and record of the job; members of the entry */
    struct message_texts texts;
    struct job job; /* the job borrows the request and texts */
    char id[MESSAGE_ID_MAX + 1];
    char name[RUN_STEP_NAME_SIZE];        /* name of the step, see struct workflow_entry; empty: none */
    char fault[SETTINGS_FAULT_SIZE + 64]; /* text of an error in the headers of a notice */
};

/* Initialises a message with the role STEP. The caller may then set another role in entry. */
void run_step_init(struct run_step *);
void run_step_fini(struct run_step *);

/* Creates the job, in this topic, and the element of a message. data.run of the request must be set; its
 * call_type says whether the message is a call. Returns NULL, or a literal that says why the request is
 * refused. */
const char *run_step_make(struct run_step *, const struct message_request *, struct slice topic,
                          int64_t now_ms);

/* Writes the job into the entry. Returns false if there is no memory for it. */
bool run_step_write(struct run_step *);

/* A step that the server publishes: the end of a wait, or of an invoked run. */
struct run_notice {
    struct slice id;      /* id of the run */
    struct slice url;     /* url to which the step is delivered */
    struct slice headers; /* headers of the step: an object of names and arrays of values */
    struct slice body;    /* the step */
};

/* Creates the step for a notice, with the settings of the run, and writes its job. Returns NULL, or a text
 * that describes the error and lives as long as the step. */
const char *run_step_make_notice(struct run_step *, struct run *, const struct run_notice *, int64_t now_ms);

#endif

/* run_message.h - the messages of durable runs: the message that creates a run, a step, or a call of a third
 * party. */
#ifndef DUEPOST_QSTASH_RUN_MESSAGE_H
#define DUEPOST_QSTASH_RUN_MESSAGE_H

#include "app/workflows.h"
#include "qstash/messages/message.h"
#include "qstash/runs/run.h"

/* Converts a message of a run to a job and an element. The functions do no I/O. */

enum { RUN_STEP_NAME_SIZE = 16 };

/* A message of a run, while it is created. */
struct run_step {
    struct workflow_entry entry;         /* borrows the buffers */
    struct buffer stored, element, hook; /* id and record of the job; members of the entry */
    struct message_texts texts;
    struct job job; /* the job borrows the request and texts */
    char id[MESSAGE_ID_MAX + 1];
    char name[RUN_STEP_NAME_SIZE]; /* name of the step, see struct workflow_entry; empty: none */
    char fault[MESSAGE_SETTINGS_FAULT_SIZE + 64]; /* text of an error in the headers of a notice */
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

/* ---- messages that are appended together ---- */

/* Messages of one run that are appended to it together: all or none. */

struct run_append;

/* Called for each message. If the messages were appended, status is 200 and error is empty. If the run had
 * the step of the message already, first is the first job of this step (topic/jobId); otherwise, first is
 * empty. Another status and its error say why the messages were refused. */
typedef void run_append_fn(void *arg, unsigned status, struct slice error, struct slice first);

/* Begins an append to the run run_id, which is copied. It waits for the expected number of messages to be
 * added or refused, and is freed after all callbacks. */
struct run_append *run_append_new(struct app *, struct slice run_id, size_t expected);
void run_append_free(struct run_append *);

struct slice run_append_id(const struct run_append *);

/* Makes the append wait for one more message. */
void run_append_expect(struct run_append *);

/* Adds a message, and calls back when the last message was added or refused. Borrows the texts
 * of the entry until the callback. */
void run_append_add(struct run_append *, const struct workflow_entry *, run_append_fn *, void *arg);

/* Reports that one message was refused. All messages are then refused with the same error. */
void run_append_miss(struct run_append *, unsigned status, struct slice error);

/* ---- sending ---- */

struct run_message;

/* Creates a message. The caller frees it after its callback, or if it was never sent. */
struct run_message *run_message_new(struct app *, message_sent_fn *, void *arg);
void run_message_free(struct run_message *);

/* Sends the message. The settings of the run are added to those of the request. append: the messages that are
 * added to the run together with this one; NULL: none. An error of this message is also an error of the
 * others. Calls back once, perhaps before the call returns. */
void run_message_send(struct run_message *, const struct message_request *, struct message_settings *,
                      struct run_append *append);

#endif

/* runs.h - durable runs: a program at the client's endpoint runs in steps, and each step is a message. */
#ifndef DUEPOST_QSTASH_RUNS_H
#define DUEPOST_QSTASH_RUNS_H

#include "app/workflows.h"
#include "base/json_writer.h"
#include "job/job_id.h"
#include "qstash/messages/message.h"
#include "qstash/qstash_private.h"

/* ---- run.c ---- */

/* A durable run: a program at the client's endpoint runs in steps, and each step is a message. The
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
    struct slice invoker; /* an object, see waiting.c */
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

/* ---- run_message.c ---- */

/* The messages of durable runs: the message that creates a run, a step, or a call of a third party. The
 * following functions convert a message to a job and an element; they do no I/O. */

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

/* ---- run_resume.c ---- */

/* Continues a failed run as a new run, with a new id.
 *
 * Restart: the new run begins with the payload. Resume: the new run begins with the steps before the
 * message that made the run fail, and this message is delivered again. The dead
 * letter is removed when the new run begins, so a run is continued only once. */

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

/* ---- waiting.c ---- */

/* The texts with which a run waits: for an event, or for the end of a run that it has started. The functions
 * are pure: no clock, no I/O. For an event, they read the client's request, write and read the stored text,
 * and write the step that ends the wait. */

enum {
    WAITER_MAX = 64 * 1024,  /* maximum size of the stored text of a wait */
    WAITER_EVENT_MAX = 2048, /* room for the name of an event, which is a part of a path */
};

/* A wait. It borrows the texts of all slices. */
struct waiter {
    struct slice url, timeout_url; /* decoded */
    struct slice timeout;          /* text of the client, such as "7d" */
    struct slice timeout_headers;  /* headers of the step: an object of names and arrays of values */
    struct slice step;             /* beginning of the step (a JSON object) that ends the wait */
    struct slice run_id, event_id; /* filled by the caller before waiter_write */
    int64_t created_ms;            /* time at which the run was created */
    int64_t deadline_ms;
};

/* Reads the body of POST /v2/wait into the members from url to step. text receives decoded strings, and must
 * have room for the body. Returns NULL, or a sentence that describes the error. */
const char *waiter_read_request(struct slice body, struct waiter *, int64_t *timeout_ms, struct buffer *text);

/* Returns whether the run waits for a request to its webhook. The name of its event cannot be that of another
 * event. Requests to webhooks need no token, so they must not end waits for other events, whose names anyone
 * can guess. */
bool waiter_is_of_webhook(const struct waiter *);

/* Writes the name of the event of a webhook. */
void waiter_write_webhook(struct slice event_id, struct buffer *name);

/* If a step creates a webhook, writes the name of the webhook's event. Otherwise writes nothing. */
void waiter_write_created(struct slice step, struct buffer *name);

/* waiter_write writes the stored text. waiter_read reads it, and returns false if duepost did not write the
 * text. */
void waiter_write(const struct waiter *, struct buffer *text);
bool waiter_read(struct slice text, struct waiter *, struct buffer *decoded);

/* Writes the wait as the object that clients get. */
void waiter_put(const struct waiter *, struct json_writer *);

/* Writes the step that ends the wait. data: the data of the event; NULL: the deadline has come. */
void waiter_write_step(const struct waiter *, const struct slice *data, struct buffer *step);

/* ---- invokers ---- */

/* The invoker: a run that has started another run (the invoked run), and waits for its end. */

/* An invocation. It borrows the texts of all slices. */
struct run_invoker {
    struct slice payload;     /* payload of the invoked run */
    struct slice run_id, url; /* id and endpoint of the invoker */
    struct slice
        headers;       /* headers of the step that reports the end: an object of names and arrays of values */
    struct slice step; /* the first members of that step, as an object */
};

/* Reads the body of an invocation, or the stored part of it. text gets decoded strings; it must have room for
 * the body. Returns false if a member is missing or has another type. */
bool run_invoker_read(struct slice body, struct run_invoker *, struct buffer *text);

/* Writes the stored part of an invocation: all members except the payload. */
void run_invoker_write(const struct run_invoker *, struct buffer *);

/* The end of the invoked run. */
struct run_outcome {
    struct slice run_id;
    bool has_body;
    struct slice body;
    bool is_cancelled, is_failed;
    struct slice url; /* url of the invoked run, for the log of the invoker */
    int64_t made_ms;  /* time at which the invoked run was created; 0: unknown */
};

/* Writes the step that reports the end to the invoker. */
void run_invoker_write_step(const struct run_invoker *, const struct run_outcome *, struct buffer *);

#endif

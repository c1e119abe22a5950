/* message_view.h - writes a message as JSON: the members that all answers with messages have in common. */
#ifndef DUEPOST_QSTASH_MESSAGE_VIEW_H
#define DUEPOST_QSTASH_MESSAGE_VIEW_H

#include "app/app.h"
#include "base/json_writer.h"
#include "job/delivery/digest.h"
#include "qstash/messages/message.h"

/* A message that was read. */
struct message_view {
    struct job job;
    struct message_data data;
    struct buffer text;    /* owned: decoded strings of data */
    struct buffer payload; /* owned: decoded body */
    struct slice body;     /* body as delivered */
};

/* Reads the record of a job with this id, topic/messageId. Returns false if it is not a message, or cannot be
 * read. The caller frees a view that was read with message_view_fini. The view borrows id and record. */
bool message_view_read(struct slice id, struct slice record, struct message_view *);
void message_view_fini(struct message_view *);

/* message_view_of creates a view from a job that was already read; the view borrows the job.
 * message_view_release frees what this view owns. */
void message_view_of(const struct job *, struct message_view *);
void message_view_release(struct message_view *);

/* Adds the members of a message to an object; messageId is the first. Redacted parts are replaced by their
 * digests. */
void message_view_add(struct json_writer *, const struct message_view *);

/* The name of the headers of callbacks: callbackHeader in messages and schedules, callbackHeaders in
 * events. */
enum message_naming { MESSAGE_HEADER, MESSAGE_HEADERS };

/* Add the members that messages, schedules and events share: method, headers and body; callbacks, queue,
 * labels and flow control. */
void message_view_add_content(struct json_writer *, const struct message_view *);
void message_view_add_settings(struct json_writer *, const struct message_view *, enum message_naming);

enum { REDACTED_SIZE = sizeof "REDACTED:" + DIGEST_TEXT_SIZE };

/* Writes the text that is shown instead of a redacted value. */
struct slice message_view_redacted(struct slice bytes, char room[REDACTED_SIZE]);

/* Adds the headers that are forwarded, as arrays by their names in canonical form. Adds nothing if there are
 * none. */
void message_view_add_headers(struct json_writer *, const char *name, const struct message_view *);

/* Adds bytes as base64. */
void message_view_add_base64(struct json_writer *, const char *name, struct slice bytes);

/* Adds bytes as a text, or as base64 under the second name if they are not UTF-8. */
void message_view_add_bytes(struct json_writer *, const char *name, const char *base64_name,
                            struct slice bytes);

/* Writes the name of a header in canonical form, such as Bypass-Tunnel-Reminder. */
void message_view_put_name(struct json_writer *, struct slice name);

/* Adds the run of the message: workflowRunId, workflowCreatedAt and workflowUrl. */
void message_view_add_run(struct json_writer *, const struct message_view *);

/* Returns the time at which the message's run was created, in ms since 1970. */
int64_t message_view_run_ms(const struct message_view *);

/* Returns whether the message is a step of a run, or the answer to a call. If such a message dies, its run
 * fails. */
bool message_view_is_of_run(const struct message_view *);

/* Returns the url in a job's member for a callback. The member is a text, or an object with the member "url".
 * Returns an empty slice if the member has no url. */
struct slice message_view_callback(struct slice member, struct buffer *text);

/* Adds the first label as label, and all labels. Adds nothing for a job without labels. */
void message_view_add_labels(struct json_writer *, const struct job_labels *);

/* ---- settings with which a message was published, for a new message with the same settings ---- */

enum { MESSAGE_VIEW_SETTINGS_TEXT = 2 * JOB_FORM_DATA_MAX }; /* bytes of decoded values */

/* Sets all settings except the time and the run. The settings borrow the view and text. text receives decoded
 * values, and must have room for MESSAGE_VIEW_SETTINGS_TEXT. */
void message_view_take_settings(const struct message_view *, struct message_settings *, struct buffer *text);

/* ---- the answer of a receiver ---- */

/* Adds the headers in lines as an object. A member has the header's name in canonical form, and an array of
 * its values. Each line is "Name: value" and a newline. */
void answer_headers_add(struct json_writer *, const char *member, struct slice lines);

/* Finds the value of the first header with this name, in any case. Returns false if there is no such header.
 */
bool answer_headers_find(struct slice lines, struct slice wanted, struct slice *value);

/* ---- a dead letter: a dead message that is still in Redis ---- */

/* Returns whether the job is dead and still in Redis. */
bool dead_letter_is(const struct app_verdict *);

/* A dead letter with copies of its texts, which stay after the callback that read it. All zeros: none. */
struct dead_letter {
    bool is_there;
    struct stored_job job; /* slices point into texts */
    struct message_view view;
    struct buffer texts; /* owned */
};

/* Copies the job of the verdict, if it is a dead letter that can be read and there is memory. */
void dead_letter_keep(struct dead_letter *, const struct app_verdict *);
void dead_letter_fini(struct dead_letter *);

/* Adds the members of a dead letter to an object: the message, dlqId, the run that failed because of the
 * message, if there is one, and the receiver's answer. */
void dead_letter_add(struct json_writer *, const struct stored_job *, const struct message_view *);

/* Adds the answer to the last attempt: responseStatus, its headers under this name, and responseBody or, if
 * it is not UTF-8, responseBodyBase64: at most 1024 bytes. */
void dead_letter_add_answer(struct json_writer *, const struct stored_job *, const struct message_view *,
                            const char *headers_name);

#endif

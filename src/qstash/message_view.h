/* message_view.h - writes a message as JSON: the members that all answers with messages have in common. */
#ifndef DUEPOST_QSTASH_MESSAGE_VIEW_H
#define DUEPOST_QSTASH_MESSAGE_VIEW_H

#include "job/delivery/digest.h"
#include "qstash/form_data.h"

/* A message that was read. */
struct message_view {
    struct job job;
    struct form_data data;
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

#endif

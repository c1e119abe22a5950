/* ask.h - sends one request of a command and prints the answer as text or as JSON. */
#ifndef DUEPOST_CLI_ASK_H
#define DUEPOST_CLI_ASK_H

#include "cli/call.h"

/* Sends a request and prints the answer's member of this name. Prints the whole answer with --json, or if the
 * answer does not have this member. body and member may be NULL. Returns false after an error; problem then
 * says why. */
bool ask(struct call *, const char *method, const char *target, const char *body, const char *member);

/* Writes the target "/jobs/topic/jobId", followed by suffix, from the command's word. Returns false if the
 * word is not topic/jobId. */
bool ask_make_job_target(struct buffer *target, struct call *, const char *suffix);

/* Writes the target "/topics/topic" from the command's word. Returns false if the command has no word. */
bool ask_make_topic_target(struct buffer *target, struct call *);

#endif

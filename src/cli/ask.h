/* ask.h - sends one request of a command and prints the answer as text or as JSON. */
#ifndef DUEPOST_CLI_ASK_H
#define DUEPOST_CLI_ASK_H

#include "cli/call.h"

/* Sends a request and prints one member of the answer. Prints the whole answer with --json, or if the answer
 * does not have this member. body and member may be NULL. Returns false after an error; problem then says
 * why. */
bool ask(struct call *, const char *method, const char *target, const char *body, const char *member);

/* Writes the target of a request, "/jobs/topic/jobId" followed by suffix. topic/jobId is the command's first
 * word. Returns false if this word is not a topic/jobId. */
bool ask_make_job_target(struct buffer *target, struct call *, const char *suffix);

/* Writes the target of a request, "/topics/topic". topic is the command's first word. Returns false if the
 * command has no word. */
bool ask_make_topic_target(struct buffer *target, struct call *);

#endif

/* ask.h - one request of a command. Prints its answer as text or as JSON. */
#ifndef DUEPOST_CLI_ASK_H
#define DUEPOST_CLI_ASK_H

#include "cli/call.h"

/* Sends a request and prints the answer's member of this name. Prints the whole answer with --json, or when
 * it has no such member. body and member may be NULL. False: problem says why. */
bool ask(struct call *, const char *method, const char *target, const char *body, const char *member);

/* Makes the target "/jobs/topic/jobId" and suffix from the command's word. False: the word is not
 * topic/jobId. */
bool ask_make_job_target(struct buffer *target, struct call *, const char *suffix);

/* Makes the target "/topics/topic" from the command's word. False: the command has no word. */
bool ask_make_topic_target(struct buffer *target, struct call *);

#endif

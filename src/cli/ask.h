/* ask.h - one request of a command, and its answer for people or as JSON. */
#ifndef DUEPOST_CLI_ASK_H
#define DUEPOST_CLI_ASK_H

#include "cli/call.h"

/* Sends a request. Prints the text member of the answer with this name, or all of it with --json or without
 * such a member. body and member may be NULL. False: problem says why. */
bool ask(struct call *, const char *method, const char *target, const char *body, const char *member);

/* Makes "/jobs/topic/jobId" and suffix of the command's word. False: the word is no topic/jobId. */
bool ask_make_job_target(struct buffer *target, struct call *, const char *suffix);

/* Makes "/topics/topic" of the command's word. False: there is no word. */
bool ask_make_topic_target(struct buffer *target, struct call *);

#endif

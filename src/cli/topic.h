/* topic.h - commands about topics: topics, pause, resume, set, tail. */
#ifndef DUEPOST_CLI_TOPIC_H
#define DUEPOST_CLI_TOPIC_H

#include "cli/call.h"

/* Prints the patterns that have settings, then the topics. With --json, only the topics. With a topic as the
 * first word, shows this topic, or removes its settings. */
bool topic_list(struct call *);

bool topic_pause(struct call *);

/* Resumes a topic, even if a pattern pauses it. */
bool topic_resume(struct call *);

/* Changes settings. The words are the topic, then NAME=VALUE for each setting. A value is JSON or text; an
 * empty value removes the setting. */
bool topic_set(struct call *);

/* Prints every second the topics whose numbers of jobs have changed, until the user interrupts the
 * command. */
bool topic_tail(struct call *);

#endif

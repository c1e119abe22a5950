/* group_messages.h - the messages of an occurrence that a schedule sends to a URL group: one for each
 * endpoint, with the ids <messageId>~1, <messageId>~2 and so on. The functions are pure: no clock, no I/O. */
#ifndef DUEPOST_QSTASH_GROUP_MESSAGES_H
#define DUEPOST_QSTASH_GROUP_MESSAGES_H

#include "job/group.h"

/* Writes the messages for the endpoints of the group as it is now. message: the message of the schedule,
 * without a url. text: the settings of the group's topic. Returns a status as group_jobs_write does. */
enum status group_messages_write(const struct job *message, struct slice text, struct group_jobs *) MUST_USE;

#endif

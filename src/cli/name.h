/* name.h - the names that commands take: TOPIC, TOPIC/ID and GROUP.
 *
 * Other text is refused here. In the path of a request, other text could lead to another resource: "a/.."
 * would be the list of all jobs. */
#ifndef DUEPOST_CLI_NAME_H
#define DUEPOST_CLI_NAME_H

#include "cli/call.h"

/* Return whether text is a name of this kind. If it is not, or is NULL, the problem of the call says what is
 * expected. */
bool name_is_topic(struct call *, const char *text);
bool name_is_topic_or_pattern(struct call *, const char *text);
bool name_is_group(struct call *, const char *text);

/* Appends topic/id, encoded for a path. what is "job" or "schedule", for the problem. Returns false if text
 * is not TOPIC/ID. */
bool name_add_id(struct buffer *target, struct call *, const char *text, const char *what);

#endif

/* topic_patterns.h - patterns that match names of topics, such as "orders-*,mail".
 *
 * A pattern is the name of a topic, or the beginning of names followed by '*' (an open pattern). '*' alone
 * matches all topics. A pattern that matches a topic also matches its sibling topics (job_id.h), such as
 * orders~callbacks. Patterns contain no '~'. */
#ifndef DUEPOST_JOB_TOPIC_TOPIC_PATTERNS_H
#define DUEPOST_JOB_TOPIC_TOPIC_PATTERNS_H

#include "base/buffer.h"
#include "base/status.h"

enum { TOPIC_PATTERNS_MAX = 100, TOPIC_PATTERNS_BYTES_MAX = 4096 };

/* Checks patterns. If INVALID, problem names the invalid pattern. */
enum status topic_patterns_check(struct slice patterns, struct problem *) MUST_USE;

bool topic_patterns_match(struct slice patterns, struct slice topic);

/* Returns whether this is an open pattern, which ends with '*'. Only open patterns can have settings.
 * */
bool topic_pattern_is_open(struct slice pattern);

/* Returns whether the open pattern "wide" matches every topic that the open pattern "narrow" matches. */
bool topic_pattern_contains(struct slice wide, struct slice narrow);

/* For a caller that visits all topics in the order of their names: lets the caller skip topics that do not
 * match. "after" is the last topic that was visited, or "" at the start. Sets "from" to the name after which
 * the caller must continue: "after" itself or a later name. No topic between "after" and "from" matches.
 * Returns false if no topic after "after" can match. */
bool topic_patterns_seek(struct slice patterns, struct slice after, struct buffer *from);

#endif

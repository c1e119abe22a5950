/* topic_patterns.h - patterns of topics: "orders-*,mail".
 *
 * A pattern is a topic, or a prefix of topics followed by '*'. '*' alone matches all topics. A pattern that
 * matches a topic also matches its siblings. Patterns contain no '~'. */
#ifndef DUEPOST_JOB_TOPIC_PATTERNS_H
#define DUEPOST_JOB_TOPIC_PATTERNS_H

#include "base/buffer.h"
#include "base/status.h"

enum { TOPIC_PATTERNS_MAX = 100, TOPIC_PATTERNS_BYTES_MAX = 4096 };

/* Checks patterns. If INVALID, problem names the invalid pattern. */
enum status topic_patterns_check(struct slice patterns, struct problem *) MUST_USE;

bool topic_patterns_match(struct slice patterns, struct slice topic);

/* Returns whether this is a pattern that can have settings: the beginning of topics, with a '*' at the end.
 */
bool topic_pattern_is_open(struct slice pattern);

/* Returns whether the open pattern "wide" matches every topic that the open pattern "narrow" matches. */
bool topic_pattern_contains(struct slice wide, struct slice narrow);

/* Skips topics that do not match, in a walk over all topics in the order of their names. "after" is the last
 * topic of the walk so far, or "" at the start. Sets "from" to "after" or to a later name, so that each match
 * that follows "after" also follows "from". No topic between "after" and "from" matches. Returns false if
 * there are no more matches. */
bool topic_patterns_seek(struct slice patterns, struct slice after, struct buffer *from);

#endif

/* topic_patterns.h - patterns of topics: "orders-*,mail".
 *
 * A pattern is a topic, or the beginning of topics followed by '*'; '*' alone matches all topics. A pattern
 * that matches a topic matches its siblings. Patterns contain no '~'. */
#ifndef DUEPOST_JOB_TOPIC_PATTERNS_H
#define DUEPOST_JOB_TOPIC_PATTERNS_H

#include "base/buffer.h"
#include "base/status.h"

enum { TOPIC_PATTERNS_MAX = 100, TOPIC_PATTERNS_BYTES_MAX = 4096 };

/* Checks patterns. INVALID: problem names the invalid one. */
enum status topic_patterns_check(struct slice patterns, struct problem *) MUST_USE;

bool topic_patterns_match(struct slice patterns, struct slice topic);

/* For walks in the order of names. Sets from to a name at or after after ("": the start) so that all matching
 * topics after after also follow from, and no match lies in between. False: there are no more matches. */
bool topic_patterns_seek(struct slice patterns, struct slice after, struct buffer *from);

#endif

/* topic_patterns.h - which topics are meant: "orders-*,mail".
 *
 * A pattern is a topic, or the beginning of some with a '*' behind it; '*' alone
 * is all of them. A pattern that matches a topic matches its siblings, and no pattern holds a '~'. */
#ifndef DUEPOST_JOB_TOPIC_PATTERNS_H
#define DUEPOST_JOB_TOPIC_PATTERNS_H

#include "base/buffer.h"
#include "base/status.h"

enum { TOPIC_PATTERNS_MAX = 100, TOPIC_PATTERNS_BYTES_MAX = 4096 };

/* INVALID: problem says which pattern is none. */
enum status topic_patterns_check(struct slice patterns, struct problem *) MUST_USE;

bool topic_patterns_match(struct slice patterns, struct slice topic);

/* For walks in the order of names. Every topic behind the name after ("": from the first on) that matches is
 * also behind what is put into from, and what lies in between does not. False: there can be none. */
bool topic_patterns_seek(struct slice patterns, struct slice after, struct buffer *from);

#endif

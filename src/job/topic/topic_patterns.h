/* topic_patterns.h - patterns that match names of topics, such as "orders-*,mail", and the settings that
 * topics get from patterns.
 *
 * A pattern is the name of a topic, or the beginning of names followed by '*' (an open pattern). '*' alone
 * matches all topics. A pattern that matches a topic also matches its sibling topics (job_id.h), such as
 * orders~callbacks. Patterns contain no '~'. */
#ifndef DUEPOST_JOB_TOPIC_TOPIC_PATTERNS_H
#define DUEPOST_JOB_TOPIC_TOPIC_PATTERNS_H

#include "base/buffer.h"
#include "base/status.h"
#include "job/text/members.h"

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

/* ---- layers of settings ----
 *
 * The settings of a topic, put together from its own settings and those of patterns.
 *
 * A pattern such as "orders-*" gives settings to all topics whose names it matches. Each setting comes from
 * the topic itself, else from the longest pattern that has it. So the layers of a topic are its own settings,
 * then its patterns, the longest first. Settings are merged member by member. A member such as rate or
 * headers comes as a whole from one layer.
 *
 * The text of a pattern in Redis already contains the settings of shorter patterns:
 * {"maxInFlight":5,"paused":true,"from":{"paused":"*"}}. "from" names the pattern of each setting that is not
 * its own. So a topic has at most two texts. Scripts return one of them, or both as an array: the topic's
 * own text, then the text of its longest pattern.
 *
 * The headers of a layer may hold secrets. If two layers have urls with a different scheme, host or port, a
 * layer does not get the headers of the other layer. Otherwise a client that can change one topic could read
 * them by pointing the topic's url at its own server. */

enum {
    TOPIC_LAYERS_BYTES_MAX = 128 * 1024
}; /* maximum size: two texts of settings, and the patterns from which their members come */

/* Merges the two layers of a topic, which a script returned as an array, into one object. Returns false if
 * the text is not an array of two objects. */
bool topic_layers_unite(struct slice text, struct buffer *out);

/* Merges "common", the text of this pattern, with "own", whose settings win. Both texts come from Redis. If
 * own is empty, the topic has no settings of its own. Returns false if a text is not an object. */
bool topic_layers_merge(struct slice own, struct slice common, struct slice pattern, struct buffer *out);

/* Writes a pattern's own settings, taken from its text. The member "needs" is left out, because
 * topic_settings_write writes it anew. Returns false if the text is not an object. */
bool topic_layers_own(struct slice text, struct buffer *out);

/* A topic's settings, as a script returned them. */
struct topic_layers {
    struct slice text;    /* all layers */
    struct slice own;     /* the topic's own settings; empty: none */
    struct slice pattern; /* the longest pattern that matches; empty: none */
};

/* Writes an object that says for each setting where its value comes from: "topic", a pattern, or
 * "default". */
void topic_layers_show_from(const struct topic_layers *, const struct members *, struct buffer *);

#endif

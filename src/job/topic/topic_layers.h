/* topic_layers.h - the settings of a topic, put together from its own settings and those of patterns.
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
#ifndef DUEPOST_JOB_TOPIC_TOPIC_LAYERS_H
#define DUEPOST_JOB_TOPIC_TOPIC_LAYERS_H

#include "base/buffer.h"
#include "job/text/members.h"

enum {
    TOPIC_LAYERS_BYTES_MAX = 128 * 1024
}; /* maximum size: two texts of settings, and the patterns from which their members come */

/* Merges the two layers of a topic, which a script returned as an array, into one object. Layers that are
 * sealed must have been opened. Returns false if the text is not an array of two objects. */
bool topic_layers_unite(struct slice text, struct buffer *out);

/* Merges "common", the text of this pattern, with "own", whose settings win. Both texts come from Redis, and
 * are not sealed. If own is empty, the topic has no settings of its own. Returns false if a text is not an
 * object. */
bool topic_layers_merge(struct slice own, struct slice common, struct slice pattern, struct buffer *out);

/* Writes a pattern's own settings, taken from its text, which may be sealed (topic_sealed.h). The member
 * "needs" is left out, because topic_settings_write writes it anew. Returns false if the text is not an
 * object, or does not open. */
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

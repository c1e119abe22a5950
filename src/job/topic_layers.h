/* topic_layers.h - the settings of a topic, put together from its own settings and those of patterns.
 *
 * A pattern such as "orders-*" gives settings to all topics whose names it matches. Each setting comes from
 * the topic itself, else from the longest pattern that has it. So the layers of a topic are its own settings,
 * then its patterns, the longest first. Settings are merged member by member; a member such as rate or
 * headers is one value.
 *
 * The text of a pattern in Redis already contains the settings of shorter patterns:
 * {"maxInFlight":5,"paused":true,"from":{"paused":"*"}}. "from" names the pattern of each setting that is not
 * its own. So a topic has at most two texts. Scripts return one of them, or both as an array: the topic's
 * own text, then the text of its longest pattern.
 *
 * The headers of a layer may hold secrets. The headers are not merged into a layer whose url leads to another
 * scheme, host or port than the url of the layer that has the headers: otherwise a client that can change one
 * topic could read them by pointing the topic's url at its own server. */
#ifndef DUEPOST_JOB_TOPIC_LAYERS_H
#define DUEPOST_JOB_TOPIC_LAYERS_H

#include "job/members.h"

enum { TOPIC_LAYERS_BYTES_MAX = 128 * 1024 }; /* two texts of settings, and the origins of their members */

/* Writes one object from a text of a script that is an array. Returns false if the text is not an array of
 * two objects. */
bool topic_layers_unite(struct slice text, struct buffer *out);

/* Writes own over common, the text of a pattern with this name. Both texts come from Redis. If own is empty,
 * the topic sets nothing itself. Returns false if a text is not an object. */
bool topic_layers_merge(struct slice own, struct slice common, struct slice pattern, struct buffer *out);

/* Writes the own settings of a pattern, from its text. Needs are left out, because topic_settings_write
 * writes them again. Returns false if the text is not an object. */
bool topic_layers_own(struct slice text, struct buffer *out);

/* A topic's settings, as a script returned them. */
struct topic_layers {
    struct slice text;    /* all layers */
    struct slice own;     /* the topic's own settings; empty: none */
    struct slice pattern; /* the longest pattern that matches; empty: none */
};

/* Writes an object with the origin of the value of each row of the table: "topic", a pattern, or
 * "default". */
void topic_layers_show_from(const struct topic_layers *, const struct members *, struct buffer *);

#endif

/* topic_sealed.h - the secret members of settings, which are encrypted in Redis if the process has keys
 * (base/seal.h).
 *
 * {"paused":true,"url":"https://api.example/in","onDead":"","needs":["sealed"],"of":"orders","sealed":"..."}
 *
 * The rows with MEMBER_SEALED are sealed, and the url if it has a query. Readable are the url without its
 * query, and that there are callbacks ("") and alerts ([]), because scripts test that. "of" is the name of
 * the topic or pattern, because not each reader knows it. The text is sealed for this name and for the url
 * without its query: secrets that were copied to another topic, or whose url was changed, do not open.
 *
 * topic_settings.h and topic_layers.h open the texts that they read. topic_settings_write does not seal. */
#ifndef DUEPOST_JOB_TOPIC_TOPIC_SEALED_H
#define DUEPOST_JOB_TOPIC_TOPIC_SEALED_H

#include "base/buffer.h"
#include "base/seal.h"

enum {
    /* maximum size of the texts of a topic as they are in Redis: its own settings (TOPIC_SETTINGS_BYTES_MAX)
     * and those of a pattern (TOPIC_LAYERS_BYTES_MAX), which base64 makes longer by a third */
    TOPIC_STORED_BYTES_MAX = 384 * 1024
};

/* Appends the text as Redis is to have it: name is that of the topic or pattern whose settings it has. A text
 * without secrets, or one that is sealed already, is appended unchanged. */
void topic_settings_seal(struct slice name, struct slice text, struct buffer *out);

/* Returns whether the text, or one of the layers in it, is sealed. */
bool topic_settings_are_sealed(struct slice text);

/* Appends the text as it was before it was sealed: that of settings, or of several layers. topic: the layers
 * must be those of this topic, its owner, or a pattern that matches; empty: any. NO_KEY: lacks has what the
 * process lacks (sealed_lacks). If out has no room, the text is DAMAGED. */
enum seal_answer topic_settings_open(struct slice topic, struct slice text, struct buffer *out,
                                     struct buffer *lacks) MUST_USE;

#endif

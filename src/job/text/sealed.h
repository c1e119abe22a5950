/* sealed.h - single JSON values that are encrypted in Redis if the process has keys (base/seal.h).
 *
 * A sealed value is a JSON string: the character U+001E, and the sealed text. Members of records are sealed
 * together instead (job.h). */
#ifndef DUEPOST_JOB_TEXT_SEALED_H
#define DUEPOST_JOB_TEXT_SEALED_H

#include "base/buffer.h"
#include "base/slice.h"

/* Appends the value, sealed for this owner if the process has keys. */
void sealed_value_append(struct buffer *out, struct slice owner, struct slice value);

/* Returns whether the value is sealed, by its form. */
bool sealed_value_is(struct slice value);

/* Returns the value. A sealed value is opened into text, which must have room for it and must not move. A
 * value that does not open is SEALED_VALUE_SHUT. */
struct slice sealed_value_open(struct slice owner, struct slice value, struct buffer *text);

#define SEALED_VALUE_SHUT "null"

#endif

/* percent.h - bytes as they stand in a url's path or query (RFC 3986, section 2). */
#ifndef DUEPOST_BASE_PERCENT_H
#define DUEPOST_BASE_PERCENT_H

#include "base/buffer.h"

/* Letters, digits and - . _ ~ : stay as they are; of all others the bytes are encoded. */
void percent_append(struct buffer *, struct slice text);

/* Appends the bytes. False: text has a byte that has to be encoded, an encoded control character or this
 * byte, or '%' without two digits. */
bool percent_decode(struct slice text, char refused, struct buffer *out);

#endif

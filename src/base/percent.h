/* percent.h - percent-encoding for a URL's path or query (RFC 3986, section 2). */
#ifndef DUEPOST_BASE_PERCENT_H
#define DUEPOST_BASE_PERCENT_H

#include "base/buffer.h"

/* Appends text. Encodes every byte except letters, digits and the characters - . _ ~ : */
void percent_append(struct buffer *, struct slice text);

/* Appends the decoded bytes. Returns false if text has a byte that must be encoded but is not, an encoded
 * control character, the byte of the parameter "refused" in encoded form, or '%' without two hexadecimal
 * digits. */
bool percent_decode(struct slice text, char refused, struct buffer *out);

/* Appends the decoded bytes of a value of a query, as forms and URLSearchParams write it: '+' is a space.
 * Every encoded byte is accepted, except control characters. */
bool percent_decode_form(struct slice text, struct buffer *out);

#endif

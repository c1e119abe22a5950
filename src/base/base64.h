/* base64.h - bytes as text: in the alphabet with + and / and with padding (RFC 4648, section 4), and in that
 * for URLs, which needs no escapes there, without padding (section 5). */
#ifndef DUEPOST_BASE_BASE64_H
#define DUEPOST_BASE_BASE64_H

#include "base/buffer.h"

void base64_append(struct buffer *, struct slice bytes);

/* Returns whether text is base64 without white space. Each value has one spelling: the padding is complete,
 * and the unused bits are zero. */
bool base64_is_valid(struct slice text);

/* Appends the decoded bytes. Returns false if text is not valid, and then appends nothing. If there is no
 * room, the buffer has failed. */
bool base64_decode(struct slice text, struct buffer *out);

/* The same in the alphabet for URLs. base64url_decode may have appended a part of the bytes when it returns
 * false. */
void base64url_append(struct buffer *, struct slice bytes);
bool base64url_decode(struct slice text, struct buffer *out);

#endif

/* base64.h - bytes as text, in two alphabets (RFC 4648): standard base64 with + and / and padding (section
 * 4), and base64url without padding, which needs no escapes in a URL (section 5). */
#ifndef DUEPOST_BASE_BASE64_H
#define DUEPOST_BASE_BASE64_H

#include "base/buffer.h"

void base64_append(struct buffer *, struct slice bytes);

/* Returns whether text is base64 without white space, with complete padding, and with zeros in the unused
 * bits of its last digit. So the same bytes always have the same text. */
bool base64_is_valid(struct slice text);

/* Appends the decoded bytes. If text is not valid, returns false and appends nothing. If there is no room,
 * the buffer is marked as failed. */
bool base64_decode(struct slice text, struct buffer *out);

/* base64url_append encodes bytes as base64url, and base64url_decode appends the decoded bytes. If
 * base64url_decode returns false, it may have appended a part of the bytes. */
void base64url_append(struct buffer *, struct slice bytes);
bool base64url_decode(struct slice text, struct buffer *out);

#endif

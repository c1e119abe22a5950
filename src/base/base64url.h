/* base64url.h - bytes as text that needs no escapes in a URL (RFC 4648, section 5, without padding). */
#ifndef DUEPOST_BASE_BASE64URL_H
#define DUEPOST_BASE_BASE64URL_H

#include "base/buffer.h"

void base64url_append(struct buffer *, struct slice bytes);

/* Appends the decoded bytes. Returns false if text is not base64url; *out may then have a part of the decoded
 * bytes. */
bool base64url_decode(struct slice text, struct buffer *out);

#endif

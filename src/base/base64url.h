/* base64url.h - bytes as text that needs no escapes in a url (RFC 4648, section 5, without padding). */
#ifndef DUEPOST_BASE_BASE64URL_H
#define DUEPOST_BASE_BASE64URL_H

#include "base/buffer.h"

void base64url_append(struct buffer *, struct slice bytes);

/* Appends the bytes. False: text is not the encoding of any bytes; *out may hold a part then. */
bool base64url_decode(struct slice text, struct buffer *out);

#endif

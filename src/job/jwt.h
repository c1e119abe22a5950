/* jwt.h - JSON Web Tokens signed with HMAC-SHA256 (RFC 7519, RFC 7515: HS256). */
#ifndef DUEPOST_JOB_JWT_H
#define DUEPOST_JOB_JWT_H

#include "base/buffer.h"

/* Appends a token with these claims; claims is a JSON object. If there is no room, the buffer is marked as
 * failed. */
void jwt_append(struct buffer *, struct slice key, struct slice claims);

/* Appends the SHA-256 of bytes in base64url. Claims use this form for the hash of a body. */
void jwt_append_digest(struct buffer *, struct slice bytes);

#endif

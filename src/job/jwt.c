#include "job/jwt.h"

#include "base/base64.h"
#include "job/sha256.h"

/* {"alg":"HS256","typ":"JWT"} in base64url. */
#define HEADER "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"

void jwt_append(struct buffer *token, struct slice key, struct slice claims)
{
    size_t start = token->size;
    unsigned char mac[SHA256_BYTES];
    buffer_append(token, SLICE(HEADER "."));
    base64url_append(token, claims);
    if (token->failed)
        return;
    sha256_hmac(key, slice_from(token->data + start, token->size - start), mac);
    buffer_append_byte(token, '.');
    base64url_append(token, slice_from((const char *)mac, sizeof mac));
}

void jwt_append_digest(struct buffer *out, struct slice bytes)
{
    unsigned char digest[SHA256_BYTES];
    sha256(bytes, digest);
    base64url_append(out, slice_from((const char *)digest, sizeof digest));
}

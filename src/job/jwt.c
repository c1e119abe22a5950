#include "job/jwt.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "base/base64url.h"

/* {"alg":"HS256","typ":"JWT"} in base64url. */
#define HEADER "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"

void jwt_append(struct buffer *token, struct slice key, struct slice claims)
{
    size_t start = token->size;
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    buffer_append(token, SLICE(HEADER "."));
    base64url_append(token, claims);
    if (token->failed)
        return;
    HMAC(EVP_sha256(), key.data, (int)key.size, (const unsigned char *)token->data + start,
         token->size - start, mac, &size);
    buffer_append_byte(token, '.');
    base64url_append(token, slice_from((const char *)mac, size));
}

void jwt_append_digest(struct buffer *out, struct slice bytes)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    SHA256((const unsigned char *)bytes.data, bytes.size, digest);
    base64url_append(out, slice_from((const char *)digest, sizeof digest));
}

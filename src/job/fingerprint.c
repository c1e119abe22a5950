#include "job/fingerprint.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdio.h>

enum { DIGEST_BYTES = 32, USED_BYTES = 16 };

void fingerprint_make(struct slice bytes, char text[FINGERPRINT_SIZE])
{
    unsigned char digest[DIGEST_BYTES];
    size_t size = 0;
    int ok = EVP_Q_digest(NULL, "SHA256", NULL, bytes.data ? bytes.data : "", bytes.size, digest, &size);
    assert(ok && size == DIGEST_BYTES);
    for (size_t i = 0; i < USED_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

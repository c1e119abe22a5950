#include "job/fingerprint.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdio.h>

enum { DIGEST_BYTES = 32, USED_BYTES = 16 };

static void hash_to_hex(struct slice bytes, size_t used, char *text)
{
    unsigned char digest[DIGEST_BYTES];
    size_t size = 0;
    int ok = EVP_Q_digest(NULL, "SHA256", NULL, bytes.data ? bytes.data : "", bytes.size, digest, &size);
    assert(ok && size == DIGEST_BYTES);
    for (size_t i = 0; i < used; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

void digest_make(struct slice bytes, char text[DIGEST_TEXT_SIZE])
{
    hash_to_hex(bytes, DIGEST_BYTES, text);
}

void fingerprint_make(struct slice bytes, char text[FINGERPRINT_SIZE])
{
    hash_to_hex(bytes, USED_BYTES, text);
}

#include "job/fingerprint.h"

#include "base/hex.h"
#include "job/sha256.h"

enum { USED_BYTES = 16 };

static void hash_to_hex(struct slice bytes, size_t used, char *text)
{
    unsigned char digest[SHA256_BYTES];
    sha256(bytes, digest);
    hex_write(text, digest, used);
    text[2 * used] = '\0';
}

void digest_make(struct slice bytes, char text[DIGEST_TEXT_SIZE])
{
    hash_to_hex(bytes, SHA256_BYTES, text);
}

void fingerprint_make(struct slice bytes, char text[FINGERPRINT_SIZE])
{
    hash_to_hex(bytes, USED_BYTES, text);
}

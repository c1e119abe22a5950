#include "job/delivery/digest.h"

#include <assert.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <string.h>

#include "base/encoding.h"
#include "base/seal.h"

enum { BLOCK_BYTES = 64 };

static EVP_MD *algorithm; /* set once, when it is first used; never freed */
static pthread_once_t is_fetched = PTHREAD_ONCE_INIT;

static void fetch(void)
{
    algorithm = EVP_MD_fetch(NULL, "SHA256", NULL);
    assert(algorithm);
}

/* Writes the digest of the bytes of "first" followed by the bytes of "second". */
static void digest_of(EVP_MD_CTX *context, struct slice first, struct slice second,
                      unsigned char digest[SHA256_BYTES])
{
    int ok = EVP_DigestInit_ex2(context, algorithm, NULL) == 1 &&
             EVP_DigestUpdate(context, first.data, first.size) == 1 &&
             EVP_DigestUpdate(context, second.data, second.size) == 1 &&
             EVP_DigestFinal_ex(context, digest, NULL) == 1;
    assert(ok);
    (void)ok;
}

static EVP_MD_CTX *context_new(void)
{
    pthread_once(&is_fetched, fetch);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    assert(context);
    return context;
}

void sha256(struct slice bytes, unsigned char digest[SHA256_BYTES])
{
    EVP_MD_CTX *context = context_new();
    digest_of(context, bytes, SLICE(""), digest);
    EVP_MD_CTX_free(context);
}

void sha256_hmac(struct slice key, struct slice bytes, unsigned char mac[SHA256_BYTES])
{
    EVP_MD_CTX *context = context_new();
    char block[BLOCK_BYTES] = {0};
    if (key.size > sizeof block)
        digest_of(context, key, SLICE(""), (unsigned char *)block);
    else if (key.size)
        memcpy(block, key.data, key.size);
    for (size_t i = 0; i < sizeof block; i++)
        block[i] ^= 0x36;
    digest_of(context, slice_from(block, sizeof block), bytes, mac);
    for (size_t i = 0; i < sizeof block; i++)
        block[i] ^= 0x36 ^ 0x5c;
    digest_of(context, slice_from(block, sizeof block), slice_from((const char *)mac, SHA256_BYTES), mac);
    OPENSSL_cleanse(block, sizeof block);
    EVP_MD_CTX_free(context);
}

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

void fingerprint_make_secret(struct slice bytes, char text[FINGERPRINT_SIZE])
{
    unsigned char digest[SEAL_DIGEST_BYTES];
    if (!seal_is_on()) {
        fingerprint_make(bytes, text);
        return;
    }
    seal_digest(bytes, digest);
    hex_write(text, digest, USED_BYTES);
    text[FINGERPRINT_SIZE - 1] = '\0';
}

/* digest.h - SHA-256 (FIPS 180-4), HMAC-SHA256 (RFC 2104), and fingerprints.
 *
 * OpenSSL's HMAC() and EVP_Q_digest() look up the algorithm by its name in each call, which takes longer than
 * signing a short text. The functions of this file look up the algorithm only once in a process. */
#ifndef DUEPOST_JOB_DELIVERY_DIGEST_H
#define DUEPOST_JOB_DELIVERY_DIGEST_H

#include "base/slice.h"

enum { SHA256_BYTES = 32 };

void sha256(struct slice bytes, unsigned char digest[SHA256_BYTES]);
void sha256_hmac(struct slice key, struct slice bytes, unsigned char mac[SHA256_BYTES]);

/* ---- fingerprints ----
 *
 * A hash that identifies a request without storing it. */

enum { FINGERPRINT_SIZE = 33 }; /* 128 bits of SHA-256 in hex, and a NUL */

enum { DIGEST_TEXT_SIZE = 65 }; /* all of SHA-256 in hex, and a NUL */

void digest_make(struct slice bytes, char text[DIGEST_TEXT_SIZE]);
void fingerprint_make(struct slice bytes, char text[FINGERPRINT_SIZE]);

/* The same for bytes that must not be guessed from what is stored: if the process has keys (base/seal.h), the
 * fingerprint depends on one of them. */
void fingerprint_make_secret(struct slice bytes, char text[FINGERPRINT_SIZE]);

#endif

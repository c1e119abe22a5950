/* sha256.h - SHA-256 (FIPS 180-4) and HMAC-SHA256 (RFC 2104).
 *
 * OpenSSL's HMAC() and EVP_Q_digest() look up the algorithm by its name in each call, which takes longer than
 * signing a short text. The functions of this file look up the algorithm only once in a process. */
#ifndef DUEPOST_JOB_SHA256_H
#define DUEPOST_JOB_SHA256_H

#include "base/slice.h"

enum { SHA256_BYTES = 32 };

void sha256(struct slice bytes, unsigned char digest[SHA256_BYTES]);
void sha256_hmac(struct slice key, struct slice bytes, unsigned char mac[SHA256_BYTES]);

#endif

/* fingerprint.h - a hash that identifies a request without storing it. */
#ifndef DUEPOST_JOB_FINGERPRINT_H
#define DUEPOST_JOB_FINGERPRINT_H

#include "base/slice.h"

enum { FINGERPRINT_SIZE = 33 }; /* 128 bits of SHA-256 in hex, and a NUL */

enum { DIGEST_TEXT_SIZE = 65 }; /* all of SHA-256 in hex, and a NUL */

void digest_make(struct slice bytes, char text[DIGEST_TEXT_SIZE]);
void fingerprint_make(struct slice bytes, char text[FINGERPRINT_SIZE]);

#endif

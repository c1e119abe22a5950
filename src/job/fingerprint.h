/* fingerprint.h - a hash that identifies a request without storing it. */
#ifndef DUEPOST_JOB_FINGERPRINT_H
#define DUEPOST_JOB_FINGERPRINT_H

#include "base/slice.h"

enum { FINGERPRINT_SIZE = 33 }; /* 128 bits of SHA-256 in hex, and a NUL */

void fingerprint_make(struct slice bytes, char text[FINGERPRINT_SIZE]);

#endif

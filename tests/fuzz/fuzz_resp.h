/* fuzz_resp.h - bytes that a Redis, or another server in its place, may send. */
#ifndef DUEPOST_TESTS_FUZZ_RESP_H
#define DUEPOST_TESTS_FUZZ_RESP_H

#include <hiredis/hiredis.h>

#include "fuzz.h"

/* Returns whether lengths in the bytes have at most three digits. hiredis allocates the memory for a whole
 * array when it reads its length, which could be gigabytes. Only the configured Redis can cause this. */
static inline bool resp_is_modest(const uint8_t *data, size_t size)
{
    size_t digits = 0;
    for (size_t i = 0; i < size; i++) {
        digits = data[i] >= '0' && data[i] <= '9' ? digits + 1 : 0;
        if (digits > 3)
            return false;
    }
    return true;
}

#endif

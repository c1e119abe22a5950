/* fuzz_resp.h - what a Redis, or something in its place, says on the wire. */
#ifndef DUEPOST_TESTS_FUZZ_RESP_H
#define DUEPOST_TESTS_FUZZ_RESP_H

#include <hiredis/hiredis.h>

#include "fuzz.h"

/* hiredis takes the room that an array's head asks for, before anything of it has come: gigabytes. Only our
 * Redis can ask. Lengths here have up to three digits. */
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

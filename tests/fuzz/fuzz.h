/* fuzz.h - shared by all fuzz targets. fuzz_<file>.c passes bytes to src/<layer>/<file>.c, and asserts rules
 * that must hold for any bytes. libFuzzer generates the bytes; in other builds, replay.c reads them from
 * corpus/<file>. */
#ifndef DUEPOST_TESTS_FUZZ_H
#define DUEPOST_TESTS_FUZZ_H

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/slice.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline struct slice input_of(const uint8_t *data, size_t size)
{
    return slice_from((const char *)data, size);
}

/* Returns whether part is inside text. */
static inline bool lies_in(struct slice part, struct slice text)
{
    return part.size == 0 || (part.data >= text.data && part.data + part.size <= text.data + text.size);
}

/* 2030-01-01, for targets that need a time. */
#define FUZZ_NOW_MS INT64_C(1893456000000)

#endif

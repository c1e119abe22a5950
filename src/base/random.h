/* random.h - unpredictable bytes from the kernel. */
#ifndef DUEPOST_BASE_RANDOM_H
#define DUEPOST_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Fills all size bytes. Never fails, but aborts if the kernel has no generator. */
void random_fill(void *bytes, size_t size);

static inline uint32_t random_bits(void)
{
    uint32_t bits;
    random_fill(&bits, sizeof bits);
    return bits;
}

#endif

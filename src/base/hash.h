/* hash.h - FNV-1a. Use it only for tables in which chosen names give an attacker no advantage. */
#ifndef DUEPOST_BASE_HASH_H
#define DUEPOST_BASE_HASH_H

#include "base/slice.h"

/* Returns a hash of 32 bits, which selects a bucket of a table in memory. */
static inline uint32_t hash_of(struct slice text)
{
    uint32_t sum = UINT32_C(2166136261);
    for (size_t i = 0; i < text.size; i++)
        sum = (sum ^ (unsigned char)text.data[i]) * UINT32_C(16777619);
    return sum;
}

/* Returns a hash of 64 bits. Names in Redis contain such hashes, so this function must never change. */
static inline uint64_t hash_long_of(struct slice text)
{
    uint64_t sum = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < text.size; i++)
        sum = (sum ^ (unsigned char)text.data[i]) * UINT64_C(1099511628211);
    return sum;
}

/* CRC-16/XMODEM, the checksum with which Redis Cluster assigns keys to slots. */

uint16_t crc16(struct slice text);

#endif

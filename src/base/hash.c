#include "base/hash.h"

enum { POLYNOMIAL = 0x1021 };

/* No lookup table is used. Topics are short, and a table would cost more in cache misses than it saves. */
uint16_t crc16(struct slice text)
{
    unsigned sum = 0;
    for (size_t i = 0; i < text.size; i++) {
        sum ^= (unsigned)(unsigned char)text.data[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            sum = sum & 0x8000 ? sum << 1 ^ POLYNOMIAL : sum << 1;
    }
    return (uint16_t)sum;
}

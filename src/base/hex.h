/* hex.h - hexadecimal digits. */
#ifndef DUEPOST_BASE_HEX_H
#define DUEPOST_BASE_HEX_H

#include <stddef.h>

/* Returns the value of a hexadecimal digit in either case, or -1 for any other character. */
static inline int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

/* Writes two lower-case digits for each byte, without a NUL. */
static inline void hex_write(char *text, const unsigned char *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
}

#endif

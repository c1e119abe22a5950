/* hex.h - hexadecimal digits. */
#ifndef DUEPOST_BASE_HEX_H
#define DUEPOST_BASE_HEX_H

/* Returns the value of a hexadecimal digit in either case, or -1 for any other character. */
static inline int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

#endif

/* json_plain.h - the plain bytes of a JSON string: all but quotation marks, backslashes, control bytes and
 * bytes above 0x7f. Most strings have only plain bytes, so they are examined eight at a time. */
#ifndef DUEPOST_BASE_JSON_PLAIN_H
#define DUEPOST_BASE_JSON_PLAIN_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline bool json_is_plain(char byte)
{
    return (uint8_t)byte >= 0x20 && (uint8_t)byte < 0x80 && byte != '"' && byte != '\\';
}

/* Returns the first byte from "at" on that is not plain, or "end" if all bytes are plain. */
static inline const char *json_plain_end(const char *at, const char *end)
{
    const uint64_t each = UINT64_C(0x0101010101010101), top = each << 7;
    while (end - at >= 8) {
        uint64_t bytes;
        memcpy(&bytes, at, sizeof bytes);
        bytes = le64toh(bytes); /* the first byte of the text becomes the lowest byte */
        uint64_t quotes = bytes ^ each * '"', backslashes = bytes ^ each * '\\';
        /* "special" gets the top bit of each byte that is not plain. A subtraction that is negative for one
         * byte borrows from the next higher byte, so a plain byte above may get its top bit, too. So only the
         * lowest of these bits counts. */
        uint64_t special = (bytes | (bytes - each * 0x20) | (quotes - each) | (backslashes - each)) & top;
        if (special)
            return at + __builtin_ctzll(special) / 8;
        at += 8;
    }
    while (at < end && json_is_plain(*at))
        at++;
    return at;
}

#endif

/* utf8.h - non-ASCII characters as RFC 3629 defines them: no overlong forms, no surrogates, at most
 * U+10FFFF. */
#ifndef DUEPOST_BASE_UTF8_H
#define DUEPOST_BASE_UTF8_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Returns the size in bytes of the character that starts with lead, or 0 if no character starts with it. */
static inline size_t utf8_size(uint8_t lead)
{
    if (lead < 0xc2 || lead > 0xf4)
        return 0;
    return lead <= 0xdf ? 2 : lead <= 0xef ? 3 : 4;
}

/* Returns whether these bytes are one character. size is what utf8_size returns for the first byte. */
static inline bool utf8_is_sound(const uint8_t *at, size_t size)
{
    uint8_t low = 0x80, high = 0xbf;
    if (at[0] == 0xe0)
        low = 0xa0;
    else if (at[0] == 0xed)
        high = 0x9f;
    else if (at[0] == 0xf0)
        low = 0x90;
    else if (at[0] == 0xf4)
        high = 0x8f;
    bool is_sound = at[1] >= low && at[1] <= high;
    for (size_t i = 2; i < size; i++)
        is_sound &= (at[i] & 0xc0) == 0x80;
    return is_sound;
}

/* Returns whether text is UTF-8. Empty text and control characters are allowed. */
static inline bool utf8_is_sound_text(const char *text, size_t size)
{
    const uint8_t *at = (const uint8_t *)text;
    for (size_t i = 0, step; i < size; i += step) {
        step = at[i] < 0x80 ? 1 : utf8_size(at[i]);
        if (!step || step > size - i || (step > 1 && !utf8_is_sound(at + i, step)))
            return false;
    }
    return true;
}

/* Returns whether text is UTF-8 of at least one byte without control characters. */
static inline bool utf8_is_text(const char *text, size_t size)
{
    const uint8_t *at = (const uint8_t *)text;
    for (size_t i = 0, step; i < size; i += step) {
        step = at[i] < 0x80 ? at[i] >= 0x20 && at[i] != 0x7f : utf8_size(at[i]);
        bool is_control = at[i] == 0xc2 && size - i > 1 && at[i + 1] < 0xa0; /* U+0080 to U+009F */
        if (!step || step > size - i || is_control || (step > 1 && !utf8_is_sound(at + i, step)))
            return false;
    }
    return size > 0;
}

/* ---- plain bytes ---- */

/* The plain bytes of a JSON string: all but quotation marks, backslashes, control bytes and
 * bytes above 0x7f. Most strings have only plain bytes, so they are examined eight at a time. */

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

/* utf8.h - non-ASCII characters as RFC 3629 defines them: no overlong forms, no surrogates, at most
 * U+10FFFF. */
#ifndef DUEPOST_BASE_UTF8_H
#define DUEPOST_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif

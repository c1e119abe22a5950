#include "base/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_append(struct buffer *out, struct slice bytes)
{
    for (size_t i = 0; i < bytes.size; i += 3) {
        const uint8_t *at = (const uint8_t *)bytes.data + i;
        size_t left = bytes.size - i;
        uint32_t bits =
            (uint32_t)at[0] << 16 | (left > 1 ? (uint32_t)at[1] << 8 : 0) | (left > 2 ? at[2] : 0);
        char text[4] = {alphabet[bits >> 18], alphabet[bits >> 12 & 63], alphabet[bits >> 6 & 63],
                        alphabet[bits & 63]};
        if (left < 3)
            text[3] = '=';
        if (left < 2)
            text[2] = '=';
        buffer_append(out, slice_from(text, sizeof text));
    }
}

/* Returns the value of a digit, or -1. */
static int digit_value(char digit)
{
    if (digit >= 'A' && digit <= 'Z')
        return digit - 'A';
    if (digit >= 'a' && digit <= 'z')
        return digit - 'a' + 26;
    if (digit >= '0' && digit <= '9')
        return digit - '0' + 52;
    return digit == '+' ? 62 : digit == '/' ? 63 : -1;
}

/* Returns the number of padding characters at the end: 0, 1 or 2. */
static size_t padding_of(struct slice text)
{
    if (text.size == 0 || text.data[text.size - 1] != '=')
        return 0;
    return text.data[text.size - 2] == '=' ? 2 : 1;
}

bool base64_is_valid(struct slice text)
{
    if (text.size % 4)
        return false;
    size_t padding = padding_of(text), digits = text.size - padding;
    for (size_t i = 0; i < digits; i++)
        if (digit_value(text.data[i]) < 0)
            return false;
    unsigned unused = padding == 2 ? 15 : padding == 1 ? 3 : 0;
    return !padding || ((unsigned)digit_value(text.data[digits - 1]) & unused) == 0;
}

bool base64_decode(struct slice text, struct buffer *out)
{
    if (!base64_is_valid(text))
        return false;
    size_t size = text.size / 4 * 3 - padding_of(text), used = 0;
    char *bytes = buffer_extend(out, size);
    for (size_t i = 0; bytes && i < text.size; i += 4) {
        uint32_t bits = 0;
        for (size_t k = 0; k < 4; k++)
            bits = bits << 6 | (text.data[i + k] == '=' ? 0 : (uint32_t)digit_value(text.data[i + k]));
        for (int shift = 16; shift >= 0 && used < size; shift -= 8)
            bytes[used++] = (char)(bits >> shift);
    }
    return true;
}

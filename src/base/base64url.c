#include "base/base64url.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void base64url_append(struct buffer *out, struct slice bytes)
{
    const uint8_t *from = (const uint8_t *)bytes.data;
    size_t whole = bytes.size / 3, left = bytes.size % 3;
    char *at = buffer_extend(out, 4 * whole + (left ? left + 1 : 0));
    if (!at)
        return;
    for (size_t i = 0; i < whole; i++, from += 3, at += 4) {
        at[0] = alphabet[from[0] >> 2];
        at[1] = alphabet[(from[0] << 4 | from[1] >> 4) & 63];
        at[2] = alphabet[(from[1] << 2 | from[2] >> 6) & 63];
        at[3] = alphabet[from[2] & 63];
    }
    if (left) {
        uint32_t bits = (uint32_t)from[0] << 8 | (left > 1 ? from[1] : 0);
        at[0] = alphabet[bits >> 10];
        at[1] = alphabet[bits >> 4 & 63];
        if (left > 1)
            at[2] = alphabet[bits << 2 & 63];
    }
}

bool base64url_decode(struct slice text, struct buffer *out)
{
    uint32_t bits = 0;
    unsigned count = 0;
    for (size_t i = 0; i < text.size; i++) {
        const char *digit = text.data[i] ? strchr(alphabet, text.data[i]) : NULL;
        if (!digit)
            return false;
        bits = bits << 6 | (uint32_t)(digit - alphabet);
        count += 6;
        if (count >= 8) {
            count -= 8;
            buffer_append_byte(out, (char)(bits >> count));
        }
    }
    /* The remaining bits must be zero, so that each value has one spelling. */
    return count < 6 && (bits & ((1U << count) - 1)) == 0 && !out->failed;
}

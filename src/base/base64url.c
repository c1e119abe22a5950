#include "base/base64url.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void base64url_append(struct buffer *out, struct slice bytes)
{
    uint32_t bits = 0;
    unsigned count = 0; /* bits not yet written */
    for (size_t i = 0; i < bytes.size; i++) {
        bits = bits << 8 | (uint8_t)bytes.data[i];
        for (count += 8; count >= 6; count -= 6)
            buffer_append_byte(out, alphabet[bits >> (count - 6) & 63]);
    }
    if (count)
        buffer_append_byte(out, alphabet[bits << (6 - count) & 63]);
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

#include "base/percent.h"

#include <ctype.h>

#include "base/hex.h"

void percent_append(struct buffer *out, struct slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (byte < 0x80 && (isalnum(byte) || strchr("-._~:", byte)))
            buffer_append_byte(out, (char)byte);
        else
            buffer_printf(out, "%%%02X", byte);
    }
}

/* Returns the byte that "%XX" at the front of text encodes, or -1 if the front is not an encoded byte. */
static int encoded_byte(struct slice text)
{
    int high = text.size < 3 ? -1 : hex_value(text.data[1]);
    int low = text.size < 3 ? -1 : hex_value(text.data[2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* Decodes text, and replaces each '+' by the byte "plus". */
static bool decode_text(struct slice text, char refused, char plus, struct buffer *out)
{
    for (size_t i = 0; i < text.size; i++) {
        int byte = (unsigned char)text.data[i];
        if (byte == '%') {
            byte = encoded_byte(slice_skip(text, i));
            if (byte < 0x20 || byte == 0x7f || byte == refused)
                return false;
            i += 2;
        } else if (byte <= 0x20 || byte >= 0x7f) {
            return false;
        }
        buffer_append_byte(out, text.data[i] == '+' ? plus : (char)byte);
    }
    return !out->failed;
}

bool percent_decode(struct slice text, char refused, struct buffer *out)
{
    return decode_text(text, refused, '+', out);
}

bool percent_decode_form(struct slice text, struct buffer *out)
{
    return decode_text(text, '\0', ' ', out);
}

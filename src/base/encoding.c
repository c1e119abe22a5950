#include "base/encoding.h"

#include <ctype.h>

/* ---- base64 ---- */

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

/* For each byte: its value as a base64 digit, plus 1; 0 if the byte is not a digit. Bodies of jobs may be
 * long, and a table is fast. */
static const uint8_t digit_values[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,
    ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
    ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
    ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64};

/* Returns the value of a digit, or -1. */
static inline int digit_value(char digit)
{
    return digit_values[(unsigned char)digit] - 1;
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
    bool is_valid = true;
    for (size_t i = 0; i < digits; i++)
        is_valid &= digit_value(text.data[i]) >= 0;
    if (!is_valid)
        return false;
    unsigned unused = padding == 2 ? 15 : padding == 1 ? 3 : 0;
    return !padding || ((unsigned)digit_value(text.data[digits - 1]) & unused) == 0;
}

/* Decodes four digits into 24 bits. The bits of a padding character ('=') are undefined. */
static uint32_t decode_four(const char *text)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < 4; i++)
        bits = bits << 6 | ((uint32_t)digit_value(text[i]) & 63);
    return bits;
}

bool base64_decode(struct slice text, struct buffer *out)
{
    if (!base64_is_valid(text))
        return false;
    if (text.size == 0)
        return true;
    size_t padding = padding_of(text), whole = text.size / 4 - (padding > 0);
    char *at = buffer_extend(out, text.size / 4 * 3 - padding);
    if (!at)
        return true;
    for (size_t i = 0; i < whole; i++, at += 3) {
        uint32_t bits = decode_four(text.data + 4 * i);
        at[0] = (char)(bits >> 16);
        at[1] = (char)(bits >> 8);
        at[2] = (char)bits;
    }
    if (padding) {
        uint32_t bits = decode_four(text.data + 4 * whole);
        at[0] = (char)(bits >> 16);
        if (padding == 1)
            at[1] = (char)(bits >> 8);
    }
    return true;
}

static const char url_alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void base64url_append(struct buffer *out, struct slice bytes)
{
    const uint8_t *from = (const uint8_t *)bytes.data;
    size_t whole = bytes.size / 3, left = bytes.size % 3;
    char *at = buffer_extend(out, 4 * whole + (left ? left + 1 : 0));
    if (!at)
        return;
    for (size_t i = 0; i < whole; i++, from += 3, at += 4) {
        at[0] = url_alphabet[from[0] >> 2];
        at[1] = url_alphabet[(from[0] << 4 | from[1] >> 4) & 63];
        at[2] = url_alphabet[(from[1] << 2 | from[2] >> 6) & 63];
        at[3] = url_alphabet[from[2] & 63];
    }
    if (left) {
        uint32_t bits = (uint32_t)from[0] << 8 | (left > 1 ? from[1] : 0);
        at[0] = url_alphabet[bits >> 10];
        at[1] = url_alphabet[bits >> 4 & 63];
        if (left > 1)
            at[2] = url_alphabet[bits << 2 & 63];
    }
}

/* The same for base64url. */
static inline unsigned url_digit_value(char digit)
{
    static const uint8_t last[2] = {62, 63};
    if (digit == '-' || digit == '_')
        return last[digit == '_'];
    return digit == '+' || digit == '/' ? 255 : digit_values[(unsigned char)digit] - 1U;
}

bool base64url_decode(struct slice text, struct buffer *out)
{
    size_t whole = text.size / 4, left = text.size % 4;
    unsigned bad = left == 1 ? 64 : 0, values[4] = {0};
    char *at = buffer_extend(out, 3 * whole + (left ? left - 1 : 0));
    if (!at || bad)
        return text.size == 0;
    for (size_t i = 0; i < whole; i++, at += 3) {
        for (size_t digit = 0; digit < 4; digit++)
            bad |= values[digit] = url_digit_value(text.data[4 * i + digit]);
        at[0] = (char)(values[0] << 2 | values[1] >> 4);
        at[1] = (char)(values[1] << 4 | values[2] >> 2);
        at[2] = (char)(values[2] << 6 | values[3]);
    }
    for (size_t digit = 0; digit < left; digit++)
        bad |= values[digit] = url_digit_value(text.data[4 * whole + digit]);
    if (left)
        at[0] = (char)(values[0] << 2 | values[1] >> 4);
    if (left == 3)
        at[1] = (char)(values[1] << 4 | values[2] >> 2);
    /* The unused bits of the last digit must be zero, so that the same bytes always have the same text. */
    bool is_exact = left == 0 || (values[left - 1] & (left == 2 ? 15 : 3)) == 0;
    return bad < 64 && is_exact;
}

/* ---- percent-encoding ---- */

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

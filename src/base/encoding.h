/* encoding.h - bytes as text: base64, hexadecimal digits, percent-encoding, and the header traceparent. */
#ifndef DUEPOST_BASE_ENCODING_H
#define DUEPOST_BASE_ENCODING_H

#include <assert.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/slice.h"

/* ---- base64 ---- */

/* Bytes as text, in two alphabets (RFC 4648): standard base64 with + and / and padding (section
 * 4), and base64url without padding, which needs no escapes in a URL (section 5). */

void base64_append(struct buffer *, struct slice bytes);

/* Returns whether text is base64 without white space, with complete padding, and with zeros in the unused
 * bits of its last digit. So the same bytes always have the same text. */
bool base64_is_valid(struct slice text);

/* Appends the decoded bytes. If text is not valid, returns false and appends nothing. If there is no room,
 * the buffer is marked as failed. */
bool base64_decode(struct slice text, struct buffer *out);

/* base64url_append encodes bytes as base64url, and base64url_decode appends the decoded bytes. If
 * base64url_decode returns false, it may have appended a part of the bytes. */
void base64url_append(struct buffer *, struct slice bytes);
bool base64url_decode(struct slice text, struct buffer *out);

/* ---- hexadecimal ---- */

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

/* ---- percent-encoding ---- */

/* Percent-encoding for a URL's path or query (RFC 3986, section 2). */

/* Appends text. Encodes every byte except letters, digits and the characters - . _ ~ : */
void percent_append(struct buffer *, struct slice text);

/* Appends the decoded bytes. Returns false if text has a byte that must be encoded but is not, an encoded
 * control character, the byte of the parameter "refused" in encoded form, or '%' without two hexadecimal
 * digits. */
bool percent_decode(struct slice text, char refused, struct buffer *out);

/* Appends the decoded bytes of a value of a query, as forms and URLSearchParams write it: '+' is a space.
 * Every encoded byte is accepted, except control characters. */
bool percent_decode_form(struct slice text, struct buffer *out);

/* ---- traceparent ---- */

/* The layout of a traceparent (W3C Trace Context): "00-<trace id>-<span id>-<flags>", all in
 * hex. job/request.h checks and writes it. */

enum {
    TRACE_PARENT_BYTES = 55,
    TRACE_ID_AT = 3,
    TRACE_ID_DIGITS = 32,
    TRACE_SPAN_AT = 36,
    TRACE_SPAN_DIGITS = 16,
    TRACE_FLAGS_AT = 53,
    TRACE_FLAGS_DIGITS = 2,
};

/* Return the digits of the trace id and of the span id of a valid traceparent. */
static inline struct slice trace_parent_trace_id(struct slice parent)
{
    assert(parent.size == TRACE_PARENT_BYTES);
    return slice_from(parent.data + TRACE_ID_AT, TRACE_ID_DIGITS);
}

static inline struct slice trace_parent_span_id(struct slice parent)
{
    assert(parent.size == TRACE_PARENT_BYTES);
    return slice_from(parent.data + TRACE_SPAN_AT, TRACE_SPAN_DIGITS);
}

#endif
